/** Finds footnotes in markdown: `[^1]`, and its text in a line that begins with `[^1]:`. @module */
import type { TokenizerThis, Tokens } from "marked";

/** A mark in the text, or the note itself. */
export interface FootnoteToken extends Tokens.Generic {
  readonly type: "footnote" | "footnoteMark";
  /** Name of the note, as the application chose it. */
  readonly id: string;
}

/** A note with its continued lines, which are indented. */
const note = new RegExp(
  /^ {0,3}\[\^([^\]\s]{1,40})\]:[ \t]{0,20}/.source +
    /(.{0,4000}(?:\n(?: {2,4}|\t)\S.{0,4000}){0,50})(?:\n{1,9}|$)/.source,
);
const reference = /^\[\^([^\]\s]{1,40})\]/;

/** Names of the notes by the lexer of their text. It reads all blocks before their words. */
const known = new WeakMap<object, Set<string>>();

export function readNote(this: TokenizerThis, source: string): FootnoteToken | undefined {
  const [raw, id, text] = note.exec(source) ?? [];
  if (raw === undefined || id === undefined || text === undefined) return undefined;
  const ids = known.get(this.lexer) ?? new Set();
  known.set(this.lexer, ids.add(id));
  return { type: "footnote", raw, id, tokens: this.lexer.inline(text.replace(/\n\s+/g, "\n")) };
}

/** A mark without its note stays text. */
export function readMark(this: TokenizerThis, source: string): FootnoteToken | undefined {
  const [raw, id] = reference.exec(source) ?? [];
  if (raw === undefined || id === undefined || !known.get(this.lexer)?.has(id)) return undefined;
  return { type: "footnoteMark", raw, id };
}

/** Where a mark may begin, so that the lexer ends a text there. */
export const startOfMark = (source: string): number | undefined => {
  const at = source.indexOf("[^");
  return at < 0 ? undefined : at;
};
