// Renders the list of rejected channel connections.
import { relativeTime, formatUtc } from "../ui/text/format.ts";
import { rejectionDetail, rejectionTitle, uniqueFixes } from "../ui/text/rejections.ts";
import { blockedLabel } from "../ui/text/labels.ts";
import type { ChannelView, RejectionView } from "../api/views.ts";
import { html, type Html } from "./html.ts";
import type { Site } from "./layout.ts";

/** Renders rejected connections with a fix. `browser/rejections.ts` renders the same rows. */
export function rejectedConnections(
  { refusals }: ChannelView,
  now: number,
  url: Site["url"],
): Html {
  const fixes = uniqueFixes(refusals);
  const rows = refusals.map((rejection, index) => row(rejection, fixes[index], now));
  const hidden = rows.length === 0 && html` hidden`;
  return html`<section class="refused" aria-labelledby="h-refused" data-live="refused"${hidden}>
<div class="card-head"><h3 id="h-refused">Rejected connections</h3>
<a class="push" href="${url("/docs/dashboard#a-client-that-gets-401")}">Troubleshooting</a></div>
<ul class="activity" data-live="refused-clients">${rows}</ul></section>`;
}

function row(rejection: RejectionView, fix: string | undefined, now: number): Html {
  const { at, until } = rejection;
  const iso = new Date(at).toISOString();
  return html`<li><span>${rejectionTitle(rejection)}</span>
<time data-ago datetime="${iso}" title="${formatUtc(at)}">${relativeTime(at, now)}</time>
<small>${rejectionDetail(rejection)}</small>
${
  until !== undefined &&
  html`<p class="blocked" data-until="${until}">${blockedLabel(until, now)}</p>`
}
${fix !== undefined && html`<p class="fix">${fix}</p>`}</li>`;
}
