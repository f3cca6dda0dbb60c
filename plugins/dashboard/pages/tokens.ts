// Renders the tokens page.
import { signedInPage, type SignedInPage } from "./signed-in-page.ts";
import { html } from "./html.ts";

/** Renders the page that the script fills with one card per token. */
export function tokensPage(page: SignedInPage): string {
  const body = html`<p class="lede">Anyone with the launcher token can sign in to this dashboard.
Anyone with the channel token can connect as a client. Each change here requires the launcher token.
<a href="${page.url("/docs/configuration#tokens")}">Where tokens are stored</a></p>
<div class="token-cards waiting scripted" data-live="tokens"></div>`;
  return signedInPage(page, { path: "/tokens", title: "Tokens", styles: ["tokens.css"], body });
}
