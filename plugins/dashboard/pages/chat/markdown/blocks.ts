// Lexes growing markdown: only the part that can still change is lexed again.
import type { Token } from "marked";
import { plainToken } from "./lexer.ts";

/** A top-level part of a text. */
interface Block {
  /** Position in the text. It stays the same while the text grows. */
  readonly key: number;
  readonly token: Token;
}

/** Turns a growing text into blocks. Finished blocks keep their identity. */
export interface BlockLexer {
  /** Lexes the text so far. A text that does not continue the previous one starts again. */
  read(text: string): readonly Block[];
}

/** A longer rest is not read again with each update. */
const minLong = 2_000;

type Lex = (text: string) => readonly Token[];

/** Such a line defines a link for the whole text, also for the blocks before it. */
const definition = /^ {0,3}\[[^\]\n]+\]:/m;

/** Removes carriage returns, as the lexer does. A last one may be half of a line break. */
const normalize = (text: string): string => text.replace(/\r\n?/g, "\n");

function toBlocks(tokens: readonly Token[], start: number): Block[] {
  let key = start;
  return tokens.flatMap((token) => {
    const block = { key, token };
    key += token.raw.length;
    return token.type === "space" ? [] : [block];
  });
}

/**
 * Counts the tokens that later text cannot change: those before the blank line before the last
 * block. All lines of `tokens` are complete, so the first line of the last block is complete too,
 * and decides that it does not belong to the block before it.
 */
function countFinished(tokens: readonly Token[]): number {
  // A block that a limit has cut is followed by its rest as plain text, and is not finished.
  const last = tokens.findLastIndex(({ type }) => type !== "space" && type !== plainToken);
  for (let at = last; at > 0; at--)
    if (tokens[at - 1]?.type === "space" || tokens[at - 1]?.raw.endsWith("\n\n")) return at;
  return 0;
}

/** Creates a lexer for one text. `lex` is the lexer of marked. */
export function createBlockLexer(lex: Lex): BlockLexer {
  let finished: readonly Block[] = [];
  let prefix = "";
  /** Length of the text at the last attempt to finish blocks. */
  let tried = 0;

  const reset = (): void => {
    finished = [];
    prefix = "";
    tried = 0;
  };

  /** Moves the blocks that cannot change any more from the rest of the text to `finished`. */
  const finish = (text: string): void => {
    const rest = text.slice(prefix.length, text.lastIndexOf("\n") + 1);
    if (!rest.includes("\n\n")) return;
    // A long block may grow for a long time, and each attempt reads all of it.
    if (rest.length > minLong && text.length < tried * 1.25) return;
    tried = text.length;
    const tokens = lex(rest);
    const count = countFinished(tokens);
    const done = tokens.slice(0, count);
    const length = done.reduce((sum, { raw }) => sum + raw.length, 0);
    // A lexer that changed the text would give wrong positions.
    if (count === 0 || done.map(({ raw }) => raw).join("") !== rest.slice(0, length)) return;
    finished = [...finished, ...toBlocks(done, prefix.length)];
    prefix = text.slice(0, prefix.length + length);
  };

  return {
    read(source) {
      const text = normalize(source);
      if (definition.test(text)) {
        reset();
        return toBlocks(lex(text), 0);
      }
      if (!text.startsWith(prefix)) reset();
      finish(text);
      return [...finished, ...toBlocks(lex(text.slice(prefix.length)), prefix.length)];
    },
  };
}
