import type { FeedEvents, LogLevel } from "./views.ts";

/** Kept for streams that come back: of facts, and of log lines. */
const KEPT = 1_000;

export interface Entry {
  readonly number: number;
  /** Of a log line. */
  readonly level: LogLevel | undefined;
  /** As it goes out. */
  readonly text: string;
}

/** One event of a stream. */
export const frame = (name: string, data: object, id?: string): string =>
  `${id === undefined ? "" : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/** The text is made when a stream wants it: most of the time nobody listens. */
function entryOf(number: number, level: LogLevel | undefined, make: () => string): Entry {
  let text: string | undefined;
  return { number, level, get text() { return (text ??= make()); } };
}

/** The newest events, numbered. `epoch` tells this process' numbers from those of one before. */
export function createHistory(epoch: string) {
  const facts: Entry[] = [];
  const lines: Entry[] = [];
  let number = 0;

  return {
    lastId: (): string => `${epoch}-${number}`,
    add(name: keyof FeedEvents, data: object, level?: LogLevel): Entry {
      number += 1;
      const own = number;
      const entry = entryOf(own, level, () => frame(name, data, `${epoch}-${own}`));
      const list = level === undefined ? facts : lines;
      list.push(entry);
      if (list.length > KEPT) list.shift();
      return entry;
    },
    /** What came after an id; `undefined` when that cannot be said any more. */
    since(id: string | undefined, withLines: boolean): Entry[] | undefined {
      const [theirs, last = ""] = id?.split("-") ?? [];
      const known = Number(last);
      if (theirs !== epoch || !/^\d{1,15}$/.test(last) || known > number) return undefined;
      const lists = withLines ? [facts, lines] : [facts];
      // A full list may have lost what the stream has not seen.
      if (lists.some((list) => list.length === KEPT && list[0]!.number > known + 1)) return undefined;
      return lists.flat().filter((entry) => entry.number > known).sort((a, b) => a.number - b.number);
    },
  };
}
