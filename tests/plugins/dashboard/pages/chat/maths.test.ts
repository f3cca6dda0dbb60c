// Tests formulas in markdown: their marks, limits of time, and elements without addresses.
import fc from "fast-check";
import type { Token } from "marked";
import type { VNode } from "preact";
import { describe, expect, test } from "vitest";
import {
  childrenOf,
  lexBounded,
} from "../../../../../plugins/dashboard/pages/chat/markdown/lexer.ts";
import { drawFormula } from "../../../../../plugins/dashboard/pages/chat/markdown/mathml.ts";

const all = (tokens: readonly Token[]): readonly Token[] =>
  tokens.flatMap((token) => [token, ...all(childrenOf(token))]);
const formulas = (text: string) =>
  all(lexBounded(text)).flatMap((token) => (token.type === "math" ? [token.raw.trim()] : []));

describe("lexBounded with formulas", () => {
  test.each([
    ["$x$ and $$y$$", ["$x$", "$$y$$"]],
    ["\\(x\\) and \\[y\\]", ["\\(x\\)", "\\[y\\]"]],
    ["$$\na\n- b\n= c\n$$\ntext", ["$$\na\n- b\n= c\n$$"]],
    ["It costs $5, $6 or 7 $.", []],
    ["`$x$` and \\$x\\$", []],
    ["$$open", []],
    ["$a\n\nb$", []],
  ])("finds those of %j", (text, expected) => {
    expect(formulas(text)).toEqual(expected);
  });

  test("never changes the source", () => {
    const piece = fc.constantFrom("$", "$$", "\\(", "\\)", "\\[", "\\]", "x", " ", "\n", "`");
    const texts = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(texts, (text) => {
        expect(
          lexBounded(text)
            .map(({ raw }) => raw)
            .join(""),
        ).toBe(text);
      }),
    );
  });

  test.each(["$", "$a", "\\(", "\\[\n", "$$a ", "$$\n"])("ends soon for many %j", (piece) => {
    const beganAt = performance.now();
    lexBounded(piece.repeat(64 * 1024));
    expect(performance.now() - beganAt).toBeLessThan(2_000);
  });
});

interface Drawn {
  readonly type: string;
  readonly props: { readonly href?: string; readonly children?: unknown };
}
const namesOf = (node: unknown): readonly string[] => {
  if (Array.isArray(node)) return node.flatMap(namesOf);
  if (typeof node !== "object" || node === null) return [];
  const { type, props } = node as Drawn & VNode;
  return [type, ...Object.keys(props), ...namesOf(props.children)];
};

describe("drawFormula", () => {
  test("draws elements of MathML", () => {
    expect(namesOf(drawFormula("\\frac{1}{x^2}", true))).toContain("mfrac");
  });

  test.each([
    "\\href{javascript:alert(1)}{x}",
    "\\includegraphics{x.png}",
    "\\notacommand",
    "\\frac{1}",
    "\\def\\a{\\a\\a}\\a",
    "{".repeat(5_000) + "}".repeat(5_000),
  ])("draws nothing active or endless: %#", (tex) => {
    const beganAt = performance.now();
    const names = namesOf(drawFormula(tex, false));
    expect(performance.now() - beganAt).toBeLessThan(1_000);
    expect(names).not.toContain("href");
    expect(names).not.toContain("src");
    expect(names).not.toContain("a");
  });

  test("draws as many elements on every machine", () => {
    const sum = (terms: number): string => `${"\\frac{a}{b}+".repeat(terms)}1`;
    expect(namesOf(drawFormula(sum(300), true)).filter((name) => name === "mfrac")).toHaveLength(
      300,
    );
    expect(drawFormula(sum(800), true)).toBeUndefined();
  });
});
