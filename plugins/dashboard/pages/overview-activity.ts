import { relativeTime, formatUtc } from "../ui/text/format.ts";
import { failedSignInLabel, timesLabel, signInMethodLabel } from "../ui/text/labels.ts";
import type { StatusView } from "../api/views.ts";
import { html, type Html } from "./html.ts";

/** The latest sign-ins and refusals. `browser/activity.ts` builds the same rows. */
export function activity({ now, signIns, refusals }: StatusView): Html {
  const came = signIns.map((s) => row(signInMethodLabel(s.via), s.address, s.at, now));
  const refused = refusals.map(({ code, via, address, times, at }) =>
    row(
      failedSignInLabel(code),
      `${signInMethodLabel(via)} · ${address}${timesLabel(times)}`,
      at,
      now,
    ),
  );
  return html`<div class="twin">${card("Latest sign-ins", "sign-ins", "Nobody has signed in since the start.", came)}
${card("Refused sign-ins", "refusals", "Nobody was refused since the start.", refused)}</div>`;
}

function card(title: string, id: string, none: string, rows: readonly Html[]): Html {
  return html`<section class="card" aria-labelledby="h-${id}"><h2 id="h-${id}">${title}</h2>
<p class="quiet-text" data-live="no-${id}"${rows.length > 0 && html` hidden`}>${none}</p>
<ul class="activity" data-live="${id}">${rows}</ul></section>`;
}

function row(title: string, detail: string, at: number, now: number): Html {
  return html`<li><span>${title}</span><time data-ago datetime="${new Date(at).toISOString()}" title="${formatUtc(at)}">
${relativeTime(at, now)}</time><small>${detail}</small></li>`;
}
