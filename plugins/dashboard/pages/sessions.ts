// Renders the page of signed-in browsers.
import { signedInPage, type SignedInPage } from "./signed-in-page.ts";
import { html } from "./html.ts";

const columns = ["Browser", "Address", "Signed in", "Last used", "Expires"];

/** Renders the table that the script fills with the signed-in browsers. */
export function sessionsPage(page: SignedInPage): string {
  const body = html`<section class="card waiting scripted" aria-labelledby="h-sessions">
<div class="card-head"><h2 id="h-sessions">Active sign-ins</h2>
<button type="button" class="quiet danger push" data-end-others disabled>Sign out others</button>
</div>
<p class="said" role="status" data-live="said"></p>
<table class="table" role="table" aria-labelledby="h-sessions">
<thead role="rowgroup"><tr role="row">
${columns.map((name) => html`<th role="columnheader" scope="col">${name}</th>`)}
<th role="columnheader" scope="col"><span class="unseen">Action</span></th></tr></thead>
<tbody role="rowgroup" data-live="rows"></tbody></table></section>`;
  return signedInPage(page, { path: "/sessions", title: "Signed-in browsers", body });
}
