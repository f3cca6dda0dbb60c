// Renders the card of one protocol on the Connect page: a switch and client snippets.
import type { ProtocolView } from "../ui/text/protocols.ts";
import { tokenLabel } from "../ui/text/labels.ts";
import { tokenPlaceholder } from "../ui/text/token-rules.ts";
import { html, type Html } from "./html.ts";
import { protocolSnippets } from "./protocol-snippets.ts";
import type { SignedInPage } from "./signed-in-page.ts";
import { snippetTabs } from "./snippet-tabs.ts";
import type { Snippet } from "./snippets.ts";

export function protocolCard(
  { url }: Pick<SignedInPage, "url">,
  view: ProtocolView,
  copyWithToken: (snippet: Snippet, which: string) => Html,
): Html {
  const { name, clients, purpose, enabled } = view;
  return html`<section class="card connect" aria-labelledby="h-${name}">
<h2 id="h-${name}">${clients}</h2>
<p class="quiet-text">${purpose} <a href="${url("/docs/doors")}">Guide</a></p>
${switchLine(view)}
${enabled && snippetsOf(view, copyWithToken)}
<p class="said" role="status" data-live="${name}-said"></p></section>`;
}

function switchLine({ name, title, enabled, enabledManagedBy, etag }: ProtocolView): Html {
  if (enabledManagedBy !== undefined)
    return html`<p class="quiet-text">${enabled ? "On" : "Off"}, set by the environment variable
<code>${enabledManagedBy}</code>.</p>`;
  if (etag === undefined) return html`<p class="quiet-text">${enabled ? "On" : "Off"}.</p>`;
  const action = enabled ? "Turn off" : "Turn on";
  return html`<button type="button" class="${enabled ? "quiet scripted" : "scripted"}"
 data-protocol="${name}" data-turn="${enabled ? "off" : "on"}" data-etag="${etag}"
 aria-label="${action} the protocol ${title}">${action}</button>`;
}

function snippetsOf(
  view: ProtocolView,
  copyWithToken: (snippet: Snippet, which: string) => Html,
): Html {
  const { name, url, model } = view;
  const more = (snippet: Snippet): Html => copyWithToken(snippet, name);
  return html`<p class="quiet-text">Base URL <code>${url}</code>${
    model !== undefined && html`, model <code>${model}</code>`
  }.
Replace <code>${tokenPlaceholder}</code> with the ${tokenLabel(name).replace(/^T/, "t")}.</p>
${snippetTabs(protocolSnippets(view), { more, name: `${name}-snippet` })}`;
}
