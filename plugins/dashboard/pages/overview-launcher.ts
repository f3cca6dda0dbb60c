// Renders the launcher card of the overview.
import { formatDuration, formatUtc } from "../ui/text/format.ts";
import { storeLabel, tokenSourceLabel, tokenLabel } from "../ui/text/labels.ts";
import type { StatusView, TokenView } from "../api/views.ts";
import { html, type Html } from "./html.ts";

/** Renders uptime, URLs and token sources, and the button that creates a sign-in link. */
export function launcherCard(status: StatusView): Html {
  const { startedAt, now } = status;
  return html`<section class="card launcher" aria-labelledby="h-launcher">
<h2 id="h-launcher">Launcher</h2>
<dl class="facts">
<div><dt>Uptime</dt><dd>
<time data-live="uptime" data-since datetime="${new Date(startedAt).toISOString()}"
 title="${formatUtc(startedAt)}">${formatDuration(now - startedAt)}</time></dd></div>
<div class="stacked"><dt>${status.addresses.length === 1 ? "URL" : "URLs"}</dt>
<dd><ul data-live="addresses">
${status.addresses.map((address) => html`<li class="mono">${address}</li>`)}</ul></dd></div>
${status.store && storeRow(status.store)}
</dl>
<dl class="facts tokens" data-live="tokens">${status.tokens.map(tokenRow)}</dl>
${signInLink()}
</section>`;
}

function storeRow(store: NonNullable<StatusView["store"]>): Html {
  return html`<div><dt>Conversations</dt><dd data-live="store">${storeLabel(store)}</dd></div>`;
}

function tokenRow(token: TokenView): Html {
  return html`<div><dt>${tokenLabel(token.name)}</dt><dd>${tokenSourceLabel(token)}</dd></div>`;
}

function signInLink(): Html {
  return html`<div class="link-maker scripted">
<button type="button" class="quiet" data-sign-in-link>Copy sign-in link</button>
<p class="hint" role="status" data-live="link-said">Signs in another browser or device. The link
works once and expires after five minutes.</p>
<div class="copyable" data-live="link-row" hidden>
<input id="sign-in-link" class="mono" readonly aria-label="Sign-in link">
<button type="button" class="quiet" data-copy="sign-in-link"
 aria-label="Copy sign-in link again">Copy</button>
</div></div>`;
}
