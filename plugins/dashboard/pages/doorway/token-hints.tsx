/** Explains where the owner finds the launcher token. @module */
import type { JSX } from "preact";
import type { TokenWay } from "../../shared/views.ts";

const sentences: Readonly<Record<TokenWay, JSX.Element>> = {
  env: (
    <>
      An environment variable whose name ends in <code>_LAUNCHER_TOKEN</code> sets it. Ask the
      person who started the service.
    </>
  ),
  file: (
    <>
      It is <code>launcher_token</code> in <code>launcher-config.json</code>, in the home folder of
      the service.
    </>
  ),
  console: (
    <>
      The service printed it in the terminal where it was started with <code>-console</code>.
    </>
  ),
  log: (
    <>
      The first start wrote it to <code>logs/launcher.log</code> in the home folder of the service.
      Search for <code>launcher token (first run)</code>.
    </>
  ),
  command: (
    <>
      Run <code>doorward token show</code> on the machine where the service runs.
    </>
  ),
  tray: (
    <>
      On the machine where the service runs, choose <b>Copy Console Token</b> in the menu of its
      tray icon.
    </>
  ),
};

/** Collapsed help for the places that this deployment offers, or nothing if there are none. */
export function TokenHints({ question, ways }: { question: string; ways: readonly TokenWay[] }) {
  if (ways.length === 0) return null;
  return (
    <details class="where">
      <summary>{question}</summary>
      <ul>
        {ways.map((way) => (
          <li key={way}>{sentences[way]}</li>
        ))}
      </ul>
    </details>
  );
}
