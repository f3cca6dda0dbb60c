// Renders the doctor page.
import { signedInPage, type SignedInPage } from "./signed-in-page.ts";
import { html } from "./html.ts";

/** Renders the list that the script fills with checks: result, reason and fix. */
export function doctorPage(page: SignedInPage): string {
  const body = html`<section class="card waiting scripted" aria-labelledby="h-checks">
<div class="card-head">
<h2 id="h-checks">Checks</h2><p class="quiet-text" role="status" data-live="summary"></p>
<button type="button" class="quiet push" data-run>Run again</button></div>
<p class="problem" role="alert" data-live="problem"></p>
<ul class="checks" data-live="checks"></ul></section>`;
  return signedInPage(page, { path: "/doctor", title: "Doctor", styles: ["doctor.css"], body });
}
