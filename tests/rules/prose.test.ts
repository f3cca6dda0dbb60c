import { describe, expect, test } from "vitest";
import { markdownProse, sourceProse, testTitles, type Prose } from "./prose.ts";

const texts = (prose: readonly Prose[]): string[] => prose.map(({ text }) => text);

describe("sourceProse", () => {
  test("joins consecutive line comments and names their first line", () => {
    expect(sourceProse("a.ts", "let a;\n// One sentence\n// on two lines.\n\n// Another.")).toEqual(
      [
        { line: 2, text: "One sentence on two lines." },
        { line: 5, text: "Another." },
      ],
    );
  });

  test("splits block comments into paragraphs and tags", () => {
    const source = "/**\n * A client\n * connects.\n *\n * @returns The client.\n */\nlet a;";
    expect(texts(sourceProse("a.ts", source))).toEqual([
      "A client connects.",
      "@returns The client.",
    ]);
  });

  test("reads strings, templates and JSX, and leaves identifiers out", () => {
    const source =
      'const a = "a-name", b = "Two words", c = `${a} of ${b}`, d = <p title="t">Press {a}</p>;';
    expect(texts(sourceProse("a.tsx", source))).toEqual(["Two words", "X of X", "Press"]);
  });

  test("reads the text of HTML and the attributes that people see", () => {
    const source = '`<li class="big item"><b>Two</b> words</li><p title="A hint">Three</p>`;';
    expect(texts(sourceProse("a.ts", source))).toEqual(["Two words", "Three", "A hint"]);
  });

  test("replaces code, URLs and paths", () => {
    const source = "// See `x.y`, https://example.org/path and plugins/file.ts for (a) client.";
    expect(texts(sourceProse("a.ts", source))).toEqual(["See X, X and X for (a) client."]);
  });

  test("fails for a file that does not parse", () => {
    expect(() => sourceProse("a.ts", "let 1 = ;")).toThrow("a.ts");
  });
});

describe("markdownProse", () => {
  test("separates headings, paragraphs, list items and cells", () => {
    const page =
      "# Title\n\nOne\nline.\n- An [item](x.md)\n- **B**\n\n| a | b |\n|---|---|\n| c | d |\n";
    expect(markdownProse(page)).toEqual([
      { line: 1, text: "Title" },
      { line: 3, text: "One line." },
      { line: 5, text: "An item" },
      { line: 6, text: "B" },
      { line: 8, text: "a" },
      { line: 8, text: "b" },
      { line: 10, text: "c" },
      { line: 10, text: "d" },
    ]);
  });

  test("skips fenced code, code spans and comments", () => {
    const page = "A `code` span.\n```sh\necho hello\n```\n<!-- not\nshown -->\nEnd.";
    expect(texts(markdownProse(page))).toEqual(["A X span.", "End."]);
  });
});

describe("testTitles", () => {
  test("finds the titles of all forms of test", () => {
    const source =
      'test("a", f); it.each([1])("b", f); test.skipIf(x).concurrent(`c ${d}`, f); /x/.test(s, t);';
    expect(testTitles("a.ts", source).map(({ text }) => text)).toEqual(["a", "b", "c X"]);
  });
});
