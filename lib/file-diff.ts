// Compares two texts line by line, for pages and terminals.
import { structuredPatch } from "diff";

export interface DiffLine {
  readonly sign: "+" | "-" | " ";
  readonly text: string;
}

/** Lines of a comparison: unchanged ones that are folded, or lines that are shown. */
export type DiffBlock =
  | { readonly kind: "folded"; readonly lines: readonly string[] }
  | { readonly kind: "shown"; readonly lines: readonly DiffLine[] };

/** Longer texts are not compared. */
export const maxDiffLines = 2_000;

/**
 * Added and removed lines. Work is counted, not time, so that slow machines show the same. Texts
 * that differ more are shown one after the other.
 */
const maxEditLength = 800;
/** Unchanged lines around a change. */
const context = 3;

const linesOf = (text: string): readonly string[] =>
  text === "" ? [] : text.replace(/\n$/, "").split("\n");

const signs = ["+", "-", " "] as const;
const toLine = (line: string): readonly DiffLine[] => {
  const sign = signs.find((each) => line.startsWith(each));
  return sign === undefined ? [] : [{ sign, text: line.slice(1) }];
};

const signed = (sign: DiffLine["sign"], lines: readonly string[]): DiffLine[] =>
  lines.map((text) => ({ sign, text }));

/** @returns The number of equal lines at the beginning. */
function countEqual(before: readonly string[], after: readonly string[]): number {
  const differs = after.findIndex((text, at) => text !== before[at]);
  return differs === -1 ? after.length : differs;
}

/** Everything between the equal lines at both ends: removed, then added. */
function replaced(before: readonly string[], after: readonly string[]): readonly DiffBlock[] {
  const start = countEqual(before, after);
  const most = Math.min(before.length, after.length) - start;
  const end = Math.min(most, countEqual(before.toReversed(), after.toReversed()));
  const lines = [
    ...signed(" ", after.slice(Math.max(0, start - context), start)),
    ...signed("-", before.slice(start, before.length - end)),
    ...signed("+", after.slice(start, after.length - end)),
    ...signed(" ", after.slice(after.length - end).slice(0, context)),
  ];
  const blocks: readonly DiffBlock[] = [
    { kind: "folded", lines: after.slice(0, Math.max(0, start - context)) },
    { kind: "shown", lines },
    { kind: "folded", lines: after.slice(after.length - end).slice(context) },
  ];
  return blocks.filter((block) => block.lines.length > 0);
}

/** @returns Undefined if one of the texts is too long. */
export function diffBlocks(before: string, after: string): readonly DiffBlock[] | undefined {
  const lines = linesOf(after);
  const old = linesOf(before);
  if (Math.max(lines.length, old.length) > maxDiffLines) return undefined;
  const patch = structuredPatch("", "", before, after, "", "", { context, maxEditLength });
  if (!patch) return replaced(old, lines);
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

/** Counts the added and the removed lines. */
export function countChanges(blocks: readonly DiffBlock[]): { added: number; removed: number } {
  const all = blocks.flatMap((block) => (block.kind === "shown" ? block.lines : []));
  const count = (sign: string): number => all.filter((line) => line.sign === sign).length;
  return { added: count("+"), removed: count("-") };
}

/** @returns At most `room`: the end of lines that does not part a change. */
function cutBefore(lines: readonly DiffLine[], room: number): number {
  const isChange = (at: number): boolean => lines[at] !== undefined && lines[at].sign !== " ";
  let cut = room;
  while (cut > 0 && isChange(cut) && isChange(cut - 1)) cut -= 1;
  return cut;
}

/** Splits blocks after this many shown lines; a folded block counts as one. */
export function splitBlocks(
  blocks: readonly DiffBlock[],
  max: number,
): readonly [first: readonly DiffBlock[], rest: readonly DiffBlock[]] {
  const first: DiffBlock[] = [];
  let room = max;
  for (const [at, block] of blocks.entries()) {
    const size = block.kind === "folded" ? 1 : block.lines.length;
    if (size <= room) {
      first.push(block);
      room -= size;
      continue;
    }
    if (block.kind === "folded") return [first, blocks.slice(at)];
    const cut = cutBefore(block.lines, room) || (first.length === 0 ? room : 0);
    if (cut === 0) return [first, blocks.slice(at)];
    first.push({ kind: "shown", lines: block.lines.slice(0, cut) });
    const rest: DiffBlock = { kind: "shown", lines: block.lines.slice(cut) };
    return [first, [rest, ...blocks.slice(at + 1)]];
  }
  return [first, []];
}

/** Groups lines: unchanged ones, or a change with its removed lines first. */
export function toRuns(lines: readonly DiffLine[]): readonly (readonly DiffLine[])[] {
  const runs: DiffLine[][] = [];
  let last: boolean | undefined;
  for (const line of lines) {
    const isChange = line.sign !== " ";
    if (isChange === last) runs.at(-1)!.push(line);
    else runs.push([line]);
    last = isChange;
  }
  return runs;
}
