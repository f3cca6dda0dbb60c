/** Splits long texts into parts that are handled in limited time. @module */

/** A browser takes quadratic time to lay out a long word of a script with kerning. */
const maxWord = 500;
/** Words of Chinese and Japanese are not written apart, and are laid out quickly. */
const endOfWord = /[\s\u2e80-\uffff]/;

/** @returns True if the layout of a text takes longer than its length lets expect. */
export const hasLongWord = (text: string): boolean =>
  text.length > maxWord && text.split(endOfWord).some(({ length }) => length > maxWord);

/** Places to split, the best one first. A split is after the separator. */
const separators = ["\n", " "] as const;

/**
 * @returns Parts of at most `max` characters, which end with a line or a word if possible. Parts of
 *   a text that grows stay the same, except the last one.
 */
export function splitLongText(text: string, max: number): readonly string[] {
  const parts: string[] = [];
  let start = 0;
  while (text.length - start > max) {
    const end = start + lengthOfPart(text.slice(start, start + max));
    parts.push(text.slice(start, end));
    start = end;
  }
  if (start === 0) return [text];
  parts.push(text.slice(start));
  return parts;
}

function lengthOfPart(part: string): number {
  for (const separator of separators) {
    const end = part.lastIndexOf(separator) + 1;
    if (end > part.length / 2) return end;
  }
  // Both halves of a surrogate pair belong to one part.
  return /[\uD800-\uDBFF]$/.test(part) ? part.length - 1 : part.length;
}
