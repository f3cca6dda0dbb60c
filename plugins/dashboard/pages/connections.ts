// Renders the page with the live list of connections.
import { signedInPage, type SignedInPage } from "./signed-in-page.ts";
import { html, type Html } from "./html.ts";

const columns = [
  "Session",
  "Client",
  "Authentication",
  "Connected",
  "In",
  "Out",
  "Queued",
  "Last active",
];

/** Renders the connection totals and the table that the script fills, one page at a time. */
export function connectionsPage(page: SignedInPage): string {
  const body = html`<section class="card waiting scripted" aria-labelledby="h-rate">
<h2 id="h-rate" class="unseen">Connections</h2>
<dl class="rates"><div><dt>Connected</dt><dd data-live="connections">–</dd></div>
<div><dt>In</dt><dd><span data-live="rate-in">0</span> <small>messages/s</small></dd></div>
<div><dt>Out</dt><dd><span data-live="rate-out">0</span> <small>messages/s</small></dd></div>
<div><dt>Queued</dt><dd data-live="queued">0 B</dd></div></dl>
<div class="toolbar"><div class="field grow"><label for="filter">Filter</label>
<input id="filter" type="search" autocomplete="off" maxlength="200"
 placeholder="Session, address, origin or user agent">
</div></div>
<p class="said" role="status" data-live="said"></p>
<table class="table connections" role="table" aria-labelledby="h-rate">
<thead role="rowgroup"><tr role="row">
${columns.map(columnHeader)}
<th role="columnheader" scope="col"><span class="unseen">Action</span></th></tr></thead>
<tbody role="rowgroup" data-live="rows"></tbody></table>
<p class="empty" data-live="none" hidden></p>
<div class="pager"><p class="quiet-text" data-live="range"></p>
<button type="button" class="quiet" data-page="-1" disabled>Previous</button>
<button type="button" class="quiet" data-page="1" disabled>Next</button></div></section>`;
  return signedInPage(page, {
    path: "/connections",
    title: "Connections",
    styles: ["connections.css"],
    body,
  });
}

const numericColumns = new Set(["In", "Out", "Queued"]);

function columnHeader(name: string): Html {
  const kind = numericColumns.has(name) && html` class="num"`;
  return html`<th role="columnheader" scope="col"${kind}>${name}</th>`;
}
