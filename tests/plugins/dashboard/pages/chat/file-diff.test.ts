import { describe, expect, test } from "vitest";
import { diffBlocks } from "../../../../../plugins/dashboard/pages/chat/details/file-diff.ts";

const numbered = (count: number, prefix = ""): string =>
  Array.from({ length: count }, (_, at) => `${prefix}${at}\n`).join("");

describe("diffBlocks", () => {
  test("folds the lines far from a change", () => {
    const blocks = diffBlocks(numbered(20), numbered(20).replace("10\n", "ten\n"))!;
    expect(blocks.map(({ kind, lines }) => [kind, lines.length])).toEqual([
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
});
