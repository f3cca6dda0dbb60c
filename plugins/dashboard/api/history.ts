import type { FeedEvents, LogLevel } from "./views.ts";

/** Kept for streams that come back: of facts, and of log lines. */
const maxHistory = 1_000;

export interface HistoryEntry {
  readonly number: number;
  /** Of a log line. */
  readonly level: LogLevel | undefined;
  /** As it goes out. */
  readonly text: string;
}

/** One event of a stream. */
export const formatEvent = (name: string, data: object, id?: string): string =>
  `${id === undefined ? "" : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/** Its text is made when a stream wants it: most of the time nobody listens. */
class FeedEntry implements HistoryEntry {
  #text: string | undefined;
  readonly number: number;
  readonly level: LogLevel | undefined;
  readonly #name: string;
  readonly #data: object;
  readonly #epoch: string;

  constructor(
    number: number,
    level: LogLevel | undefined,
    name: string,
    data: object,
    epoch: string,
  ) {
    this.number = number;
    this.level = level;
    this.#name = name;
    this.#data = data;
    this.#epoch = epoch;
  }

  get text(): string {
    return (this.#text ??= formatEvent(this.#name, this.#data, `${this.#epoch}-${this.number}`));
  }
}

/** The newest events, numbered. `epoch` tells this process' numbers from those of one before. */
export function createEventHistory(epoch: string) {
  const facts: HistoryEntry[] = [];
  const lines: HistoryEntry[] = [];
  let number = 0;
  /** No line after this number is left out but those that are said to be. */
  let linesFrom = Infinity;

  return {
    /** Lines are added from now on, or not any more. */
    keepLines(kept: boolean): void {
      linesFrom = kept ? number : Infinity;
    },
    lastId: (): string => `${epoch}-${number}`,
    add(name: keyof FeedEvents, data: object, level?: LogLevel): HistoryEntry {
      number += 1;
      const entry = new FeedEntry(number, level, name, data, epoch);
      const list = level === undefined ? facts : lines;
      list.push(entry);
      if (list.length > maxHistory) list.shift();
      return entry;
    },
    /** What came after an id; `undefined` when that cannot be said any more. */
    since(id: string | undefined, withLines: boolean): HistoryEntry[] | undefined {
      const [theirs, last = ""] = id?.split("-") ?? [];
      const known = Number(last);
      if (theirs !== epoch || !/^\d{1,15}$/.test(last) || known > number) return undefined;
      if (withLines && known < linesFrom) return undefined;
      const lists = withLines ? [facts, lines] : [facts];
      // A full list may have lost what the stream has not seen.
      if (lists.some((list) => list.length === maxHistory && list[0]!.number > known + 1))
        return undefined;
      return lists
        .flat()
        .filter((entry) => entry.number > known)
        .sort((a, b) => a.number - b.number);
    },
  };
}
