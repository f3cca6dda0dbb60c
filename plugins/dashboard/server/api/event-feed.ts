/** Numbers kernel events and log lines, and sends them to pages and programs. @module */
import type { Clock, Release, Scope } from "../../../../kernel/index.ts";
import type { AcpEvents } from "../../../acp/index.ts";
import type { ChannelsEvents } from "../../../channels/index.ts";
import type { HttpEvents } from "../../../http/index.ts";
import type { KeysEvents } from "../../../keys/index.ts";
import type { PicoServerEvents } from "../../../pico-server/index.ts";
import type { ProgramEvents } from "../../../program/index.ts";
import type { SettingsEvents } from "../../../settings/index.ts";
import type { TokenStoreEvents } from "../../../token-store/index.ts";
import type { DashboardEvents, LogSource } from "../service.ts";
import type { ActivityLog } from "./activity.ts";
import type { FeedEventName, FeedEvents } from "../../shared/feed-views.ts";
import { type LogLevel, logLevels, type LogLineView } from "../../shared/views.ts";

/** Entries kept for streams that reconnect: this many events, and this many log lines. */
const maxHistory = 1_000;

/** @returns One event in the format of Server-Sent Events. */
const formatEvent = (name: string, data: object, id?: string): string =>
  `${id === undefined ? "" : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

interface FeedEntry {
  readonly number: number;
  /** Level of a log line; undefined for events. */
  readonly level: LogLevel | undefined;
  /** The event in the format of Server-Sent Events. */
  readonly text: string;
}

/** The newest events and log lines, numbered. */
class EventHistory {
  private readonly epoch: string;
  private readonly events: FeedEntry[] = [];
  private readonly lines: FeedEntry[] = [];
  private number = 0;
  /** The history has every log line after this number, except those reported as skipped. */
  private linesFrom = Infinity;
  /** The history has no entry up to this number. */
  private forgottenTo = 0;

  constructor(epoch: string) {
    this.epoch = epoch;
  }

  /** Begins or ends the part of the history that has all log lines. */
  keepLines(isOn: boolean): void {
    this.linesFrom = isOn ? this.number : Infinity;
  }

  /** Drops all entries. A stream that missed one of them cannot resume. */
  forget(): void {
    this.events.length = 0;
    this.lines.length = 0;
    this.forgottenTo = this.number;
  }

  lastId(): string {
    return `${this.epoch}-${this.number}`;
  }

  add(name: FeedEventName, data: object, level?: LogLevel): FeedEntry {
    this.number += 1;
    const entry = { number: this.number, level, text: formatEvent(name, data, this.lastId()) };
    const list = level === undefined ? this.events : this.lines;
    list.push(entry);
    if (list.length > maxHistory) list.shift();
    return entry;
  }

  /** @returns The entries after an id; undefined if some of them are no longer in the history. */
  since(id: string | undefined, withLines: boolean): FeedEntry[] | undefined {
    const [epoch, last = ""] = id?.split("-") ?? [];
    const known = Number(last);
    if (epoch !== this.epoch || !/^\d{1,15}$/.test(last) || known > this.number) return undefined;
    if (known < this.forgottenTo) return undefined;
    if (withLines && known < this.linesFrom) return undefined;
    const lists = withLines ? [this.events, this.lines] : [this.events];
    // A full list may have lost entries that the stream has not received.
    if (lists.some((list) => list.length === maxHistory && list[0]!.number > known + 1))
      return undefined;
    return lists
      .flat()
      .filter((entry) => entry.number > known)
      .sort((a, b) => a.number - b.number);
  }
}

/** Limits per second. The feed reports how many events or lines it skipped. */
const maxEventsPerSecond = 100;
const maxLogLinesPerSecond = 50;
const maxStreamsPerOwner = 4;

/** Receives the text of one stream. */
export interface TextSink {
  write(text: string): void;
  end(): void;
}
interface StreamOptions {
  /** Streams with the same owner share a limit. */
  readonly owner: object;
  readonly lastId: string | undefined;
  /** Lowest level of log lines to send. Undefined sends none. */
  readonly log: LogLevel | undefined;
}
interface Stream extends StreamOptions {
  readonly sink: TextSink;
}
/** A stream, for the code that opened it. */
interface StreamHandle {
  /** Call it when the client has closed the connection. */
  readonly leave: Release;
  /** Ends the stream and tells the client why. */
  readonly end: (reason: string) => void;
}

interface FeedOptions {
  readonly clock: Clock;
  readonly after: (ms: number, run: () => void) => Release;
  /** Distinguishes the event numbers of this process from those of an earlier one. */
  readonly epoch: string;
  readonly state: () => string;
  readonly traffic: () => Traffic;
  readonly log: LogSource | undefined;
}

const levelRank = (level: LogLevel): number => logLevels.indexOf(level);
const wantsLevel = ({ log }: StreamOptions, level: LogLevel | undefined): boolean =>
  level === undefined || (log !== undefined && levelRank(level) >= levelRank(log));

/**
 * Sends numbered events to the open streams. The timer and the log listener run only while needed.
 */
export class EventFeed {
  private readonly options: FeedOptions;
  private readonly streams = new Set<Stream>();
  private readonly history: EventHistory;
  private eventsThisSecond = 0;
  private linesThisSecond = 0;
  private readonly rate: TrafficRate;
  private stopTicking: Release | undefined;
  private stopFollowing: Release | undefined;

  constructor(options: FeedOptions) {
    this.options = options;
    this.history = new EventHistory(options.epoch);
    this.rate = new TrafficRate(options.traffic);
  }

  publish<K extends FeedEventName>(name: K, data: FeedEvents[K]): void {
    this.eventsThisSecond += 1;
    if (this.eventsThisSecond <= maxEventsPerSecond || this.streams.size === 0)
      this.send(name, data);
    if (this.streams.size === 0) this.eventsThisSecond = 0;
  }

  /** Drops the history: a session id or log line in it may contain a token that was set later. */
  forget(): void {
    this.history.forget();
  }

  /**
   * Opens a stream and replays the entries after `lastId`. Ends the oldest streams over the limit.
   */
  open(sink: TextSink, options: StreamOptions): StreamHandle {
    const { state, clock } = this.options;
    const siblings = [...this.streams].filter(({ owner }) => owner === options.owner);
    for (const oldest of siblings.slice(0, Math.max(0, siblings.length - maxStreamsPerOwner + 1)))
      this.closeStream(oldest, "superseded");
    const missed = this.missedBy(options);
    const stream: Stream = { ...options, sink };
    sink.write("retry: 2000\n\n");
    const resumed = missed !== undefined;
    const hello: FeedEvents["hello"] = { resumed, state: state(), now: clock.now() };
    sink.write(formatEvent("hello", hello, this.history.lastId()));
    for (const { text } of missed ?? []) sink.write(text);
    this.streams.add(stream);
    this.rate.repeat(); // the new stream has not received the current rate
    this.startOrStop();
    return {
      leave: () => this.closeStream(stream),
      end: (reason) => this.closeStream(stream, "ended", { reason }),
    };
  }

  /** Ends the streams of an owner. */
  end(owner: object, reason: string): void {
    for (const stream of [...this.streams])
      if (stream.owner === owner) this.closeStream(stream, "ended", { reason });
  }

  /** Closes all streams without an `ended` event, so that pages reconnect to the next process. */
  close(): void {
    for (const stream of [...this.streams]) this.closeStream(stream);
  }

  private send(name: FeedEventName, data: object, level?: LogLevel): void {
    const entry = this.history.add(name, data, level);
    for (const stream of this.streams)
      if (wantsLevel(stream, entry.level)) stream.sink.write(entry.text);
  }

  private onLogLine(line: LogLineView): void {
    this.linesThisSecond += 1;
    if (this.linesThisSecond <= maxLogLinesPerSecond) this.send("log", line, line.level);
  }

  /** Every stream with log lines receives `log-skipped`, whatever its level. */
  private reportSkipped(): void {
    if (this.eventsThisSecond > maxEventsPerSecond)
      this.send("missed", { count: this.eventsThisSecond - maxEventsPerSecond });
    if (this.linesThisSecond > maxLogLinesPerSecond)
      this.send("log-skipped", { count: this.linesThisSecond - maxLogLinesPerSecond }, "error");
    this.eventsThisSecond = this.linesThisSecond = 0;
  }

  private everySecond(): void {
    const { after, clock } = this.options;
    this.stopTicking = after(1_000, () => this.everySecond());
    this.reportSkipped();
    const rate = this.rate.next();
    if (!rate) return;
    for (const { sink } of this.streams)
      sink.write(formatEvent("rate", { at: clock.now(), ...rate }));
  }

  /** Starts or stops the timer and the log listener, depending on the open streams. */
  private startOrStop(): void {
    const { after, log } = this.options;
    if (this.streams.size > 0 && !this.stopTicking) {
      this.rate.restart();
      this.stopTicking = after(1_000, () => this.everySecond());
    }
    if (this.streams.size === 0) {
      this.stopTicking?.();
      this.stopTicking = undefined;
      this.reportSkipped();
    }
    const wantsLog =
      log !== undefined && [...this.streams].some(({ log: level }) => level !== undefined);
    if (wantsLog === (this.stopFollowing !== undefined)) return;
    this.stopFollowing?.();
    this.stopFollowing = wantsLog ? log?.follow((line) => this.onLogLine(line)) : undefined;
    this.history.keepLines(wantsLog);
  }

  private closeStream(stream: Stream, name?: "superseded" | "ended", data: object = {}): void {
    if (!this.streams.delete(stream)) return;
    if (name) stream.sink.write(formatEvent(name, data));
    stream.sink.end();
    this.startOrStop();
  }

  private missedBy(options: StreamOptions): FeedEntry[] | undefined {
    const entries = this.history.since(options.lastId, options.log !== undefined);
    return entries?.filter((entry) => wantsLevel(options, entry.level));
  }
}

type PublishScope = Scope<{
  listens: Pick<
    ChannelsEvents,
    | "channels:application-changed"
    | "channels:question-asked"
    | "channels:question-settled"
    | "channels:questions-changed"
  > &
    ProgramEvents &
    AcpEvents &
    KeysEvents &
    HttpEvents &
    PicoServerEvents &
    SettingsEvents &
    TokenStoreEvents &
    DashboardEvents;
}>;

/**
 * Publishes kernel events on the feed, and adds rejected clients to the list of the overview.
 * Events of plugins that are not loaded never occur.
 */
export function publishEvents(
  { on: subscribe, clock }: { on: unknown; clock: Clock },
  feed: EventFeed,
  activity: ActivityLog,
): void {
  const on = subscribe as PublishScope["on"];
  const at = (): number => clock.now();
  let lackedToken = false;
  on("kernel:state-changed", ({ to }) => feed.publish("state", { at: at(), state: to }));
  on("pico-server:connected", (event) => {
    activity.connected(event.method);
    feed.publish("connected", { at: at(), ...event });
  });
  on("pico-server:disconnected", (event) => feed.publish("disconnected", { at: at(), ...event }));
  on("pico-server:refused", (event) => {
    const { method: via = "none", retryAfterSeconds, ...rejection } = event;
    const until =
      retryAfterSeconds === undefined ? {} : { until: at() + retryAfterSeconds * 1_000 };
    activity.clientRefused({ at: at(), via, ...rejection, ...until });
    lackedToken ||= event.code === "token_not_configured";
    feed.publish("refused", { at: at(), ...event });
  });
  on("http:upgrade-unserved", ({ address }) => {
    const rejection = { at: at(), code: "wrong_path", address };
    activity.clientRefused({ ...rejection, via: "none" });
    feed.publish("refused", rejection);
  });
  on("dashboard:signed-in", ({ signIn, address, via }) =>
    feed.publish("signed-in", { at: at(), signIn, address, via }),
  );
  on("dashboard:sign-in-refused", (event) =>
    feed.publish("sign-in-refused", { at: at(), ...event }),
  );
  on("dashboard:signed-out", ({ signIn, reason }) =>
    feed.publish("signed-out", { at: at(), signIn, reason }),
  );
  on("channels:application-changed", () => feed.publish("application", { at: at() }));
  for (const name of ["program:state-changed", "acp:state-changed"] as const)
    on(name, (event) => feed.publish("program", { at: at(), ...event }));
  on("token-store:resolved", () => feed.forget());
  on("token-store:rotated", ({ name }) => {
    if (name === "pico" && lackedToken) activity.resolved("token_not_configured");
    feed.forget();
    feed.publish("token", { at: at(), name, what: "rotated" });
  });
  on("token-store:removed", ({ name }) =>
    feed.publish("token", { at: at(), name, what: "removed" }),
  );
  for (const what of ["created", "used-first", "rotated", "expired", "revoked"] as const)
    on(`keys:${what}`, ({ id }) => feed.publish("key", { at: at(), id, what }));
  for (const name of ["asked", "settled"] as const)
    on(`channels:question-${name}`, () => feed.publish("questions", { at: at() }));
  on("channels:questions-changed", () => feed.publish("questions", { at: at() }));
  on("settings:changed", ({ section, keys: names }) => {
    const keys = names.split(",").filter(Boolean);
    if (section === "channels.pico" && keys.includes("enabled")) activity.resolved("not_found");
    feed.publish("settings", { at: at(), section, keys });
  });
  on("settings:rejected", ({ section, message }) =>
    feed.publish("settings", { at: at(), section, rejected: message }),
  );
}

/**
 * Longest time between two `rate` events. They also serve as keep-alive, and tell pages to refresh
 * values that change without an event.
 */
const rateIntervalS = 15;

/** `in` and `out` count messages since startup. */
interface Traffic {
  readonly in: number;
  readonly out: number;
  readonly connections: number;
  readonly queuedBytes: number;
  /** Sessions with a client, of channels of other authors. */
  readonly sessions: number;
}

/** Call `next` once per second. */
class TrafficRate {
  private readonly traffic: () => Traffic;
  private last: Traffic;
  private lastRate = "";
  private seconds = 0;

  constructor(traffic: () => Traffic) {
    this.traffic = traffic;
    this.last = traffic();
  }

  /** Counts messages from now on. */
  restart(): void {
    this.last = this.traffic();
  }

  /** Makes `next` return the rate even if it has not changed. */
  repeat(): void {
    this.lastRate = "";
  }

  /** @returns The messages of the last second; undefined if there is nothing to report. */
  next(): Omit<Traffic, "sessions"> | undefined {
    this.seconds += 1;
    const now = this.traffic();
    const { sessions, ...shown } = now;
    const rate = { ...shown, in: now.in - this.last.in, out: now.out - this.last.out };
    this.last = now;
    const text = JSON.stringify([rate, sessions]);
    const isDue =
      text !== this.lastRate || rate.in + rate.out > 0 || this.seconds % rateIntervalS === 0;
    this.lastRate = text;
    return isDue ? rate : undefined;
  }
}
