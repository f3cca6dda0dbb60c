// Renders the page with client snippets and the channel test.
import { tokenPlaceholder } from "../ui/text/token-rules.ts";
import type { ChannelView } from "../api/views.ts";
import type { ProtocolView } from "../ui/text/protocols.ts";
import { signedInPage, type SignedInPage } from "./signed-in-page.ts";
import { html, type Html } from "./html.ts";
import { protocolCard } from "./protocol-card.ts";
import { snippetTabs } from "./snippet-tabs.ts";
import { snippets } from "./snippets.ts";

interface ConnectPage extends SignedInPage {
  /** Undefined if the service has no channel. */
  readonly channel: ChannelView | undefined;
  /** Those whose plugins are loaded. @defaultValue none */
  readonly protocols?: readonly ProtocolView[];
}

/** Renders the channel URL, snippets for it and a test of each authentication method. */
export function connectPage(page: ConnectPage): string {
  const body = page.channel
    ? connectCards(page, page.channel)
    : html`<section class="card">
<p class="quiet-text">This service has no channel.</p></section>`;
  return signedInPage(page, {
    path: "/connect",
    title: "Connect a client",
    styles: ["snippets.css", "connect.css"],
    body,
  });
}

function connectCards(page: ConnectPage, channel: ChannelView): Html {
  return html`${
    !channel.enabled &&
    html`<p class="notice warn">The channel is off and rejects all clients.
<a href="${page.url("/")}">Turn it on in Overview</a>.</p>`
  }
<div class="connect-columns"><div class="stack"><section class="card" aria-labelledby="h-address">
<h2 id="h-address">Channel URL</h2>
<div class="copyable">
<input id="channel-url" class="mono" readonly value="${channel.url}" aria-labelledby="h-address">
<button type="button" class="quiet scripted" data-copy="channel-url"
 aria-label="Copy channel URL">Copy</button></div>
</section>
<section class="card connect" aria-labelledby="h-snippets"><h2 id="h-snippets">Client snippets</h2>
<p class="quiet-text">Each snippet sends “hello” and prints the replies. Replace
<code>${tokenPlaceholder}</code> with the channel token.
<a href="${page.url("/docs/pico")}">Protocol reference</a></p>
${snippetTabs(snippets(channel.url), { more: copyWithTokenButton })}
<p class="said" role="status" data-live="copied"></p></section>
${(page.protocols ?? []).map((view) => protocolCard(page, view, copyWithTokenButton))}</div>
${testCard()}</div>`;
}

/** @param which - Name of the token. */
function copyWithTokenButton({ id, label }: { id: string; label: string }, which = "pico"): Html {
  return html`<button type="button" class="quiet" data-copy-with-token="snippet-${id}"
 data-which="${which}"
 aria-label="Copy snippet for ${label} with token">Copy with token…</button>`;
}

/** The server renders all rows, so that the methods are visible before the first test. */
function testCard(): Html {
  return html`<section class="card try scripted" aria-labelledby="h-try">
<h2 id="h-try">Connection test</h2>
<p class="quiet-text">Doorward connects to its own channel with each authentication method and the
current token.</p>
<button type="button" data-try>Test all methods</button>
<ul class="tries" data-live="tries">
${[
  ["header", "Authorization header"],
  ["subprotocol", "Subprotocol"],
  ["query", "Token in URL"],
  ["requests", "HTTP without WebSocket"],
].map(
  ([method, name]) => html`<li data-method="${method}"><span>${name}</span>
<span class="badge off" data-result>Not tested</span><small data-why></small></li>`,
)}
</ul><p class="problem" role="alert" data-live="try-problem"></p></section>`;
}
