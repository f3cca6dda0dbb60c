// Renders the card of the OpenAI protocol on the Connect page: a switch and client snippets.
import { tokenPlaceholder } from "../ui/text/token-rules.ts";
import { html, type Html } from "./html.ts";
import { openaiSnippets } from "./openai-snippets.ts";
import type { SignedInPage } from "./signed-in-page.ts";
import { snippetTabs } from "./snippet-tabs.ts";
import type { Snippet } from "./snippets.ts";

/** The OpenAI protocol, for the Connect page. */
export interface OpenaiView {
  readonly enabled: boolean;
  /** The environment variable that sets `enabled`; the page then cannot change it. */
  readonly enabledManagedBy?: string;
  /** `http://host:port/v1`, as seen from the requesting browser. */
  readonly url: string;
  readonly model: string;
  /** For `If-Match` of `PUT /api/channels/openai`; undefined if settings cannot be changed. */
  readonly etag?: string;
}

export function openaiCard(
  { url }: Pick<SignedInPage, "url">,
  view: OpenaiView,
  copyWithToken: (snippet: Snippet) => Html,
): Html {
  return html`<section class="card connect" aria-labelledby="h-openai">
<h2 id="h-openai">OpenAI clients</h2>
<p class="quiet-text">OpenAI libraries, Open WebUI and LibreChat can use the application as a
language model, with a token of their own. <a href="${url("/docs/doors")}">Guide</a></p>
${switchLine(view)}
${view.enabled && snippetsOf(view, copyWithToken)}
<p class="said" role="status" data-live="openai-said"></p></section>`;
}

function switchLine({ enabled, enabledManagedBy, etag }: OpenaiView): Html {
  if (enabledManagedBy !== undefined)
    return html`<p class="quiet-text">${enabled ? "On" : "Off"}, set by the environment variable
<code>${enabledManagedBy}</code>.</p>`;
  if (etag === undefined) return html`<p class="quiet-text">${enabled ? "On" : "Off"}.</p>`;
  const action = enabled ? "Turn off" : "Turn on";
  return html`<button type="button" class="${enabled ? "quiet scripted" : "scripted"}"
 data-openai="${enabled ? "off" : "on"}" data-etag="${etag}"
 aria-label="${action} the OpenAI protocol">${action}</button>`;
}

const snippetsOf = (view: OpenaiView, copyWithToken: (snippet: Snippet) => Html): Html =>
  html`<p class="quiet-text">Base URL <code>${view.url}</code>, model <code>${view.model}</code>.
Replace <code>${tokenPlaceholder}</code> with the OpenAI token.</p>
${snippetTabs(openaiSnippets(view), { more: copyWithToken, name: "openai-snippet" })}`;
