// Rules for tokens chosen by the user, and for the actions that require a token again.
import type { ProtocolToken } from "./protocols.ts";

/** Sentences of the rules. Apart from the rules, since the script of the setup needs only those. */
export const tokenRuleTexts = {
  length: "16 to 256 characters",
  ascii: "ASCII letters, digits and symbols, no spaces",
  repeated: "at least two different characters",
  prefix: "no ott_ at the start",
} as const;

interface TokenRule {
  readonly id: keyof typeof tokenRuleTexts;
  readonly holds: (token: string) => boolean;
}

export const tokenRules: readonly TokenRule[] = [
  { id: "length", holds: (token) => token.length >= 16 && token.length <= 256 },
  { id: "ascii", holds: (token) => /^[!-~]+$/.test(token) },
  { id: "repeated", holds: (token) => new Set(token).size > 1 },
  { id: "prefix", holds: (token) => token !== "" && !token.startsWith("ott_") },
];

/** Returns the rules that a trimmed token violates. */
export function violatedRules(token: string): readonly TokenRule[] {
  return tokenRules.filter((rule) => !rule.holds(token));
}

/**
 * Token length that bypasses the rate limit: the server accepts a correct token of this length
 * from a blocked address, so the form must be able to send it.
 */
export const unlimitedTokenLength = 43;

/** Placeholder for the channel token. It occurs exactly once in each snippet. */
export const tokenPlaceholder = "PASTE_CHANNEL_TOKEN";

/** Placeholder in the snippets of a channel, for example `PASTE_OPENAI_TOKEN`. */
export const placeholderOf = (token: "pico" | ProtocolToken): string =>
  token === "pico" ? tokenPlaceholder : `PASTE_${token.toUpperCase()}_TOKEN`;

/**
 * Settings that extend access or its duration. A change requires the launcher token: the server
 * checks it, and the page asks for it first.
 */
export const guardedFields: ReadonlySet<string> = new Set([
  "allow_origins",
  "allow_token_query",
  "allowed_hosts",
  "allowed_origins",
  "keep_sign_ins",
]);

/**
 * Returns scheme and host of a URL, or undefined if it is not a URL.
 * A new origin would receive the remote token, so such a change asks for that token.
 */
export function originOf(address: unknown): string | undefined {
  if (typeof address !== "string" || !URL.canParse(address)) return undefined;
  const { protocol, host } = new URL(address);
  return `${protocol}//${host}`;
}
