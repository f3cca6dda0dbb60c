import { describe, expect, test } from "vitest";
import { codeLines, filesUnder, linesThat, read, sources } from "./source.ts";

describe("size", () => {
  test("the kernel stays under 1,200 lines of code", () => {
    const kernel = sources().filter(
      ({ path }) => path.startsWith("kernel/") && path !== "kernel/testing.ts",
    );
    expect(kernel.reduce((sum, { text }) => sum + codeLines(text), 0)).toBeLessThan(1_200);
  });

  test("a file is short enough to be read at once", () => {
    const lengths = sources().map(
      ({ path, text }) => [path, text.trimEnd().split("\n").length] as const,
    );
    expect(lengths.filter(([, lines]) => lines > 350)).toEqual([]);
  });

  test("a line fits a screen", () => {
    const own = filesUnder(
      ["kernel", "lib", "plugins", "config", "bin", "testkit", "examples", "tests/rules"],
      /\.(ts|mjs)$/,
    );
    expect(own.flatMap((path) => linesThat((line) => line.length > 120, path, read(path)))).toEqual(
      [],
    );
  });

  test("the pages for authors of programs and of channels are read in minutes", () => {
    expect(read("docs/programs.md").trimEnd().split("\n").length).toBeLessThanOrEqual(110);
    expect(read("docs/write-a-channel.md").trimEnd().split("\n").length).toBeLessThan(210);
  });

  test("comments and blank lines are not counted", () => {
    expect(
      codeLines("/* a\n b */\n\n// c\nconst d = 1; // e\n  /** f */\nconst g = `\nh // i\n\n`;\n"),
    ).toBe(4);
  });
});
