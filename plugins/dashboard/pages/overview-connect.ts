import { tokenPlaceholder } from "../ui/text/token-rules.ts";
import { tokenSourceLabel } from "../ui/text/labels.ts";
import type { ChannelView, TokenView } from "../api/views.ts";
import { html, type Html } from "./html.ts";
import type { Site } from "./layout.ts";
import { snippetTabs } from "./snippet-tabs.ts";
import { snippets } from "./snippets.ts";

/** What to do once the channel is on. */
export function connectCard(
  channel: ChannelView,
  tokens: readonly TokenView[],
  url: Site["url"],
): Html {
  const hidden = !channel.enabled && html` hidden`;
  return html`<section class="card connect" aria-labelledby="h-connect" data-face="on"${hidden}>
<h2 id="h-connect">Connect a client</h2>
<ol class="steps">
<li>Take the channel token. ${tokenPlace(tokens)}
<a href="${url("/tokens")}">Tokens</a> shows it.</li>
<li>Put it in place of <code>${tokenPlaceholder}</code> in one of these. It says hello and prints what comes back.</li>
</ol>
${snippetTabs(snippets(channel.url))}
</section>`;
}

function tokenPlace(tokens: readonly TokenView[]): string {
  const pico = tokens.find(({ name }) => name === "pico");
  if (!pico || pico.source === "none") return "It is channels.pico.token in .security.yml.";
  if (pico.source === "env") return "It was set in the environment.";
  if (pico.source === "host") return "The host application has it.";
  return `It is channels.pico.token in ${tokenSourceLabel(pico)}.`;
}
