// Renders the card with the steps to connect a client.
import { tokenPlaceholder } from "../ui/text/token-rules.ts";
import { tokenSourceLabel } from "../ui/text/labels.ts";
import type { ChannelView, TokenView } from "../api/views.ts";
import { html, type Html } from "./html.ts";
import type { Site } from "./layout.ts";
import { snippetTabs } from "./snippet-tabs.ts";
import { snippets } from "./snippets.ts";

/** Renders the steps to connect a client, visible while the channel is on. */
export function connectCard(
  channel: ChannelView,
  tokens: readonly TokenView[],
  url: Site["url"],
): Html {
  const hidden = !channel.enabled && html` hidden`;
  return html`<section class="card connect" aria-labelledby="h-connect" data-face="on"${hidden}>
<h2 id="h-connect">Connect a client</h2>
<ol class="steps">
<li>Copy the channel token. ${tokenLocation(tokens)}
You can also show it in <a href="${url("/tokens")}">Tokens</a>.</li>
<li>Replace <code>${tokenPlaceholder}</code> in one of these snippets. Each sends “hello” and prints
the replies.</li>
</ol>
${snippetTabs(snippets(channel.url))}
</section>`;
}

function tokenLocation(tokens: readonly TokenView[]): string {
  const pico = tokens.find(({ name }) => name === "pico");
  if (!pico || pico.source === "none") return "It is channels.pico.token in .security.yml.";
  if (pico.source === "env") return "An environment variable sets it.";
  if (pico.source === "host") return "The host application sets it.";
  return `It is channels.pico.token in ${tokenSourceLabel(pico)}.`;
}
