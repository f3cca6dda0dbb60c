import type { Clock, Release, Scope } from "../../../kernel/index.ts";
import type { HttpEvents } from "../../http/index.ts";
import type { PicoServerEvents } from "../../pico-server/index.ts";
import type { ProgramEvents } from "../../program/index.ts";
import type { SettingsEvents } from "../../settings/index.ts";
import type { TokenStoreEvents } from "../../token-store/index.ts";
import type { DashboardEvents, LogSource } from "../service.ts";
import type { ActivityLog } from "./activity.ts";
import { logLevels, type FeedEvents, type LogLevel, type LogLineView } from "./views.ts";

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

/** A flood is cut, and said to be: facts and log lines of one second. */
const maxEventsPerSecond = 100;
const maxLogLinesPerSecond = 50;
/** Seconds between two `rate` at most: a sign of life, and the moment to look at what changes without a fact. */
const rateIntervalS = 15;
const maxStreamsPerOwner = 4;

type FeedEventName = keyof FeedEvents;

/** Where a stream's text goes. */
export interface TextSink {
  write(text: string): void;
  end(): void;
}
export interface StreamOptions {
  /** Streams of one owner share a limit. */
  readonly owner: object;
  readonly lastId: string | undefined;
  /** Log lines from this level on; none without it. */
  readonly log: LogLevel | undefined;
}
interface Stream extends StreamOptions {
  readonly sink: TextSink;
}

export interface FeedOptions {
  readonly clock: Clock;
  readonly after: (ms: number, run: () => void) => Release;
  /** Tells this process' feed from one before: numbers begin anew. */
  readonly epoch: string;
  readonly state: () => string;
  readonly traffic: () => { in: number; out: number; connections: number; queuedBytes: number };
  readonly log: LogSource | undefined;
}

const levelRank = (level: LogLevel): number => logLevels.indexOf(level);
const wantsLevel = ({ log }: StreamOptions, level: LogLevel | undefined): boolean =>
  level === undefined || (log !== undefined && levelRank(level) >= levelRank(log));

/** What happens, as numbered events for the dashboard's streams. */
export function createEventFeed({ clock, after, epoch, state, traffic, log }: FeedOptions) {
  const streams = new Set<Stream>();
  const history = createEventHistory(epoch);
  let factsNow = 0;
  let linesNow = 0;
  let seconds = 0;
  let before = traffic();
  let lastRate = "";
  let stopTicking: Release | undefined;
  let stopFollowing: Release | undefined;

  function send(entry: HistoryEntry): void {
    for (const stream of streams)
      if (wantsLevel(stream, entry.level)) stream.sink.write(entry.text);
  }
  const keep = (name: FeedEventName, data: object, level?: LogLevel): void =>
    send(history.add(name, data, level));
  const heardLine = (line: LogLineView): void => {
    linesNow += 1;
    if (linesNow <= maxLogLinesPerSecond) keep("log", line, line.level);
  };

  /** Whoever follows the log at all wants to know. */
  function tellLeftOut(): void {
    if (factsNow > maxEventsPerSecond) keep("missed", { count: factsNow - maxEventsPerSecond });
    if (linesNow > maxLogLinesPerSecond)
      keep("log-skipped", { count: linesNow - maxLogLinesPerSecond }, "error");
    factsNow = 0;
    linesNow = 0;
  }

  function everySecond(): void {
    stopTicking = after(1_000, everySecond);
    seconds += 1;
    tellLeftOut();
    const now = traffic();
    const rate = { ...now, in: now.in - before.in, out: now.out - before.out };
    before = now;
    const text = JSON.stringify(rate);
    const isNews = text !== lastRate || rate.in + rate.out > 0 || seconds % rateIntervalS === 0;
    lastRate = text;
    if (isNews)
      for (const { sink } of streams) sink.write(formatEvent("rate", { at: clock.now(), ...rate }));
  }

  /** Works only while somebody listens. */
  function adjust(): void {
    if (streams.size > 0 && !stopTicking) {
      before = traffic();
      stopTicking = after(1_000, everySecond);
    }
    if (streams.size === 0) {
      stopTicking?.();
      stopTicking = undefined;
      tellLeftOut();
    }
    const wanted = log !== undefined && [...streams].some(({ log: level }) => level !== undefined);
    if (wanted === (stopFollowing !== undefined)) return;
    stopFollowing?.();
    stopFollowing = wanted ? log?.follow(heardLine) : undefined;
    history.keepLines(wanted);
  }

  function close(stream: Stream, name?: "superseded" | "ended", data: object = {}): void {
    if (!streams.delete(stream)) return;
    if (name) stream.sink.write(formatEvent(name, data));
    stream.sink.end();
    adjust();
  }

  function missedBy(options: StreamOptions): HistoryEntry[] | undefined {
    const entries = history.since(options.lastId, options.log !== undefined);
    return entries?.filter((entry) => wantsLevel(options, entry.level));
  }

  return {
    publish<K extends FeedEventName>(name: K, data: FeedEvents[K]): void {
      factsNow += 1;
      if (factsNow <= maxEventsPerSecond || streams.size === 0) keep(name, data);
      if (streams.size === 0) factsNow = 0;
    },
    /** The answer is called when the other side has gone. */
    open(sink: TextSink, options: StreamOptions): { left: Release; end: (reason: string) => void } {
      const own = [...streams].filter(({ owner }) => owner === options.owner);
      for (const oldest of own.slice(0, Math.max(0, own.length - maxStreamsPerOwner + 1)))
        close(oldest, "superseded");
      const missed = missedBy(options);
      const stream: Stream = { ...options, sink };
      sink.write("retry: 2000\n\n");
      const hello: FeedEvents["hello"] = {
        resumed: missed !== undefined,
        state: state(),
        now: clock.now(),
      };
      sink.write(formatEvent("hello", hello, history.lastId()));
      for (const { text } of missed ?? []) sink.write(text);
      streams.add(stream);
      lastRate = ""; // what the others know is news to this one
      adjust();
      return { left: () => close(stream), end: (reason) => close(stream, "ended", { reason }) };
    },
    /** Ends the streams of an owner. */
    end(owner: object, reason: string): void {
      for (const stream of [...streams])
        if (stream.owner === owner) close(stream, "ended", { reason });
    },
    /** Ends all, so that pages come back to whoever serves next. */
    close(): void {
      for (const stream of [...streams]) close(stream);
    },
  };
}
export type EventFeed = ReturnType<typeof createEventFeed>;

