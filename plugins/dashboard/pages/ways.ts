// Renders the help that explains where to find the launcher token.
import { html, type Html } from "./html.ts";

/** Where the owner can find the launcher token. A kind of place, never a path. */
export type TokenWay = "env" | "file" | "console" | "log" | "command" | "tray";

const sentences: Readonly<Record<TokenWay, Html>> = {
  env: html`An environment variable whose name ends in <code>_LAUNCHER_TOKEN</code> sets it. Ask the
person who started the service.`,
  file: html`It is <code>launcher_token</code> in <code>launcher-config.json</code>, in the home
folder of the service.`,
  console: html`The service printed it in the terminal where it was started with
<code>-console</code>.`,
  log: html`The first start wrote it to <code>logs/launcher.log</code> in the home folder of the
service. Search for <code>launcher token (first run)</code>.`,
  command: html`Run <code>doorward token show</code> on the machine where the service runs.`,
  tray: html`On the machine where the service runs, choose <b>Copy Console Token</b> in the menu of
its tray icon.`,
};

/** Renders collapsed help for the places this deployment offers, or nothing if there are none. */
export function whereIsIt(question: string, ways: readonly TokenWay[]): Html {
  if (ways.length === 0) return html``;
  return html`<details class="where"><summary>${question}</summary>
<ul>${ways.map((way) => html`<li>${sentences[way]}</li>`)}</ul></details>`;
}
