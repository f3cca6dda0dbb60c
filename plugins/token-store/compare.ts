import { createHmac, hash, timingSafeEqual } from "node:crypto";

// UTF-16 keeps unpaired surrogates apart, which UTF-8 would all turn into one replacement character.
const digest = (text: string): Buffer => hash("sha256", Buffer.from(text, "utf16le"), "buffer");

export interface TokenComparison {
  /** Constant time: digests of equal length, no early exit. */
  matches(candidate: string): boolean;
  derive(salt: Uint8Array): Uint8Array;
}

/** Holds a token so that it can be compared and derived from. */
export function createComparison(token: string): TokenComparison {
  const expected = digest(token);
  return {
    matches: (candidate) => timingSafeEqual(digest(candidate.trim()), expected),
    derive: (salt) => createHmac("sha256", salt).update(token, "utf8").digest(),
  };
}
