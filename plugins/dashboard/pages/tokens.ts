import { desk, type DeskPage } from "./desk.ts";
import { html } from "./html.ts";

/** Where each token comes from, how old and how strong it is; replacing and showing it. */
export function tokensPage(page: DeskPage): string {
  const body = html`<p class="lede">Who has the launcher token owns this dashboard; who has the channel token may
connect as a client. Each change here asks for the launcher token again.
<a href="${page.url("/docs/configuration#tokens")}">Where tokens are kept</a></p>
<div class="token-cards waiting scripted" data-live="tokens"></div>`;
  return desk(page, { path: "/tokens", title: "Tokens", styles: ["tokens.css"], body });
}
