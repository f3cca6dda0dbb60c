// Renders the cards of recent and failed sign-ins.
import { relativeTime, formatUtc } from "../ui/text/format.ts";
import { failedSignInLabel, timesLabel, signInMethodLabel } from "../ui/text/labels.ts";
import type { StatusView } from "../api/views.ts";
import { html, type Html } from "./html.ts";

/** Renders recent and failed sign-ins. `browser/activity.ts` renders the same rows. */
export function activity({ now, signIns, refusals }: StatusView): Html {
  const recent = signIns.map((s) => row(signInMethodLabel(s.via), s.address, s.at, now));
  const failed = refusals.map(({ code, via, address, times, at }) =>
    row(
      failedSignInLabel(code),
      `${signInMethodLabel(via)} · ${address}${timesLabel(times)}`,
      at,
      now,
    ),
  );
  return html`<div class="twin">
${card("Recent sign-ins", "sign-ins", "No sign-ins since startup.", recent)}
${card("Failed sign-ins", "refusals", "No failed sign-ins since startup.", failed)}</div>`;
}

function card(title: string, id: string, emptyText: string, rows: readonly Html[]): Html {
  return html`<section class="card" aria-labelledby="h-${id}"><h2 id="h-${id}">${title}</h2>
<p class="quiet-text" data-live="no-${id}"${rows.length > 0 && html` hidden`}>${emptyText}</p>
<ul class="activity" data-live="${id}">${rows}</ul></section>`;
}

function row(title: string, detail: string, at: number, now: number): Html {
  return html`<li><span>${title}</span>
<time data-ago datetime="${new Date(at).toISOString()}" title="${formatUtc(at)}">
${relativeTime(at, now)}</time><small>${detail}</small></li>`;
}
