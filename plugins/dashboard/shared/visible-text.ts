/** Shows what a text hides: controls, direction overrides and invisible characters. @module */

/**
 * Characters without a shape of their own, or that change the direction of others. A line break, a
 * tab, and the joiners of emoji and scripts stay as they are.
 */
const hidden =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** @returns The text with its hidden characters as code points, for example `⟨U+202E⟩`. */
export const visibleText = (text: string): string =>
  text.replaceAll("\r\n", "\n").replace(hidden, (character) => {
    const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
    return `⟨U+${code}⟩`;
  });
