import { relativeTime, formatUtc } from "../ui/text/format.ts";
import { rejectionDetail, rejectionTitle, uniqueFixes } from "../ui/text/rejections.ts";
import { blockedLabel } from "../ui/text/labels.ts";
import type { ChannelView, RejectionView } from "../api/views.ts";
import { html, type Html } from "./html.ts";
import type { Site } from "./layout.ts";

/** Clients that could not get in, and what mends it. `browser/refused.ts` builds the same rows. */
export function refusedClients({ refusals }: ChannelView, now: number, url: Site["url"]): Html {
  const fixes = uniqueFixes(refusals);
  const rows = refusals.map((refusal, at) => row(refusal, fixes[at], now));
  const hidden = rows.length === 0 && html` hidden`;
  return html`<section class="refused" aria-labelledby="h-refused" data-live="refused"${hidden}>
<div class="card-head"><h3 id="h-refused">Refused clients</h3>
<a class="push" href="${url("/docs/dashboard#a-client-that-gets-401")}">What to look at</a></div>
<ul class="activity" data-live="refused-clients">${rows}</ul></section>`;
}

function row(refusal: RejectionView, fix: string | undefined, now: number): Html {
  const { at, until } = refusal;
  return html`<li><span>${rejectionTitle(refusal)}</span>
<time data-ago datetime="${new Date(at).toISOString()}" title="${formatUtc(at)}">${relativeTime(at, now)}</time>
<small>${rejectionDetail(refusal)}</small>
${until !== undefined && html`<p class="blocked" data-until="${until}">${blockedLabel(until, now)}</p>`}
${fix !== undefined && html`<p class="fix">${fix}</p>`}</li>`;
}
