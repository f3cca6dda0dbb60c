/** Shows what a text hides: controls, direction overrides and invisible characters. @module */

/**
 * Controls, formats, separators of lines, halves of characters, and all that programs may leave out
 * when they draw a text: fillers, joiners and selectors. A line break and a tab are not hidden.
 */
const hidden = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/gu;
/** Letters that need no joiners. */
const plain = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]/u;
const joined = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f\p{L}\p{M}]/u;

/** True for a joiner of an emoji or of a script that needs it, and for the selector of an emoji. */
function belongs(character: string, before: string, after: string): boolean {
  if (/[\u200c\u200d]/.test(character))
    return joined.test(before) && !plain.test(before) && !plain.test(after);
  if (/[\ufe0e\ufe0f]/.test(character))
    return /\p{Extended_Pictographic}/u.test(before) || after === "\u20e3";
  return /[\u180b-\u180f]/.test(character) && /\p{Script=Mongolian}/u.test(before);
}

/** @returns The text with at most one blank line in a row, so that nothing moves out of sight. */
export const foldBlankLines = (text: string): string =>
  text.replaceAll(/\n(?:[^\S\n]*\n){2,}/g, "\n\n");

/** @returns The text with its hidden characters as code points, for example `⟨U+202E⟩`. */
export const visibleText = (text: string): string =>
  text.replaceAll("\r\n", "\n").replace(hidden, (character, at: number, all: string) => {
    const before = [...all.slice(Math.max(0, at - 2), at)].at(-1) ?? "";
    const [after = ""] = all.slice(at + character.length, at + character.length + 2);
    if (belongs(character, before, after)) return character;
    const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
    return `⟨U+${code}⟩`;
  });
