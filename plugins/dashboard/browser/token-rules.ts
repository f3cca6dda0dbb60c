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
