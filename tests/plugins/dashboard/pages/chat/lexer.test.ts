// Tests the limits of the lexer for text of applications.
import fc from "fast-check";
import { lexer, type Token } from "marked";
import { describe, expect, test } from "vitest";
import {
  childrenOf,
  isCutToken,
  lexBounded,
  plainToken,
} from "../../../../../plugins/dashboard/pages/chat/markdown/lexer.ts";
import { createBlockLexer } from "../../../../../plugins/dashboard/pages/chat/markdown/blocks.ts";
import { expensiveTexts, markdownTexts } from "../../../../support/markdown-texts.ts";

const depthOf = (token: Token): number => 1 + Math.max(0, ...childrenOf(token).map(depthOf));
const countOf = (token: Token): number =>
  childrenOf(token).reduce((sum, child) => sum + countOf(child), 1);

const length = 50_000;
/** Milliseconds of the processor. A page may take 100 on a processor that is four times slower. */
const maxMs = 100;

function measure(text: string): number {
  const began = process.cpuUsage();
  lexBounded(text);
  return process.cpuUsage(began).user / 1_000;
}
/** The second attempt comes without a garbage collection of the first. */
const isSlow = (text: string): boolean => measure(text) > maxMs && measure(text) > maxMs;

describe("lexBounded", () => {
  test.each(Object.entries(expensiveTexts(length)))("limits %s", (_, text) => {
    expect(isSlow(text)).toBe(false);
    const tokens = lexBounded(text);
    expect(Math.max(...tokens.map(depthOf))).toBeLessThanOrEqual(2 * 32 + 2);
    expect(tokens.reduce((sum, token) => sum + countOf(token), 0)).toBeLessThanOrEqual(4_001);
  });

  test("gives the tokens of the unlimited lexer for an ordinary text", () => {
    const list = "- a\n  - **b** ~~c~~\n\n1. [x](y) http://a.b\n\n";
    const text = `# A\n\n${list}| a | b |\n|--|--:|\n| 1 | 2 |\n\n> q\n\n\`\`\`js\na\n\`\`\`\n`;
    expect(lexBounded(text)).toEqual([...lexer(text)]);
  });

  test("ends soon for any text", () => {
    fc.assert(
      fc.property(markdownTexts(length), (text) => {
        expect(isSlow(text)).toBe(false);
      }),
      { numRuns: 100 },
    );
  });

  test("shows what follows the last permitted token as plain text", () => {
    const text = "**a**\n\n".repeat(3_000);
    const tokens = lexBounded(text);
    expect(tokens.slice(0, 3).map(({ type }) => type)).toEqual(["paragraph", "space", "paragraph"]);
    expect(tokens.at(-1)?.type).toBe(plainToken);
    expect(tokens.map(({ raw }) => raw).join("")).toBe(text);
  });

  const code = Array.from({ length: 5_000 }, (_, at) => `const line${at} = "**a** ~~b~~";`).join(
    "\n",
  );
  const behind = "after **this**\n\n```\nb\n```\n";

  test.each([
    ["backticks", "before\n\n```js\n", "\n```\n\n"],
    ["longer marks with shorter ones inside", "````md\n```\n\n", "\n\n```\n````\n"],
    ["tildes", "# a\n~~~\n", "\n~~~\n"],
    ["no end", "a\n\n```\n", ""],
  ])("keeps long code whole with %s", (_, opening, closing) => {
    const text = `${opening}${code}${closing}${closing && behind}`;
    const tokens = lexBounded(text);
    expect(tokens).toEqual([...lexer(text)]);
    const reader = createBlockLexer(lexBounded);
    for (const end of [1_000, 70_000, 140_000, text.length]) reader.read(text.slice(0, end));
    const blocks = reader.read(text).map(({ token }) => token);
    expect(blocks.find(({ raw }) => raw.includes("line4999"))?.raw).toContain("line0 =");
  });

  test("marks code and tables that a limit has cut", () => {
    const texts = [
      `${"word ".repeat(10_000)}\n\n- a\n  \`\`\`\n  ${code.replaceAll("\n", "\n  ")}`,
      `|a|b|\n|-|-|\n${"|1|2|\n".repeat(5_000)}`,
    ];
    for (const text of texts) {
      const tokens = lexBounded(text);
      expect(tokens.at(-1)?.type).toBe(plainToken);
      const inside = (token: Token): readonly Token[] => [
        token,
        ...childrenOf(token).flatMap(inside),
      ];
      const kept = tokens
        .slice(0, -1)
        .flatMap(inside)
        .filter(({ type }) => type === "code" || type === "table");
      expect(kept.length).toBeGreaterThan(0);
      expect(kept.every(isCutToken)).toBe(true);
      expect(tokens.map(({ raw }) => raw).join("")).toBe(text);
    }
  });

  test("reads a growing text in a limited number of attempts", () => {
    const reader = createBlockLexer(lexBounded);
    const text = "- a\n\n".repeat(1_000);
    const began = process.cpuUsage();
    for (let end = 0; end <= text.length; end += 100) reader.read(text.slice(0, end));
    expect(process.cpuUsage(began).user / 1_000).toBeLessThan(2_000);
  });
});
