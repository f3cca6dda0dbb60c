/** Finds formulas in markdown: `$…$`, `$$…$$`, `\(…\)` and `\[…\]`. @module */
import type { Tokens } from "marked";

/** A formula between its marks. */
export interface MathToken extends Tokens.Generic {
  readonly type: "math";
  /** TeX, without the marks. */
  readonly text: string;
  /** True for a formula in a line of its own. */
  readonly isBlock: boolean;
}

/** Longer formulas stay source. */
const maxLength = 10_000;

const marks = [
  ["$$", "$$", true],
  ["\\[", "\\]", true],
  ["\\(", "\\)", false],
  ["$", "$", false],
] as const;

/** Tells a formula from prices: "$5 and $6", "5 $ or 6 $". */
const isPrice = (text: string, after: string): boolean =>
  /^\s|\s$/.test(text) || /^\d/.test(after) || text.includes("\n");

/** Reads a formula at the beginning of the text. It contains no blank line. */
export function readMath(source: string): MathToken | undefined {
  if (source[0] !== "$" && source[0] !== "\\") return undefined;
  const found = marks.find(([open]) => source.startsWith(open));
  if (!found) return undefined;
  const [open, close, isBlock] = found;
  const end = source.slice(0, maxLength).indexOf(close, open.length);
  if (end < 0) return undefined;
  const text = source.slice(open.length, end);
  const after = source.slice(end + close.length, end + close.length + 1);
  if (text.trim() === "" || /\n[ \t]*\n/.test(text)) return undefined;
  if (open === "$" && isPrice(text, after)) return undefined;
  return { type: "math", raw: source.slice(0, end + close.length), text, isBlock };
}

/** A formula that is a block: nothing follows its marks in the line. */
export function readMathBlock(source: string): MathToken | undefined {
  const token = readMath(source);
  if (!token?.isBlock) return undefined;
  const end = /^[ \t]{0,20}(?:\n|$)/.exec(source.slice(token.raw.length));
  return end ? { ...token, raw: token.raw + end[0] } : undefined;
}

/** Where a formula may begin, so that the lexer ends a text there. */
export const startOfMath = (source: string): number | undefined => {
  const at = source.search(/\$|\\[([]/);
  return at < 0 ? undefined : at;
};