type PublishScope = Scope<{
  listens: ProgramEvents &
    HttpEvents &
    PicoServerEvents &
    SettingsEvents &
    TokenStoreEvents &
    DashboardEvents;
}>;

/** Puts facts on the feed, and refused clients on the overview's list. Those of the channel and of the settings come
 *  where these plugins are there. */
export function publishEvents(
  { on: hear, clock }: { on: unknown; clock: Clock },
  feed: EventFeed,
  activity: ActivityLog,
): void {
  const on = hear as PublishScope["on"];
  const at = (): number => clock.now();
  on("kernel:state-changed", ({ to }) => feed.publish("state", { at: at(), state: to }));
  on("pico-server:connected", (event) => feed.publish("connected", { at: at(), ...event }));
  on("pico-server:disconnected", (event) => feed.publish("disconnected", { at: at(), ...event }));
  on("pico-server:refused", (event) => {
    const { method: via = "none", retryAfterSeconds, ...what } = event;
    const until =
      retryAfterSeconds === undefined ? {} : { until: at() + retryAfterSeconds * 1_000 };
    activity.clientRefused({ at: at(), via, ...what, ...until });
    feed.publish("refused", { at: at(), ...event });
  });
  on("http:upgrade-unserved", ({ address }) => {
    const code = "wrong_path";
    activity.clientRefused({ at: at(), via: "none", code, address });
    feed.publish("refused", { at: at(), code, address });
  });
  on("dashboard:signed-in", (event) => feed.publish("signed-in", { at: at(), ...event }));
  on("dashboard:sign-in-refused", (event) =>
    feed.publish("sign-in-refused", { at: at(), ...event }),
  );
  on("dashboard:signed-out", (event) => feed.publish("signed-out", { at: at(), ...event }));
  on("program:state-changed", (event) => feed.publish("program", { at: at(), ...event }));
  on("token-store:rotated", ({ name }) =>
    feed.publish("token", { at: at(), name, what: "rotated" }),
  );
  on("token-store:removed", ({ name }) =>
    feed.publish("token", { at: at(), name, what: "removed" }),
  );
  on("settings:changed", ({ section, keys }) =>
    feed.publish("settings", { at: at(), section, keys: keys === "" ? [] : keys.split(",") }),
  );
  on("settings:rejected", ({ section, message }) =>
    feed.publish("settings", { at: at(), section, rejected: message }),
  );
}
