/** Lexes markdown of an application within limits of nesting, tokens and work. @module */
import { getDefaults, Lexer, Tokenizer, type Token, type Tokens } from "marked";
import { readDetails, type DetailsToken } from "./details.ts";
import { readMark, readNote, startOfMark } from "./footnotes.ts";
import { readMath, readMathBlock, startOfMath } from "./maths.ts";
import { splitLongText } from "../../../shared/split-long-text.ts";

/** Blocks in blocks, and marks in marks: together, an element has 32 levels at most. */
const maxBlockDepth = 24;
const maxInlineDepth = 8;
/** Characters of blocks, which are lexed again for each block around them. */
const maxWork = 100_000;
const maxTokens = 4_000;
/** The rest of a longer text is plain. Blocks of code at its top level do not count. */
const maxText = 64 * 1024;
/** The lexer reads the rest of a paragraph for each mark, so a longer one is lexed in parts. */
const maxInlineText = 2_000;
/** Characters in which the ends of marks are looked for. Later marks stay as they are. */
const maxScan = 100_000;

/** Text that is shown as it is, in pieces that a browser lays out quickly. */
export const plainToken = "plain";

/** Counts characters in which the ends of marks are looked for. */
class BoundedTokenizer extends Tokenizer {
  private scanned = 0;

  override emStrong(...args: Parameters<Tokenizer["emStrong"]>): ReturnType<Tokenizer["emStrong"]> {
    return this.canScan(args[0], /^[*_]/) ? super.emStrong(...args) : undefined;
  }

  /** For each line of an item, the lexer reads a first line of marks to its end. */
  override list(...args: Parameters<Tokenizer["list"]>): ReturnType<Tokenizer["list"]> {
    return /^[ \t*_-]{100}/.test(args[0]) ? undefined : super.list(...args);
  }

  override del(...args: Parameters<Tokenizer["del"]>): ReturnType<Tokenizer["del"]> {
    return this.canScan(args[0], /^~/) ? super.del(...args) : undefined;
  }

  private canScan(text: string, start: RegExp): boolean {
    if (!start.test(text)) return false;
    this.scanned += text.length;
    return this.scanned < maxScan;
  }
}

class BoundedLexer extends Lexer {
  private blockDepth = 0;
  private inlineDepth = 0;
  work = 0;

  override blockTokens(src: string, tokens: Token[] = [], isClipped?: boolean): never {
    this.work += src.length;
    if (this.blockDepth >= maxBlockDepth || this.work > maxWork) tokens.push(textToken(src));
    else {
      this.blockDepth++;
      super.blockTokens(src, tokens, isClipped);
      this.blockDepth--;
    }
    return tokens as never;
  }

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    if (this.inlineDepth >= maxInlineDepth) {
      tokens.push(textToken(src));
      return tokens;
    }
    this.inlineDepth++;
    // Into a list of its own, because the lexer joins a text with the one before it.
    for (const part of splitLongText(src, maxInlineText))
      tokens.push(...super.inlineTokens(part, []));
    this.inlineDepth--;
    return tokens;
  }
}

const extensions = {
  inline: [readMath, readMark],
  block: [readMathBlock, readDetails, readNote],
  startInline: [startOfMath, startOfMark],
  childTokens: {},
  renderers: {},
};

const textToken = (text: string): Tokens.Text => ({ type: "text", raw: text, text });

const plainTokens = (text: string): Token[] =>
  text === "" ? [] : [{ type: plainToken, raw: text, text } as Tokens.Generic];

/** @returns The tokens directly inside a token: in its cells, its items or itself. */
export function childrenOf(token: Token): readonly Token[] {
  const { tokens, items, header, rows, summary } = token as Partial<Tokens.Table> &
    Partial<Tokens.List> &
    Partial<Pick<DetailsToken, "summary">> & {
      readonly tokens?: readonly Token[];
    };
  if (items) return items;
  if (summary && tokens) return [...summary, ...tokens];
  if (header && rows) return [header, ...rows].flat().flatMap((cell) => cell.tokens);
  return tokens ?? [];
}

