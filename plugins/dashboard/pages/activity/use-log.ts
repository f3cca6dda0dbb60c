// Loads log lines and follows the stream of new ones.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LogLevel, LogLineView, LogView } from "../../shared/views.ts";
import type { ApiError } from "../live/api.ts";
import { serverNow } from "../live/clock.ts";
import { load } from "../live/owner.ts";
import { setStreamQuery, subscribe } from "../live/stream.ts";
import { createNumbering, maxLines, type NumberedLine } from "./lines.ts";

/** The log as the page shows it. */
export interface Log {
  /** Oldest first; undefined before the first response. */
  readonly lines: readonly NumberedLine[] | undefined;
  readonly error: ApiError | undefined;
  /** Number of new lines that are held while the page does not follow. */
  readonly held: number;
  /** Number of lines that the server left out since the last response. */
  readonly skipped: number;
  readonly refresh: () => Promise<ApiError | undefined>;
}

interface LogOptions {
  readonly level: LogLevel;
  /** Text that the server looks for. */
  readonly text: string;
  /** False holds new lines. */
  readonly isFollowing: boolean;
}

/** Loads the newest lines that match, again after each change, and adds lines of the stream. */
export function useLog({ level, text, isFollowing }: LogOptions): Log {
  const [state, setState] = useState<Omit<Log, "refresh">>({
    lines: undefined,
    error: undefined,
    held: 0,
    skipped: 0,
  });
  const source = useMemo(
    () => new LogLines((change) => setState((old) => ({ ...old, ...change }))),
    [],
  );
  const isMounted = useRef(false);
  useEffect(() => {
    setStreamQuery({ log: level });
    source.ask(level, text);
    // The stream loads the lines when it opens.
    if (isMounted.current) void source.refresh();
    isMounted.current = true;
  }, [level, text]);
  useEffect(() => source.follow(isFollowing), [isFollowing]);
  useEffect(
    () =>
      subscribe({
        refresh: source.refresh,
        on: { log: source.add, "log-skipped": ({ count }) => source.skip(count) },
      }),
    [],
  );
  return { ...state, refresh: source.refresh };
}

/** Merges streamed lines with loaded ones, since both can contain the same line. */
class LogLines {
  private readonly numbering = createNumbering();
  private readonly merger = mergeSources<LogLineView>(maxLines);
  private readonly show: (change: Partial<Omit<Log, "refresh">>) => void;
  private lines: readonly NumberedLine[] = [];
  private waiting: NumberedLine[] = [];
  private query = "";
  private shownQuery = "";
  private skipped = 0;
  private isFollowing = true;
  /** True if a response was not shown while the page did not follow. */
  private isBehind = false;
  private isScheduled = false;

  constructor(show: (change: Partial<Omit<Log, "refresh">>) => void) {
    this.show = show;
  }

  /** Sets the query of the next request. */
  ask(level: LogLevel, text: string): void {
    this.query = String(new URLSearchParams({ level, text, limit: String(maxLines) }));
  }

  readonly refresh = async (): Promise<ApiError | undefined> => {
    const { query } = this;
    const position = this.merger.beginRequest();
    const error = await load<LogView>(`/api/log?${query}`, ({ lines }) => {
      this.isBehind = !this.isFollowing && query === this.shownQuery;
      if (this.isBehind) return;
      this.shownQuery = query;
      const later = this.merger.mergeResponse(position, lines);
      this.lines = [...lines, ...later].slice(-maxLines).map(this.numbering.number);
      this.waiting = [];
      this.skipped = 0;
      this.show({ lines: this.lines, held: 0, skipped: 0 });
    });
    this.show({ error });
    return error;
  };

  readonly add = (line: LogLineView): void => {
    if (this.merger.acceptStreamed(line)) this.push(this.numbering.number(line));
  };

  skip(count: number): void {
    this.skipped += count;
    this.push(this.numbering.skip(count, serverNow()));
  }

  follow(isFollowing: boolean): void {
    this.isFollowing = isFollowing;
    if (!isFollowing) return;
    if (this.isBehind) void this.refresh();
    else this.schedule();
  }

  private push(line: NumberedLine): void {
    this.waiting.push(line);
    if (this.waiting.length > maxLines) this.waiting.shift();
    this.schedule();
  }

  /** Draws new lines together, at most once per frame. */
  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    requestAnimationFrame(() => {
      this.isScheduled = false;
      const { skipped } = this;
      if (!this.isFollowing) return this.show({ held: this.waiting.length, skipped });
      this.lines = [...this.lines, ...this.waiting].slice(-maxLines);
      this.waiting = [];
      this.show({ lines: this.lines, held: 0, skipped });
    });
  }
}

/**
 * Shows each item once. Stream and responses can contain the same item and can arrive in any order;
 * a response created before a streamed item must not remove that item.
 */
interface SourceMerger<T> {
  /** Call before a request. Pass the result to `mergeResponse`. */
  beginRequest(): number;
  /** @returns The items streamed since the request that the response does not contain. */
  mergeResponse(position: number, items: readonly T[]): T[];
  /** @returns False if the last response already contained the streamed item. */
  acceptStreamed(item: T): boolean;
}

/**
 * Creates a merger. Two items are equal if their JSON is equal.
 *
 * @param maxItems - Number of streamed items to keep for responses that are under way.
 */
function mergeSources<T>(maxItems: number): SourceMerger<T> {
  const streamed: T[] = [];
  let streamedCount = 0;
  /** Items of the last response that the stream has not delivered yet, with their number. */
  let expected = new Map<string, number>();
  const takeExpected = (item: T): boolean => {
    const key = JSON.stringify(item);
    const left = expected.get(key) ?? 0;
    if (left > 0) expected.set(key, left - 1);
    return left > 0;
  };
  return {
    beginRequest: () => streamedCount,
    mergeResponse(position, items) {
      expected = new Map();
      for (const key of items.map((item) => JSON.stringify(item)))
        expected.set(key, (expected.get(key) ?? 0) + 1);
      const since = streamed.slice(Math.max(0, streamed.length - (streamedCount - position)));
      return since.filter((item) => !takeExpected(item));
    },
    acceptStreamed(item) {
      if (takeExpected(item)) return false;
      streamedCount += 1;
      if (streamed.push(item) > maxItems) streamed.shift();
      return true;
    },
  };
}
