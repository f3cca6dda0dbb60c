import { desk, type DeskPage } from "./desk.ts";
import { html } from "./html.ts";

/** Forms of the settings, made by the script from the schemas of the files. */
export function settingsPage(page: DeskPage): string {
  const body = html`<p class="lede">These are settings of <code>config.json</code> and
<code>launcher-config.json</code>. Saving changes only what you changed; the rest of the files stays as it was written,
comments too. <a href="${page.url("/docs/configuration")}">Every setting explained</a></p>
<p class="problem" role="alert" data-live="problem"></p>
<div class="sections waiting scripted" data-live="sections"></div>`;
  return desk(page, { path: "/settings", title: "Settings", styles: ["settings.css"], body });
}