/** A block of code has a frame and buttons. */
const tokensOfCode = 20;

const countTokens = (token: Token): number =>
  childrenOf(token).reduce(
    (sum, child) => sum + countTokens(child),
    token.type === "code" ? tokensOfCode : 1,
  );

const fence = /^ {0,3}(?:```[^`]*$|~~~)/;
const marks = /[*_`~[\]<>!\\|&:@$]/g;
/** A line of a list is a token for its item, its paragraph and its text. */
const tokensOfLine = 3;

/**
 * Estimates where a text has its last permitted token, before it is lexed. Code has no marks.
 *
 * @returns The length of the text before the line with that token.
 */
function lengthWithinLimits(text: string, maxLength: number, maxCount: number): number {
  let isCode = false;
  let count = 0;
  let length = 0;
  for (const line of text.slice(0, maxLength).split("\n")) {
    if (fence.test(line)) {
      isCode = !isCode;
      count += tokensOfCode / 2; // Its first and its last line count.
    } else if (!isCode) count += tokensOfLine + (line.match(marks)?.length ?? 0);
    if (count > maxCount) return length;
    length += line.length + 1;
  }
  if (text.length <= maxLength) return text.length;
  // The beginning of a line may look like the end of code.
  return text.lastIndexOf("\n", maxLength - 1) + 1 || maxLength;
}

/** A block whose end is in the plain text behind it: a copy of it would be a part. */
interface Cuttable {
  isCut?: boolean;
}

/** @returns True if a limit has cut the code or table of a token. */
export const isCutToken = (token: Token): boolean => (token as Cuttable).isCut === true;

function markCut(token: Token | undefined): void {
  if (!token) return;
  (token as Cuttable).isCut = true;
  if (token.type !== "table") markCut(childrenOf(token).at(-1));
}

const lengthOf = (tokens: readonly Token[]): number =>
  tokens.reduce((sum, { raw }) => sum + raw.length, 0);

function lexWithinLimits(text: string): readonly Token[] {
  const tokenizer = new BoundedTokenizer();
  const found: Token[] = [];
  let rest = text;
  let count = 0;
  let prose = 0;
  let work = 0;
  // Each round ends behind a block of code that is longer than the limit of prose.
  for (;;) {
    const length = lengthWithinLimits(rest, maxText - prose, maxTokens - count);
    const lexer = new BoundedLexer({ ...getDefaults(), tokenizer, extensions });
    lexer.work = work;
    const tokens: Token[] = lexer.lex(rest.slice(0, length));
    const end = tokens.findIndex((token) => (count += countTokens(token)) > maxTokens);
    if (end >= 0) {
      const done = tokens.slice(0, end);
      return [...found, ...done, ...plainTokens(rest.slice(lengthOf(done)))];
    }
    if (length === rest.length) return [...found, ...tokens];
    const last = tokens.at(-1);
    const before = tokens.slice(0, -1);
    const start = lengthOf(before);
    const code = last?.type === "code" ? tokenizer.fences(rest.slice(start)) : undefined;
    if (!last || !code) {
      markCut(last);
      return [...found, ...tokens, ...plainTokens(rest.slice(length))];
    }
    const isLonger = code.raw.length > last.raw.length;
    const whole = isLonger ? code : last;
    const next = start + whole.raw.length;
    if (isLonger && /^\n(?![ \t]*\n)/.test(rest.slice(next, next + 100))) whole.raw += "\n";
    found.push(...before, whole);
    rest = rest.slice(start + whole.raw.length);
    prose += lengthOf(before.filter(({ type }) => type !== "code"));
    work = lexer.work - last.raw.length;
  }
}

/**
 * Lexes a text. Text that is nested too deeply or follows the first 4,000 tokens or 64 KiB is
 * plain text. Code at the top level is always whole. The `raw` texts of the tokens together are
 * the text.
 */
export function lexBounded(text: string): readonly Token[] {
  try {
    return lexWithinLimits(text);
  } catch {
    return plainTokens(text);
  }
}
