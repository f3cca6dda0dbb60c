import { describe, expect, test } from "vitest";
import {
  countChanges,
  diffBlocks,
  splitBlocks,
  toRuns,
  type DiffBlock,
} from "../../lib/file-diff.ts";

const numbered = (count: number, prefix = ""): string =>
  Array.from({ length: count }, (_, at) => `${prefix}${at}\n`).join("");
const sizes = (blocks: readonly DiffBlock[]) =>
  blocks.map(({ kind, lines }) => [kind, lines.length]);

describe("diffBlocks", () => {
  test("folds the lines far from a change", () => {
    const blocks = diffBlocks(numbered(20), numbered(20).replace("10\n", "ten\n"))!;
    expect(sizes(blocks)).toEqual([
      ["folded", 7],
      ["shown", 8],
      ["folded", 6],
    ]);
  });

  test("shows new files and emptied files", () => {
    const lines = (sign: string) => [{ kind: "shown", lines: [{ sign, text: "a" }] }];
    expect(diffBlocks("", "a\n")).toEqual(lines("+"));
    expect(diffBlocks("a\n", "")).toEqual(lines("-"));
  });

  test("compares two different files of 2,000 lines and no longer ones", () => {
    expect(diffBlocks(numbered(2_000, "a"), numbered(2_000, "b"))).toHaveLength(1);
    expect(diffBlocks(numbered(2_001), "")).toBeUndefined();
  });

  test("compares up to 800 changed lines, and replaces the middle of others", () => {
    const around = (middle: string): string => `${numbered(9)}${middle}${numbered(9, "z")}`;
    const few = (prefix: string): string =>
      Array.from({ length: 400 }, (_, at) => `${prefix}${at}\nsame ${at}\n`).join("");
    const more = (prefix: string): string => `${few(prefix)}${prefix}\nend\n`;
    const kept = (blocks: readonly DiffBlock[]): number =>
      blocks
        .flatMap((block) => (block.kind === "shown" ? block.lines : []))
        .filter(({ text }) => text.startsWith("same")).length;
    expect(kept(diffBlocks(around(few("a")), around(few("b")))!)).toBe(400);
    const blocks = diffBlocks(around(more("a")), around(more("b")))!;
    // The last line of the middle, "end", is equal.
    expect(sizes(blocks)).toEqual([
      ["folded", 6],
      ["shown", 3 + 801 + 801 + 3],
      ["folded", 7],
    ]);
  });

  test("never overlaps the equal lines at both ends", () => {
    const text = (count: number): string => "a\n".repeat(count);
    const blocks = diffBlocks(text(10), text(1_000))!;
    expect(countChanges(blocks)).toEqual({ added: 990, removed: 0 });
  });
});

describe("splitBlocks", () => {
  const blocks: readonly DiffBlock[] = [
    { kind: "folded", lines: ["a", "b"] },
    {
      kind: "shown",
      lines: [
        { sign: "-", text: "c" },
        { sign: "+", text: "d" },
      ],
    },
  ];
  test.each([
    [
      3,
      [
        ["folded", 2],
        ["shown", 2],
      ],
      [],
    ],
    [2, [["folded", 2]], [["shown", 2]]],
    [1, [["folded", 2]], [["shown", 2]]],
  ])("splits after %i lines", (max, first, rest) => {
    expect(splitBlocks(blocks, max).map(sizes)).toEqual([first, rest]);
  });

  test("parts a change only if nothing precedes it", () => {
    const lines = [..."..-+-+.."].map((sign) => ({
      sign: (sign === "." ? " " : sign) as " ",
      text: "",
    }));
    const split = (max: number, from = 0) =>
      splitBlocks([{ kind: "shown", lines: lines.slice(from) }], max).map(sizes);
    expect(split(4)).toEqual([[["shown", 2]], [["shown", 6]]]);
    expect(split(3, 2)).toEqual([[["shown", 3]], [["shown", 3]]]);
  });
});

test("toRuns separates changes from unchanged lines", () => {
  const lines = [..." -+ +"].map((sign) => ({ sign: sign as " ", text: "" }));
  expect(toRuns(lines).map((run) => run.map(({ sign }) => sign).join(""))).toEqual([
    " ",
    "-+",
    " ",
    "+",
  ]);
});
