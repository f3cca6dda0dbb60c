import { desk, type DeskPage } from "./desk.ts";
import { html } from "./html.ts";

/** The signed-in browsers. */
export function sessionsPage(page: DeskPage): string {
  const columns = ["Browser", "Address", "Signed in", "Last used", "Ends"];
  const body = html`<section class="card waiting scripted" aria-labelledby="h-sessions"><div class="card-head">
<h2 id="h-sessions">Signed-in browsers</h2>
<button type="button" class="quiet danger push" data-end-others disabled>Sign out all others</button></div>
<p class="said" role="status" data-live="said"></p>
<table class="table" role="table" aria-labelledby="h-sessions"><thead role="rowgroup"><tr role="row">
${columns.map((name) => html`<th role="columnheader" scope="col">${name}</th>`)}
<th role="columnheader" scope="col"><span class="unseen">Action</span></th></tr></thead>
<tbody role="rowgroup" data-live="rows"></tbody></table></section>`;
  return desk(page, { path: "/sessions", title: "Sessions", body });
}
