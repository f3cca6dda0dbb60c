/** The values of tokens: their variables, their rules, and new ones. */
import type { TokenName } from "./service.ts";

const tokensOutsideChannels: readonly TokenName[] = ["launcher", "metrics"];

/**
 * Returns the name of the environment variable of a token.
 *
 * @param brand - Prefix of the variable, in lower case. @defaultValue `"service"`
 * @returns For example `SERVICE_LAUNCHER_TOKEN` or `SERVICE_CHANNELS_PICO_TOKEN`.
 */
export const tokenVariable = (name: TokenName, brand = "service"): string =>
  [brand, ...(tokensOutsideChannels.includes(name) ? [] : ["channels"]), name, "token"]
    .join("_")
    .toUpperCase();

interface TokenRule {
  /** Completes the sentence "the token cannot be used: …". */
  readonly reason: string;
  readonly isBroken: (token: string, name: TokenName) => boolean;
  /**
   * `exposed`: no token may break the rule if other machines can connect. `known`: a token from any
   * source that breaks the rule causes a warning. `chosen`: the rule applies to new tokens only,
   * which a user chooses on a page or on the command line.
   */
  readonly applies: "exposed" | "known" | "chosen";
}

/**
 * The rules of all tokens, the most serious first. A new token must follow all of them. A token of
 * the environment, a file, a host or another node must follow those with `exposed`, at a start and
 * while the program runs.
 */
const rules: readonly TokenRule[] = [
  {
    // A remote attacker could guess it within the rate limits.
    applies: "exposed",
    reason: "it has fewer than 8 characters",
    isBroken: (token) => [...token].length < 8,
  },
  {
    applies: "known",
    reason: "it has fewer than 16 characters",
    isBroken: (token) => [...token].length < 16,
  },
  {
    applies: "known",
    reason: 'it starts with "ott_", which marks one-time links',
    isBroken: (token) => token.startsWith("ott_"),
  },
  {
    applies: "chosen",
    reason: "it may contain only printable ASCII characters without spaces",
    isBroken: (token) => !/^[\x21-\x7e]+$/.test(token),
  },
  {
    // `openssl rand -base64 64` writes two lines.
    applies: "known",
    reason: "it contains a line break or another control character, which headers cannot transmit",
    isBroken: (token) => /\p{Cc}/u.test(token),
  },
  {
    applies: "chosen",
    reason: "it has more than 256 characters",
    isBroken: (token) => token.length > 256,
  },
  {
    applies: "chosen",
    reason: "it is one character repeated",
    isBroken: (token) => /^(.)\1+$/s.test(token),
  },
  {
    // Other channels transmit tokens in their own ways, often defined by third parties.
    applies: "known",
    reason:
      "browsers cannot send its characters as `token.<value>`; " +
      "they can use `token64.<base64url>`",
    isBroken: (token, name) => name === "pico" && !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(token),
  },
];
function brokenRule(
  token: string,
  name: TokenName,
  ...applies: readonly TokenRule["applies"][]
): string | undefined {
  const isBroken = (rule: TokenRule) =>
    applies.includes(rule.applies) && rule.isBroken(token, name);
  return rules.find(isBroken)?.reason;
}

/**
 * Checks a token that a user chooses on a page or on the command line.
 *
 * @returns Why the token cannot be used, or undefined if it can.
 */
export const weakTokenReason = (token: string): string | undefined =>
  brokenRule(token, "", "known", "chosen");

/**
 * Checks a token from a file, the environment, a host or another node.
 *
 * @returns A warning about a token that works with restrictions, or undefined.
 */
export const tokenWarning = (name: string, token: string): string | undefined =>
  brokenRule(token, name, "known");

/**
 * Checks a token from a file, the environment, a host or another node.
 *
 * @param isExposed - True if other machines can connect.
 * @returns Why the token cannot be used, or undefined if it can.
 */
export const unusableReason = (token: string, isExposed: boolean): string | undefined =>
  isExposed ? brokenRule(token, "", "exposed") : undefined;

/**
 * Generates a token of 32 random bytes.
 *
 * @returns For the launcher base64url (43 characters), otherwise hexadecimal (64 characters).
 */
export function generateToken(name: string, random: (bytes: number) => Uint8Array): string {
  return Buffer.from(random(32)).toString(name === "launcher" ? "base64url" : "hex");
}
