/** Shows what a text hides: controls, direction overrides and invisible characters. @module */

/**
 * Controls, formats, separators of lines, and halves of characters. A line break, a tab, and the
 * joiners of emoji and scripts stay as they are.
 */
const hidden = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** @returns The text with its hidden characters as code points, for example `⟨U+202E⟩`. */
export const visibleText = (text: string): string =>
  text.replaceAll("\r\n", "\n").replace(hidden, (character) => {
    const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
    return `⟨U+${code}⟩`;
  });
