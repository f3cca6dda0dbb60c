// Divides the text of an answer into parts, and no surrogate pair.

const maxPieceLength = 64 * 1024;

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

/** A part small enough for the progress of a slow reader to be visible. */
export function pieceOf(text: string, from: number, upTo: number): string {
  const end = Math.min(upTo, from + maxPieceLength);
  const cut = end < upTo && isHighSurrogate(text.charCodeAt(end - 1)) ? 1 : 0;
  return text.slice(from, end - cut);
}

/** The end of the text that a reader may have: a surrogate pair is not divided. */
export const upToOf = (text: string): number =>
  text.length - (isHighSurrogate(text.charCodeAt(text.length - 1)) ? 1 : 0);
