/** Compares two texts line by line. @module */
import { structuredPatch } from "diff";

/** Lines of a comparison: unchanged ones that are folded, or lines that are shown. */
export type DiffBlock =
  | { readonly kind: "folded"; readonly lines: readonly string[] }
  | { readonly kind: "shown"; readonly lines: readonly DiffLine[] };

interface DiffLine {
  readonly sign: "+" | "-" | " ";
  readonly text: string;
}

/** Longer texts are not compared. */
export const maxDiffLines = 2_000;

const linesOf = (text: string): readonly string[] =>
  text === "" ? [] : text.replace(/\n$/, "").split("\n");

const signs = ["+", "-", " "] as const;
const toLine = (line: string): readonly DiffLine[] => {
  const sign = signs.find((each) => line.startsWith(each));
  return sign === undefined ? [] : [{ sign, text: line.slice(1) }];
};

/** The page reacts in the meantime. Texts that differ more are shown one after the other. */
const maxMs = 50;

/** @returns Undefined if one of the texts is too long. */
export function diffBlocks(before: string, after: string): readonly DiffBlock[] | undefined {
  const lines = linesOf(after);
  if (Math.max(lines.length, linesOf(before).length) > maxDiffLines) return undefined;
  const options = { context: 3, timeout: maxMs };
  const patch = structuredPatch("", "", before, after, "", "", options);
  if (!patch) {
    const removed = linesOf(before).map((text) => ({ sign: "-", text }) as const);
    const added = lines.map((text) => ({ sign: "+", text }) as const);
    return [{ kind: "shown", lines: [...removed, ...added] }];
  }
  const blocks: DiffBlock[] = [];
  let at = 0;
  const fold = (end: number): void => {
    if (end > at) blocks.push({ kind: "folded", lines: lines.slice(at, end) });
  };
  for (const { newStart, newLines, lines: changed } of patch.hunks) {
    const start = newStart - 1;
    fold(start);
    blocks.push({ kind: "shown", lines: changed.flatMap(toLine) });
    at = start + newLines;
  }
  fold(lines.length);
  return blocks;
}
