// Labels of the results of connection tests.
import { lookUp } from "./look-up.ts";

const testResults: Readonly<Record<string, string>> = {
  token_query_disabled: "allow_token_query is off. Turn it on only for clients that need it.",
  not_found: "The channel is off.",
  token_not_configured: "The channel has no token yet.",
  token_mismatch: "The channel rejected the token.",
  token_missing: "The channel received no token. A proxy may have removed the header.",
  rate_limited: "This machine sent too many wrong tokens. Try again in a minute.",
  too_many_connections: "The channel has reached its maximum number of connections.",
  origin_not_allowed: "allow_origins does not include the origin of this page.",
  timeout: "The channel did not respond in time.",
  network: "No server responded at this URL.",
};

/** Explains in one sentence why a connection test failed. */
export function testResultLabel(code: string): string {
  return lookUp(testResults, code) ?? `The response was: ${code.replaceAll("_", " ")}.`;
}
