import { formatDuration, formatUtc } from "../ui/text/format.ts";
import { tokenSourceLabel, tokenLabel } from "../ui/text/labels.ts";
import type { StatusView, TokenView } from "../api/views.ts";
import { html, type Html } from "./html.ts";

/** The launcher itself: since when, where, with which tokens; and a link to sign in elsewhere. */
export function launcherCard(status: StatusView): Html {
  return html`<section class="card launcher" aria-labelledby="h-launcher"><h2 id="h-launcher">Launcher</h2>
<dl class="facts">
<div><dt>Up for</dt><dd><time data-live="uptime" data-since datetime="${new Date(status.startedAt).toISOString()}"
 title="${formatUtc(status.startedAt)}">${formatDuration(status.now - status.startedAt)}</time></dd></div>
<div class="stacked"><dt>${status.addresses.length === 1 ? "Address" : "Addresses"}</dt>
<dd><ul data-live="addresses">
${status.addresses.map((address) => html`<li class="mono">${address}</li>`)}</ul></dd></div>
</dl>
<dl class="facts tokens" data-live="tokens">${status.tokens.map(tokenRow)}</dl>
${signInLink()}
</section>`;
}

function tokenRow(token: TokenView): Html {
  return html`<div><dt>${tokenLabel(token.name)}</dt><dd>${tokenSourceLabel(token)}</dd></div>`;
}

function signInLink(): Html {
  return html`<div class="link-maker scripted">
<button type="button" class="quiet" data-sign-in-link>Copy sign-in link</button>
<p class="hint" role="status" data-live="link-said">For another browser or device. Works once, for five minutes.</p>
<div class="copyable" data-live="link-row" hidden>
<input id="sign-in-link" class="mono" readonly aria-label="Sign-in link">
<button type="button" class="quiet" data-copy="sign-in-link" aria-label="Copy sign-in link again">Copy</button>
</div></div>`;
}
