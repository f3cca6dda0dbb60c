import { sourceWords } from "../browser/words.ts";
import type { ChannelView, TokenView } from "../status.ts";
import { html, type Html } from "./html.ts";
import { snippets, tokenPlaceholder, type Snippet } from "./snippets.ts";

/** What to do once the channel is on. The tabs are radio buttons, so that they work without a script. */
export function connectCard(channel: ChannelView, tokens: readonly TokenView[]): Html {
  const list = snippets(channel.url);
  const hidden = !channel.enabled && html` hidden`;
  return html`<section class="card connect" aria-labelledby="h-connect" data-face="on"${hidden}>
<h2 id="h-connect">Connect a client</h2>
<ol class="steps">
<li>Take the channel token. ${tokenPlace(tokens)}</li>
<li>Put it in place of <code>${tokenPlaceholder}</code> in one of these. It says hello and prints what comes back.</li>
</ol>
<fieldset class="tabs"><legend class="unseen">Snippet for</legend>
${list.map(tab)}
</fieldset>
${list.map(panel)}
</section>`;
}

function tab({ id, label }: Snippet, index: number): Html {
  const checked = index === 0 && html` checked`;
  return html`<label><input type="radio" name="snippet" value="${id}"${checked}><span>${label}</span></label>`;
}

function panel({ id, label, hint, code }: Snippet): Html {
  return html`<div class="snippet" data-snippet="${id}"><div class="snippet-head"><p class="hint">${hint}</p>
<button type="button" class="quiet scripted" data-copy="snippet-${id}"
 aria-label="Copy snippet for ${label}">Copy</button></div>
<pre tabindex="0" role="region" aria-label="Snippet for ${label}"><code id="snippet-${id}">${code}</code></pre></div>`;
}

function tokenPlace(tokens: readonly TokenView[]): string {
  const pico = tokens.find(({ name }) => name === "pico");
  if (!pico || pico.source === "none") return "It is channels.pico.token in .security.yml.";
  if (pico.source === "env") return "It was set in the environment.";
  if (pico.source === "host") return "The host application has it.";
  return `It is channels.pico.token in ${sourceWords(pico)}.`;
}
