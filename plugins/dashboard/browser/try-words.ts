import { lookUp } from "./words.ts";

const reasons: Readonly<Record<string, string>> = {
  token_query_disabled:
    "allow_token_query is off, as it should be unless a client knows no other way.",
  not_found: "The channel is off.",
  token_not_configured: "There is no channel token yet.",
  token_mismatch: "The channel did not take the token.",
  token_missing: "The token got lost on the way: a proxy may remove headers.",
  rate_limited: "Too many wrong tokens came from this machine. Try again in a minute.",
  too_many_connections: "All connections are taken.",
  origin_not_allowed: "allow_origins does not list this page’s origin.",
  timeout: "Nothing answered in time.",
  network: "The address did not answer.",
};

/** Why a way into the channel does not work, in one sentence. */
export function testResultLabel(code: string): string {
  return lookUp(reasons, code) ?? `The answer was ${code.replaceAll("_", " ")}.`;
}
