/** Rules for token values: minimum strength, warnings and generated tokens. */

/**
 * Checks a token that a user chooses on a page or on the command line.
 *
 * @returns Why the token cannot be used, or undefined if it can.
 */
export function weakTokenReason(token: string): string | undefined {
  if (token.length < 16) return "it has fewer than 16 characters";
  if (token.length > 256) return "it has more than 256 characters";
  if (!/^[\x21-\x7e]+$/.test(token))
    return "it may contain only printable ASCII characters without spaces";
  if (/^(.)\1+$/s.test(token)) return "it is one character repeated";
  if (token.startsWith("ott_")) return 'it starts with "ott_", which marks one-time links';
  return undefined;
}

/**
 * Checks a token from a file or from the environment.
 *
 * @returns A warning about a token that works with restrictions, or undefined.
 */
export function tokenWarning(name: string, token: string): string | undefined {
  if ([...token].length < 16) return "it has fewer than 16 characters";
  if (token.startsWith("ott_")) return 'it starts with "ott_", which marks one-time links';
  // `openssl rand -base64 64` writes two lines.
  if (/\p{Cc}/u.test(token))
    return "it contains a line break or another control character, which headers cannot transmit";
  // Other channels transmit tokens in their own ways, often defined by third parties.
  if (name === "pico" && !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(token)) {
    return (
      "browsers cannot send its characters as `token.<value>`; " +
      "they can use `token64.<base64url>`"
    );
  }
  return undefined;
}

/** Returns whether a remote attacker could guess the token within the rate limits. */
export const isGuessable = (token: string): boolean => [...token].length < 8;

/**
 * Checks a token that an edit of a file brings in while the program runs.
 *
 * @returns Why the token is rejected, or undefined.
 */
export function invalidTokenReason(token: string): string | undefined {
  if (isGuessable(token)) return "it has fewer than 8 characters";
  return /\p{Cc}/u.test(token) ? "it contains a control character" : undefined;
}

/**
 * Generates a token of 32 random bytes.
 *
 * @returns For the launcher base64url (43 characters), otherwise hexadecimal (64 characters).
 */
export function generateToken(name: string, random: (bytes: number) => Uint8Array): string {
  return Buffer.from(random(32)).toString(name === "launcher" ? "base64url" : "hex");
}
