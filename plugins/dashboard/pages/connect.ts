import { tokenPlaceholder } from "../ui/text/token-rules.ts";
import type { ChannelView } from "../api/views.ts";
import { desk, type DeskPage } from "./desk.ts";
import { html, type Html } from "./html.ts";
import { snippetTabs } from "./snippet-tabs.ts";
import { snippets } from "./snippets.ts";

export interface ConnectPage extends DeskPage {
  /** Undefined: this service has no pico channel. */
  readonly channel: ChannelView | undefined;
}

/** Snippets for the channel's address, and a try of each way in. */
export function connectPage(page: ConnectPage): string {
  const body = page.channel
    ? both(page, page.channel)
    : html`<section class="card">
<p class="quiet-text">This service was started without a pico channel.</p></section>`;
  return desk(page, {
    path: "/connect",
    title: "Connect a client",
    styles: ["snippets.css", "connect.css"],
    body,
  });
}

function both(page: ConnectPage, channel: ChannelView): Html {
  return html`${
    !channel.enabled &&
    html`<p class="notice warn">The channel is off, so nothing can connect now.
<a href="${page.url("/")}">Turn it on on the overview</a>.</p>`
  }
<div class="connect-columns"><div class="stack"><section class="card" aria-labelledby="h-address">
<h2 id="h-address">Address of the channel</h2>
<div class="copyable"><input id="channel-url" class="mono" readonly value="${channel.url}" aria-labelledby="h-address">
<button type="button" class="quiet scripted" data-copy="channel-url" aria-label="Copy address">Copy</button></div>
</section>
<section class="card connect" aria-labelledby="h-snippets"><h2 id="h-snippets">Paste a client</h2>
<p class="quiet-text">Each says hello and prints what comes back. <code>${tokenPlaceholder}</code> stands where the
channel token belongs. <a href="${page.url("/docs/pico")}">What clients and the channel say to each other</a></p>
${snippetTabs(snippets(channel.url), withToken)}
<p class="said" role="status" data-live="copied"></p></section></div>
${tryCard()}</div>`;
}

function withToken({ id, label }: { id: string; label: string }): Html {
  return html`<button type="button" class="quiet" data-copy-with-token="snippet-${id}"
 aria-label="Copy snippet for ${label} with token">Copy with token…</button>`;
}

/** What the answers mean stands here and not in the script: it is read before the first try, too. */
function tryCard(): Html {
  return html`<section class="card try scripted" aria-labelledby="h-try"><h2 id="h-try">Try it</h2>
<p class="quiet-text">The service connects to its own channel by each way a client can, with the real token.</p>
<button type="button" data-try>Try every way</button>
<ul class="tries" data-live="tries">
${[
  ["header", "Authorization header"],
  ["subprotocol", "Subprotocol"],
  ["query", "Token in the address"],
  ["requests", "Plain requests"],
].map(
  ([method, name]) => html`<li data-method="${method}"><span>${name}</span>
<span class="badge off" data-result>Not tried</span><small data-why></small></li>`,
)}
</ul><p class="problem" role="alert" data-live="try-problem"></p></section>`;
}
