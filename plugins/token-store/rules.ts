/** What a person may choose as a token (pages, command line). Undefined: it may be used. */
export function weakTokenReason(token: string): string | undefined {
  if (token.length < 16) return "it has fewer than 16 characters";
  if (token.length > 256) return "it has more than 256 characters";
  if (!/^[\x21-\x7e]+$/.test(token))
    return "it may hold printable ASCII characters without spaces only";
  if (/^(.)\1+$/s.test(token)) return "it is one character repeated";
  if (token.startsWith("ott_")) return 'it starts with "ott_", which marks one-time links';
  return undefined;
}

/** What is accepted from a file or the environment, yet worth a warning. */
export function tokenWarning(name: string, token: string): string | undefined {
  if ([...token].length < 16) return "it has fewer than 16 characters";
  if (token.startsWith("ott_")) return 'it starts with "ott_", which marks one-time links';
  // `openssl rand -base64 64` writes two lines.
  if (/\p{Cc}/u.test(token))
    return "it holds a line break or another control character, which no header can carry";
  // Other channels have their own ways, and often somebody else's rules.
  if (name === "pico" && !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(token)) {
    return "browsers cannot send its characters as `token.<value>`; they can use `token64.<base64url>`";
  }
  return undefined;
}

/** So short that somebody who can try will find it. */
export const isGuessable = (token: string): boolean => [...token].length < 8;

/** What no edit of a file may bring in while the service runs. Undefined: it may be used. */
export function invalidTokenReason(token: string): string | undefined {
  if (isGuessable(token)) return "it has fewer than 8 characters";
  return /\p{Cc}/u.test(token) ? "it holds a control character" : undefined;
}

/** Launcher: 32 bytes base64url (43 characters); every other token: 32 bytes hex (64 characters). */
export function generateToken(name: string, random: (bytes: number) => Uint8Array): string {
  return Buffer.from(random(32)).toString(name === "launcher" ? "base64url" : "hex");
}
