import { html, type Html } from "./html.ts";

/** A way in which the owner of this deployment can see the launcher token. Modes only, never a path. */
export type TokenWay = "env" | "file" | "console" | "log" | "command" | "tray";

const sentences: Readonly<Record<TokenWay, Html>> = {
  env: html`It was set in an environment variable whose name ends in <code>_LAUNCHER_TOKEN</code>. Ask whoever started
the service.`,
  file: html`It is <code>launcher_token</code> in <code>launcher-config.json</code>, in the service’s home folder.`,
  console: html`It was printed in the terminal where the service was started with <code>-console</code>.`,
  log: html`The first start wrote it to <code>logs/launcher.log</code> in the service’s home folder; look for
<code>launcher token (first run)</code>.`,
  command: html`Run <code>doorward token show</code> on the machine where the service runs.`,
  tray: html`Choose <b>Copy Console Token</b> in the menu of its icon, in the panel of the machine where it runs.`,
};

/** Folded help that names only the ways this deployment offers; nothing when it offers none. */
export function whereIsIt(question: string, ways: readonly TokenWay[]): Html {
  if (ways.length === 0) return html``;
  return html`<details class="where"><summary>${question}</summary>
<ul>${ways.map((way) => html`<li>${sentences[way]}</li>`)}</ul></details>`;
}
