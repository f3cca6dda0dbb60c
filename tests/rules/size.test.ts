// Limits the size of the kernel, and of files, functions and lines.
import { parseSync, Visitor } from "rolldown/utils";
import { describe, expect, test } from "vitest";
import { codeLines, filesUnder, linesThat, read, sources } from "./source.ts";

const maxFileLines = 600;
const maxFunctionLines = 80;
const maxColumns = 100;

const program = /\.(ts|tsx|mjs)$/;
const programs = filesUnder(
  ["kernel", "lib", "plugins", "config", "bin", "testkit", "scripts"],
  program,
);

const lineCount = (text: string): number => text.trimEnd().split("\n").length;
const wideLinesIn = (path: string, columns: number): string[] =>
  linesThat((line) => line.length > columns, path, read(path));

interface FunctionNode {
  readonly start: number;
  readonly end: number;
}

/** Returns the first line and the length of each function that is too long, closures included. */
function longFunctions(path: string, source: string): { line: number; length: number }[] {
  const found: { line: number; length: number }[] = [];
  const check = ({ start, end }: FunctionNode): void => {
    const length = source.slice(start, end).split("\n").length;
    if (length > maxFunctionLines)
      found.push({ line: source.slice(0, start).split("\n").length, length });
  };
  const { program: tree, errors } = parseSync(path, source);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]!.message}`);
  new Visitor({
    FunctionDeclaration: check,
    FunctionExpression: check,
    ArrowFunctionExpression: check,
  }).visit(tree);
  return found;
}

describe("kernel", () => {
  test("has less than 1,200 lines of code", () => {
    const kernel = sources().filter(
      ({ path }) => path.startsWith("kernel/") && path !== "kernel/testing.ts",
    );
    expect(kernel.reduce((sum, { text }) => sum + codeLines(text), 0)).toBeLessThan(1_200);
  });
});

describe("sources", () => {
  test("have at most 600 lines", () => {
    expect(programs.filter((path) => lineCount(read(path)) > maxFileLines)).toEqual([]);
  });

  test("contain no functions over 80 lines", () => {
    const found = programs.flatMap((path) =>
      longFunctions(path, read(path)).map(({ line, length }) => `${path}:${line} ${length} lines`),
    );
    expect(found).toEqual([]);
  });

  test("contain no lines over 100 columns", () => {
    expect(programs.flatMap((path) => wideLinesIn(path, maxColumns))).toEqual([]);
  });
});

describe("examples and rules", () => {
  test("contain no lines over 120 columns", () => {
    const own = filesUnder(["examples", "tests/rules"], program);
    expect(own.flatMap((path) => wideLinesIn(path, 120))).toEqual([]);
  });
});

describe("test files", () => {
  test("have at most 600 lines", () => {
    const tests = filesUnder(["tests"], program);
    expect(tests.filter((path) => lineCount(read(path)) > maxFileLines)).toEqual([]);
  });
});

describe("documentation", () => {
  const pages = filesUnder(["docs"], /\.md$/).filter((path) => !path.startsWith("docs/decisions/"));

  test("has at most 28 pages", () => {
    expect(pages.length).toBeLessThanOrEqual(28);
  });

  test("states the purpose of each page in its first sentence", () => {
    const isPurpose = /^# .+\n\nThis page (is|shows|describes|defines|lists|leads)\b/;
    expect(pages.filter((path) => !isPurpose.test(read(path)))).toEqual([]);
  });
});

describe("longFunctions", () => {
  const body = "\n".repeat(80);

  test.each([
    ["a declaration", `\nfunction a() {${body}}`],
    ["a closure", `\nconst a = () => {${body}};`],
    ["a method", `class A {\n  a() {${body}}\n}`],
  ])("finds %s", (_, text) => {
    expect(longFunctions("a.ts", text)).toEqual([{ line: 2, length: 81 }]);
  });

  test("allows 80 lines", () => {
    expect(longFunctions("a.ts", `function a() {${"\n".repeat(79)}}`)).toEqual([]);
  });
});

describe("codeLines", () => {
  test("counts no comments and blank lines", () => {
    expect(
      codeLines("/* a\n b */\n\n// c\nconst d = 1; // e\n  /** f */\nconst g = `\nh // i\n\n`;\n"),
    ).toBe(4);
  });
});
