/** The rules for a token chosen by a person. Pure: the server and the setup page share them. */
export interface TokenRule {
  readonly id: string;
  readonly text: string;
  readonly holds: (token: string) => boolean;
}

export const tokenRules: readonly TokenRule[] = [
  {
    id: "length",
    text: "16 to 256 characters",
    holds: (token) => token.length >= 16 && token.length <= 256,
  },
  {
    id: "ascii",
    text: "ASCII letters, digits and signs, no spaces",
    holds: (token) => /^[!-~]+$/.test(token),
  },
  { id: "repeated", text: "not one character repeated", holds: (token) => new Set(token).size > 1 },
  {
    id: "prefix",
    text: "does not begin with ott_",
    holds: (token) => token !== "" && !token.startsWith("ott_"),
  },
];

/** The rules that a token, its ends trimmed already, does not keep. */
export function violatedRules(token: string): readonly TokenRule[] {
  return tokenRules.filter((rule) => !rule.holds(token));
}

/** Stands in a snippet, exactly once, where the channel token belongs. Pure. */
export const tokenPlaceholder = "PASTE_CHANNEL_TOKEN";

/* Which changes of the settings ask for a token again. Pure: the server asks for it, and the page before it has to. */

/** Fields that widen who gets in, or for how long: changing them asks for the launcher token. */
export const guardedFields: ReadonlySet<string> = new Set([
  "allow_origins",
  "allow_token_query",
  "allowed_hosts",
  "allowed_origins",
  "keep_sign_ins",
]);

/** Scheme and host of an address. Where the client is sent to another one, it is the remote token that is shown
 *  there. */
export function originOf(address: unknown): string | undefined {
  if (typeof address !== "string" || !URL.canParse(address)) return undefined;
  const { protocol, host } = new URL(address);
  return `${protocol}//${host}`;
}
