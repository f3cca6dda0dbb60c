// Renders the settings page.
import { signedInPage, type SignedInPage } from "./signed-in-page.ts";
import { html } from "./html.ts";

/** Renders the page that the script fills with one form per section, built from the schemas. */
export function settingsPage(page: SignedInPage): string {
  const body = html`<p class="lede">These settings are stored in <code>config.json</code> and
<code>launcher-config.json</code>. Doorward writes only the values you change and keeps the rest of
the files, including comments.
<a href="${page.url("/docs/configuration")}">Configuration reference</a></p>
<p class="problem" role="alert" data-live="problem"></p>
<div class="sections waiting scripted" data-live="sections"></div>`;
  return signedInPage(page, {
    path: "/settings",
    title: "Settings",
    styles: ["settings.css"],
    body,
  });
}
