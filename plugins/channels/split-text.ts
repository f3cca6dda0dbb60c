/** Splits a text for a network that limits the length of a message. */

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });
/** Characters in which the end of a grapheme is sought. */
const graphemeWindow = 64;
/** Places to split, the best one first. A split is after the separator. */
const separators = ["\n\n", "\n", " "] as const;

/** @returns The length of the first part of `text`, which is longer than `maxLength`. */
function firstPartLength(text: string, maxLength: number): number {
  for (const separator of separators) {
    const end = text.lastIndexOf(separator, maxLength - separator.length) + separator.length;
    if (end > maxLength / 2) return end;
  }
  const from = Math.max(0, maxLength - graphemeWindow);
  const window = text.slice(from, maxLength + graphemeWindow);
  const start = from + (graphemes.segment(window).containing(maxLength - from)?.index ?? 0);
  if (start > from) return start;
  const isPair = /[\uD800-\uDBFF]/.test(text.charAt(maxLength - 1));
  return isPair ? maxLength - 1 : maxLength;
}

/**
 * Splits a text at the end of a paragraph, a line or a word, and otherwise between two graphemes.
 * The parts joined are the text. The parts of a text that grows stay the same, except the last one.
 *
 * @param maxLength - Longest part in UTF-16 code units; at least 2.
 * @returns The parts in order; one part for an empty text.
 * @example
 * import { splitText } from "doorward/plugins/channels";
 * splitText("one two three", 8); // ["one two ", "three"]
 */
export function splitText(text: string, maxLength: number): string[] {
  const limit = Math.max(2, Math.floor(maxLength));
  const parts: string[] = [];
  let start = 0;
  while (text.length - start > limit) {
    const candidate = text.slice(start, start + limit + graphemeWindow);
    const end = start + firstPartLength(candidate, limit);
    parts.push(text.slice(start, end));
    start = end;
  }
  parts.push(text.slice(start));
  return parts;
}
