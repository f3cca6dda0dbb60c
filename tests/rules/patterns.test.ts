// Tests that no regular expression of the sources takes quadratic time.
import { parseAst } from "rolldown/parseAst";
import { describe, expect, test } from "vitest";
import { sources } from "./source.ts";

interface Pattern {
  /** File and literal. */
  readonly name: string;
  readonly source: string;
  readonly flags: string;
}

/** Patterns whose input is short whatever comes from outside: the reason for each. */
const bounded: Readonly<Record<string, string>> = {
  "plugins/dashboard/shared/format.ts /\\B(?=(\\d{3})+$)/g": "A number has at most 309 digits.",
};

/** Exponential patterns fail with the first length and cubic ones with the second. */
const lengths = [22, 400, 16_000];
const maxMs = 10;
/** With more pieces, a unit has two of them at most. */
const maxTriple = 6;

/** Calls `visit` with each object of a syntax tree. */
function walk(node: unknown, visit: (node: Readonly<Record<string, unknown>>) => void): void {
  if (typeof node !== "object" || node === null) return;
  if (!Array.isArray(node)) visit(node as Record<string, unknown>);
  for (const child of Object.values(node)) walk(child, visit);
}

function patternsOf(path: string, text: string): Pattern[] {
  const found: Pattern[] = [];
  walk(parseAst(text, { lang: path.endsWith("x") ? "tsx" : "ts" }), ({ regex }) => {
    if (!regex) return;
    const { pattern, flags } = regex as { readonly pattern: string; readonly flags: string };
    found.push({ name: `${path} /${pattern}/${flags}`, source: pattern, flags });
  });
  return found;
}

/** Characters that a class or an escape of a pattern matches. */
const examples: readonly (readonly [string, readonly string[]])[] = [
  ["\\s", [" ", "\n"]],
  ["\\S", ["x"]],
  ["\\w", ["a"]],
  ["\\d", ["1"]],
  ["\\n", ["\n"]],
  ["\\t", ["\t"]],
  ["\\p{Cc}", ["\u0001"]],
  [".", ["x"]],
  ["[^", ["x"]],
  ["a-z", ["a"]],
  ["0-9", ["1"]],
];

/** The texts of a pattern: its literals and one character for each of its classes. */
function piecesOf(source: string): string[] {
  const classes = examples.flatMap(([part, texts]) => (source.includes(part) ? texts : []));
  const plain = source.replace(/\(\?<?[:!=]|\\[pP]\{\w+\}|\\[swdSWDbBntrfu0]|\{[\d,]+\}/g, "\0");
  const words = plain.match(/(?:\\[^\w]|[^\\^$.*+?()[\]{}|\0])+/g) ?? [];
  const literals = words.map((word) => word.replaceAll("\\", ""));
  const signs = literals.flatMap((word) => [...word]).filter((sign) => /[^a-z\d]/i.test(sign));
  const pieces = new Set([...classes, ...literals, ...signs].filter((piece) => piece !== ""));
  return [...pieces].slice(0, 10);
}

/** Long texts of one or two repeated pieces, which end so that a match fails at the last character. */
function* attacks(source: string, length: number): Generator<string> {
  const pieces = piecesOf(source);
  const pairs = pieces.flatMap((one) => pieces.map((two) => one + two));
  const triples =
    pieces.length > maxTriple ? [] : pairs.flatMap((pair) => pieces.map((piece) => pair + piece));
  const units = [...pieces, ...pairs, ...triples];
  for (const unit of new Set(units)) {
    const run = unit.repeat(Math.ceil(length / unit.length));
    yield `${run}\0`;
    yield `\0${run}\0`;
    for (const piece of pieces) yield `${piece}${run}\0`;
  }
}

/** The time of the processor, in milliseconds: the machine may run other processes. */
function measure(pattern: RegExp, text: string): number {
  const began = process.cpuUsage();
  text.replace(pattern, "");
  return process.cpuUsage(began).user / 1_000;
}

/** @returns The start of a text that takes too long even if it is tried again. */
function findSlowText({ source, flags }: Pattern): string | undefined {
  const pattern = new RegExp(source, flags);
  for (const length of lengths)
    for (const text of attacks(source, length)) {
      const isSlow = (): boolean => measure(pattern, text) > maxMs;
      if (isSlow() && isSlow() && isSlow()) return JSON.stringify(text.slice(0, 12));
    }
  return undefined;
}

const isUnbounded = ({ source }: Pattern): boolean => /[*+]|,\}/.test(source);

describe("Regular expressions", () => {
  const patterns = sources().flatMap(({ path, text }) => patternsOf(path, text));

  test("take linear time for any text", () => {
    const open = patterns.filter((one) => isUnbounded(one) && !(one.name in bounded));
    expect(open.length).toBeGreaterThan(100);
    const slow = open.flatMap((one) => {
      const text = findSlowText(one);
      return text === undefined ? [] : [`${one.name} with ${text}`];
    });
    expect(slow).toEqual([]);
  });

  test("lists only patterns that exist as bounded", () => {
    const names = new Set(patterns.map(({ name }) => name));
    expect(Object.keys(bounded).filter((name) => !names.has(name))).toEqual([]);
  });

  test.each([/\s+$/, /a[^]*?b/, /(?:^|\n)\s*x/, /^(\w+)+=/, /(.*)=(.*);/])(
    "finds %s",
    (pattern) => {
      expect(findSlowText({ name: "", source: pattern.source, flags: "" })).toBeDefined();
    },
  );
});
