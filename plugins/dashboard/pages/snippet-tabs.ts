// Renders client snippets in tabs.
import { html, type Html } from "./html.ts";
import type { Snippet } from "./snippets.ts";

interface TabOptions {
  /** More buttons of a snippet. */
  readonly more?: (snippet: Snippet) => Html;
  /** Name of the radio buttons, for a page with several lists. @defaultValue `"snippet"` */
  readonly name?: string;
}

/** Renders one tab per snippet. Tabs are radio buttons, so that they work without JavaScript. */
export function snippetTabs(
  list: readonly Snippet[],
  { more, name = "snippet" }: TabOptions = {},
): Html {
  return html`<fieldset class="tabs"><legend class="unseen">Snippet for</legend>
${list.map((snippet, index) => tab(snippet, index, name))}
</fieldset>
${list.map((snippet) => panel(snippet, more?.(snippet)))}`;
}

function tab({ id, label }: Snippet, index: number, name: string): Html {
  const checked = index === 0 && html` checked`;
  return html`<label><input type="radio" name="${name}" value="${id}"${checked}>
<span>${label}</span></label>`;
}

function panel({ id, label, hint, code }: Snippet, more: Html | undefined): Html {
  return html`<div class="snippet" data-snippet="${id}">
<div class="snippet-head"><p class="hint">${hint}</p>
<div class="snippet-buttons scripted"><button type="button" class="quiet" data-copy="snippet-${id}"
 aria-label="Copy snippet for ${label}">Copy</button>${more}</div></div>
<pre tabindex="0" role="region" aria-label="Snippet for ${label}"><code
 id="snippet-${id}">${code}</code></pre></div>`;
}
