// Loads log lines and follows the stream of new ones.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { LogLevel, LogLineView, LogView } from "../../shared/views.ts";
import type { ApiError } from "../live/api.ts";
import { serverNow } from "../live/clock.ts";
import { load } from "../live/owner.ts";
import { setStreamQuery, subscribe } from "../live/stream.ts";
import { idOf, maxLines, type NumberedLine } from "./lines.ts";

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
  useEffect(() => {
    setStreamQuery({ log: level });
    source.ask(level, text);
    // A new subscriber is loaded immediately, and again after a failure.
    return subscribe({
      refresh: source.refresh,
      on: { log: source.add, "log-skipped": ({ count }) => source.skip(count) },
    });
  }, [level, text]);
  useEffect(() => source.follow(isFollowing), [isFollowing]);
  return { ...state, refresh: source.refresh };
}

/**
 * Shows each line once. Stream and responses can contain the same line and can arrive in any order;
 * a response created before a streamed line must not remove that line.
 */
class LogLines {
  private readonly show: (change: Partial<Omit<Log, "refresh">>) => void;
  private nextSeq = 0;
  private lines: readonly NumberedLine[] = [];
  private waiting: NumberedLine[] = [];
  /** The lines streamed since the start of each request that is under way. */
  private readonly streamed = new Set<LogLineView[]>();
  /** JSON of lines of the last response that the stream has not delivered yet -> their number. */
  private expected = new Map<string, number>();
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
    const streamed: LogLineView[] = [];
    this.streamed.add(streamed);
    const error = await load<LogView>(`/api/log?${query}`, ({ lines }) => {
      this.isBehind = !this.isFollowing && query === this.shownQuery;
      if (this.isBehind) return;
      this.shownQuery = query;
      this.expected = new Map();
      for (const key of lines.map((line) => JSON.stringify(line)))
        this.expected.set(key, (this.expected.get(key) ?? 0) + 1);
      const later = streamed.filter((line) => !this.takeExpected(line));
      this.lines = [...lines, ...later].slice(-maxLines).map((line) => this.number(line));
      this.waiting = [];
      this.skipped = 0;
      this.show({ lines: this.lines, held: 0, skipped: 0 });
    });
    this.streamed.delete(streamed);
    this.show({ error });
    return error;
  };

  readonly add = (line: LogLineView): void => {
    if (this.takeExpected(line)) return;
    for (const streamed of this.streamed) streamed.push(line);
    this.push(this.number(line));
  };

  skip(skipped: number): void {
    this.skipped += skipped;
    const mark = this.number({ at: serverNow(), level: "info", text: "", fields: {} });
    this.push({ ...mark, id: `skipped-${mark.seq}`, skipped });
  }

  follow(isFollowing: boolean): void {
    this.isFollowing = isFollowing;
    if (!isFollowing) return;
    if (this.isBehind) void this.refresh();
    else this.schedule();
  }

  private number(line: LogLineView): NumberedLine {
    return { ...line, seq: this.nextSeq++, id: idOf(line) };
  }

  /** @returns False if the last response did not contain the line. */
  private takeExpected(line: LogLineView): boolean {
    const key = JSON.stringify(line);
    const left = this.expected.get(key) ?? 0;
    if (left > 0) this.expected.set(key, left - 1);
    return left > 0;
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
