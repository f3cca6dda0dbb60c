// Renders the log page.
import { signedInPage, type SignedInPage } from "./signed-in-page.ts";
import { html } from "./html.ts";

const levels = [
  ["debug", "All"],
  ["info", "Info and above"],
  ["warn", "Warnings and errors"],
  ["error", "Errors"],
];

/** Renders the toolbar and the list that the script fills with the newest log lines. */
export function logPage(page: SignedInPage): string {
  const body = html`<section class="card log-card scripted" aria-labelledby="h-lines">
<h2 id="h-lines" class="unseen">Lines</h2>
<div class="toolbar"><div class="field"><label for="level">Level</label>
<select id="level">${levels.map(
    ([value, name]) => html`<option value="${value}"${value === "info" && html` selected`}>
${name}</option>`,
  )}</select></div>
<div class="field grow"><label for="text">Filter</label>
<input id="text" type="search" autocomplete="off" maxlength="200" placeholder="Text in the line">
</div>
<button type="button" class="quiet" data-pause aria-pressed="false">Pause</button>
<a class="button quiet" href="${page.url("/api/log/download")}"
 download="launcher.log">Download</a></div>
<p class="problem" role="alert" data-live="problem"></p>
<div class="log-frame">
<ol class="lines" data-live="lines" tabindex="0" aria-label="Log, newest line last"></ol>
<button type="button" class="jump" data-jump hidden>Jump to newest</button></div>
<p class="quiet-text log-foot"><span data-live="shown">0 lines</span>
<span data-live="sampled"></span></p></section>`;
  return signedInPage(page, { path: "/log", title: "Log", styles: ["log.css"], body });
}
