/** Finds folded parts in markdown: `<details>` with a `<summary>`. @module */
import type { Token, TokenizerThis, Tokens } from "marked";

/** A part that the reader opens. */
export interface DetailsToken extends Tokens.Generic {
  readonly type: "details";
  readonly summary: Token[];
  readonly tokens: Token[];
  /** False while the closing tag is missing: the part is the rest of the text. */
  readonly isClosed: boolean;
}

const opening = /^<details(?: open)?>\s{0,99}(?:<summary>([^<]{0,2000}?)<\/summary>)?/i;
/** Tags in code do not count. */
const mark = /^ {0,3}(?:```|~~~)|<(\/?)details(?: open)?>/gim;
const restOfLine = /^[ \t]{0,20}(?:\n{1,9}|$)/;

/** @returns Where the closing tag begins and ends; undefined without one. */
function findEnd(source: string): readonly [start: number, end: number] | undefined {
  let depth = 0;
  let isCode = false;
  for (const { index, 0: found, 1: slash } of source.matchAll(mark)) {
    if (slash === undefined) isCode = !isCode;
    else if (!isCode) depth += slash === "" ? 1 : -1;
    if (depth === 0 && !isCode) return [index, index + found.length];
  }
  return undefined;
}

export function readDetails(this: TokenizerThis, source: string): DetailsToken | undefined {
  const [head, summary = "Details"] = opening.exec(source) ?? [];
  if (head === undefined) return undefined;
  const [start, end] = findEnd(source) ?? [source.length, source.length];
  const [after] = restOfLine.exec(source.slice(end)) ?? [""];
  const tokens = this.lexer.blockTokens(source.slice(head.length, start).trim(), []);
  return {
    type: "details",
    raw: source.slice(0, end) + after,
    summary: this.lexer.inline(summary.trim()),
    tokens,
    isClosed: start < end,
  };
}
