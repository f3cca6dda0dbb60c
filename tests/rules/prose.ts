/**
 * Extracts the prose of the project: comments, strings and JSX text of source files, and the text
 * of Markdown pages. Code, URLs and identifiers are replaced by "X", so that a pattern sees words
 * only.
 *
 * @module
 */
import { parseSync, Visitor } from "rolldown/utils";

export interface Prose {
  readonly line: number;
  /** A sentence, a paragraph, a heading, a label or a cell, on one line. */
  readonly text: string;
}

export interface TestTitle {
  readonly line: number;
  readonly text: string;
}

const placeholder = "X";
const codeSpan = /(`+)[^`]+\1/g;
const url = /\b\w+:\/\/[^\s<>"')]+/g;
/** A path, a dotted name or an assignment: punctuation between two word characters. */
const identifier = /[^\s"'([{]*\w[/\\_@=<>.:$]\w[^\s"')\]}]*/g;
/** Elements of one line of text. Other elements end a piece. */
const inline = /<\/?(?:a|abbr|b|br|code|em|i|kbd|small|span|strong|time|var)(?=[\s/>])[^<>]*>/g;
const shownAttribute = /\b(?:alt|aria-label|content|placeholder|title)="([^"]+)"/g;

function withoutCode(text: string): string {
  return text
    .replace(codeSpan, placeholder)
    .replace(url, placeholder)
    .replace(identifier, placeholder)
    .replace(/\s+/g, " ")
    .trim();
}

/** Splits HTML into the text between its elements and the attributes that people read. */
function htmlPieces(text: string): string[] {
  const attributes = [...text.matchAll(shownAttribute)].map(([, value = ""]) => value);
  return [...text.replace(inline, " ").split(/<\/?[a-z!][^<>]*>/i), ...attributes];
}

/** A string without a space is an identifier, unless it reads like a word on a page. */
const isIdentifier = (text: string): boolean =>
  !/\s/.test(text) && !/^[A-Z][a-z]+[.!?]?$/.test(text);

function lineCounter(text: string): (offset: number) => number {
  const starts = [0];
  for (const { index } of text.matchAll(/\n/g)) starts.push(index + 1);
  return (offset) => {
    let low = 0;
    for (let high = starts.length - 1; low < high;) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  };
}

/**
 * The comments, strings and JSX text of a TypeScript or JavaScript file.
 *
 * @throws If the file does not parse.
 */
export function sourceProse(path: string, source: string): Prose[] {
  const { program, comments, errors } = parseSync(path, source);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]!.message}`);
  const lineOf = lineCounter(source);
  const prose: Prose[] = [];
  const add = (offset: number, ...texts: readonly string[]): void => {
    for (const text of texts.map(withoutCode))
      if (/[a-z]/i.test(text)) prose.push({ line: lineOf(offset), text });
  };

  for (let at = 0; at < comments.length; at += 1) {
    const first = comments[at]!;
    let text = first.value;
    // Line comments on consecutive lines are one text.
    while (
      first.type === "Line" &&
      comments[at + 1]?.type === "Line" &&
      /^\r?\n[ \t]*$/.test(source.slice(comments[at]!.end, comments[at + 1]!.start))
    )
      text += `\n${comments[(at += 1)]!.value}`;
    if (/^\s*(oxlint|eslint|@ts-)/.test(text)) continue;
    const plain = text.replace(/^[ \t]*\*+(?!\/)/gm, "");
    add(first.start, ...plain.split(/\n\s*\n|\n\s*(?=[-*@] ?\w)/));
  }
  new Visitor({
    Literal({ value, start }) {
      if (typeof value === "string" && !isIdentifier(value)) add(start, ...htmlPieces(value));
    },
    TemplateLiteral({ quasis, start }) {
      const text = quasis.map(({ value }) => value.cooked ?? "").join(placeholder);
      if (!isIdentifier(text)) add(start, ...htmlPieces(text).flatMap(paragraphs));
    },
    JSXText({ value, start }) {
      add(start, value);
    },
  }).visit(program);
  return prose.sort((a, b) => a.line - b.line);
}

const paragraphs = (text: string): string[] => text.split(/\n\s*\n/);

/** The text of a Markdown page: paragraphs, headings, list items and cells of tables. */
export function markdownProse(source: string): Prose[] {
  const prose: Prose[] = [];
  let piece = "";
  let start = 1;
  const end = (): void => {
    const text = withoutCode(piece);
    if (/[a-z]/i.test(text)) prose.push({ line: start, text });
    piece = "";
  };
  let fence: string | undefined;
  const visible = source.replace(/<!--[^]*?-->/g, (comment) => comment.replace(/[^\n]/g, " "));
  for (const [at, line] of visible.split("\n").entries()) {
    const [, mark] = /^\s*(?:[-*]\s+)?(`{3,}|~{3,})/.exec(line) ?? [];
    if (fence !== undefined) {
      if (mark?.startsWith(fence)) fence = undefined;
      continue;
    }
    if (mark !== undefined || /^\s*(?:$|\||#|[-*+]\s|\d+\.\s|>)/.test(line)) end();
    if (mark !== undefined) {
      fence = mark;
      continue;
    }
    const text = line
      .replace(/^\s*(?:#+|[-*+]|\d+\.|>)\s/, "")
      .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
      .replace(inline, " ")
      .replace(/<\/?[a-z][^<>]*>/gi, (tag) =>
        [...tag.matchAll(shownAttribute)].map(([, value]) => value).join(". "),
      )
      .replace(/\*\*|(?<!\w)\*(?=\w)|(?<=\w)\*(?!\w)/g, "");
    for (const [cell, part] of (/^\s*\|/.test(line) ? cellsOf(text) : [text]).entries()) {
      if (cell > 0) end();
      if (piece.trim() === "") start = at + 1;
      piece += ` ${part}`;
    }
    if (/^\s*[|#]/.test(line)) end();
  }
  end();
  return prose;
}

const cellsOf = (row: string): string[] =>
  row
    .replace(/`[^`]*`/g, placeholder)
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());

/** The titles of the tests of a file, with "X" for the parts that are computed. */
export function testTitles(path: string, source: string): TestTitle[] {
  const lineOf = lineCounter(source);
  const titles: TestTitle[] = [];
  new Visitor({
    CallExpression({ callee, arguments: [title, ...rest] }) {
      if (!title || rest.length === 0 || !["it", "test"].includes(rootName(callee))) return;
      const text =
        title.type === "Literal" && typeof title.value === "string"
          ? title.value
          : title.type === "TemplateLiteral"
            ? title.quasis.map(({ value }) => value.cooked ?? "").join(placeholder)
            : undefined;
      if (text !== undefined) titles.push({ line: lineOf(title.start), text });
    },
  }).visit(parseSync(path, source).program);
  return titles;
}

interface Expression {
  readonly type: string;
  readonly name?: unknown;
  readonly object?: unknown;
  readonly callee?: unknown;
  readonly tag?: unknown;
}

/** `test` of `test`, `test.skipIf(…)` and `test.concurrent.each(…)`. */
function rootName(expression: unknown): string {
  const { type, name, object, callee, tag } = expression as Expression;
  if (type === "Identifier") return name as string;
  const inner = object ?? callee ?? tag;
  return inner === undefined ? "" : rootName(inner);
}
