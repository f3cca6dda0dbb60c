import { desk, type DeskPage } from "./desk.ts";
import { html } from "./html.ts";

/** The checks, each with its result, the reason and what mends it. */
export function doctorPage(page: DeskPage): string {
  const body = html`<section class="card waiting scripted" aria-labelledby="h-checks"><div class="card-head">
<h2 id="h-checks">Checks</h2><p class="quiet-text" role="status" data-live="summary"></p>
<button type="button" class="quiet push" data-run>Run again</button></div>
<p class="problem" role="alert" data-live="problem"></p>
<ul class="checks" data-live="checks"></ul></section>`;
  return desk(page, { path: "/doctor", title: "Doctor", styles: ["doctor.css"], body });
}
