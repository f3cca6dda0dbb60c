// Keeps the streams of all sessions in the memory of one process.
import type { Release } from "../../../kernel/index.ts";
import { conversationsErrors } from "../errors.ts";
import type { StoredStream, StreamPositions } from "./stored-stream.ts";
import type {
  AppendResult,
  Cursor,
  DefaultStart,
  DeliveryProgress,
  LogEntry,
  LogLimits,
  ReceiptListener,
  Replay,
  SequenceRange,
  SessionLog,
  SubscribeOptions,
  Subscriber,
} from "./session-log.ts";
import {
  DeliveredEntry,
  addSubscriber,
  costOf,
  cursorOf,
  clearStream,
  subscriberCount,
  exceedsWindow,
  holdsTurn,
  isContiguous,
  createStream,
  append,
  restoreStream,
  removeSubscriber,
  settleRemaining,
  replayAfter,
  trim,
  markWritten,
  type Stream,
  type ReplayWindow,
} from "./stream.ts";

const MiB = 1024 * 1024;

export interface MemorySessionLogOptions {
  readonly random: (bytes: number) => Uint8Array;
  /** Monotonic time in milliseconds. */
  readonly now: () => number;
  readonly after: (ms: number, run: () => void) => Release;
  /** Limits of one stream. @defaultValue 256 frames, 512 KiB */
  readonly window?: ReplayWindow;
  /** Limits of all streams together. @defaultValue 50,000 streams, 192 MiB */
  readonly bounds?: { readonly streams: number; readonly bytes: number };
  /** How long a stream is kept after its last subscriber left. @defaultValue 300,000 */
  readonly retentionMs?: number;
  readonly onReceipt?: ReceiptListener;
  /** Called when the first subscriber of a session has joined. */
  readonly sessionActive?: (session: string) => void;
  /** Called when the last subscriber of a session has left. */
  readonly sessionIdle?: (session: string) => void;
  /** Set if a store keeps the streams, so that this log is only its cache. */
  readonly store?: StoreHooks;
}

interface StoreHooks {
  /** True if the stream must stay in memory, because some of it is not stored yet. */
  readonly isPinned: (session: string) => boolean;
  /** A stream left memory. Nothing of it is lost, so no receipt reports that. */
  readonly evicted: (session: string) => void;
}

const replayWindow: ReplayWindow = { frames: 256, bytes: 512 * 1024 };
/** Frames are stored with their WebSocket header: a frame that fills the window must fit. */
const storedWindow: ReplayWindow = { ...replayWindow, bytes: replayWindow.bytes + 10 };
const defaultRetentionMs = 300_000;
/**
 * 256 MiB, less the memory that `channels` may need to recognise repeated messages: 65,536 ids of
 * up to 256 characters.
 */
const defaultBounds = { streams: 50_000, bytes: (256 - 64) * MiB };

/** Completes every operation synchronously. */
export interface MemorySessionLog extends SessionLog {
  append(session: string, entry: LogEntry): AppendResult;
  readAfter(session: string, cursor: Cursor | undefined, defaultStart?: DefaultStart): Replay;
  subscribe(session: string, subscriber: Subscriber, options?: SubscribeOptions): void;
  hasTurn(session: string, request: string): boolean;
  top(session: string): Cursor | undefined;
  /** How many sessions have a stream. */
  streamCount(): number;
  /** Creates the stream of a session without a subscriber, if there is none. */
  open(session: string): void;
  /** Creates the stream of a session as a store has kept it. */
  restore(session: string, stored: StoredStream): void;
  /** Removes the stream of a session with its subscribers. */
  discard(session: string): void;
  /** How far the readers of a session have got; undefined if there is no stream. */
  positions(session: string): StreamPositions | undefined;
}

/** A stream exists while it has a subscriber and for the retention time after that. */
class InProcessSessionLog implements MemorySessionLog {
  readonly limits: LogLimits;
  private readonly options: MemorySessionLogOptions;
  private readonly window: ReplayWindow;
  private readonly bounds: { readonly streams: number; readonly bytes: number };
  /**
   * Eviction continues down to these bounds, which are 1 % lower: a map that often loses its first
   * key becomes slow at finding the next one.
   */
  private readonly target: { readonly streams: number; readonly bytes: number };
  private readonly onReceipt: ReceiptListener;
  private readonly streams = new Map<string, Stream>();
  /** Streams without a subscriber and the time since when, longest idle first. */
  private readonly idle = new Map<string, number>();
  private bytes = 0;
  private stopTimer: Release | undefined;

  constructor(options: MemorySessionLogOptions) {
    const { bounds = defaultBounds, window = storedWindow, onReceipt = () => undefined } = options;
    this.options = options;
    this.limits = { ...replayWindow, retentionMs: options.retentionMs ?? defaultRetentionMs };
    this.window = window;
    this.bounds = bounds;
    const streams = bounds.streams - Math.floor(bounds.streams / 100);
    this.target = { streams, bytes: bounds.bytes };
    this.onReceipt = onReceipt;
  }

  append(session: string, entry: LogEntry): AppendResult {
    const stream =
      this.streams.get(session) ?? (entry.numbered ? this.openIdle(session) : undefined);
    if (!stream) return { cursor: undefined, subscribers: 0 };
    const before = costOf(stream);
    append(stream, entry);
    this.bytes += costOf(stream) - before;
    const cursor = cursorOf(stream);
    const delivered = new DeliveredEntry(session, cursor, entry);
    const { subscribers } = stream;
    if (subscribers instanceof Set)
      for (const subscriber of subscribers) subscriber.onEntry(delivered);
    else subscribers?.onEntry(delivered);
    if (exceedsWindow(stream, this.window))
      this.change(stream, () => trim(stream, this.window, this.reportLost(session)));
    this.makeRoom(session);
    const settled = !stream.resumes && stream.plain >= stream.seq;
    return { cursor, subscribers: subscriberCount(stream), settled };
  }

  readAfter(
    session: string,
    cursor: Cursor | undefined,
    defaultStart: DefaultStart = "written",
  ): Replay {
    const stream = this.streams.get(session);
    if (stream) return replayAfter(stream, cursor, defaultStart);
    return {
      top: undefined,
      ...(cursor && { gap: { reason: "epoch_changed" } }),
      frames: [],
      partials: [],
    };
  }

  subscribe(
    session: string,
    subscriber: Subscriber,
    { resumes = false, turns = false }: SubscribeOptions = {},
  ): void {
    const stream = this.openStream(session);
    stream.resumes ||= resumes;
    stream.turns ||= turns;
    this.idle.delete(session);
    const isFirst = subscriberCount(stream) === 0;
    addSubscriber(stream, subscriber);
    this.makeRoom(session);
    if (isFirst) this.options.sessionActive?.(session);
  }

  unsubscribe(session: string, subscriber: Subscriber): void {
    const stream = this.streams.get(session);
    if (!stream || !removeSubscriber(stream, subscriber) || subscriberCount(stream) > 0) return;
    if (stream.seq > 0 || stream.resumes || this.isPinned(session)) this.markIdle(session);
    else this.end(session);
    this.options.sessionIdle?.(session);
  }

  wantsTurns(session: string): boolean {
    return this.streams.get(session)?.turns ?? false;
  }

  hasTurn(session: string, request: string): boolean {
    const stream = this.streams.get(session);
    return stream !== undefined && holdsTurn(stream, request);
  }

  top(session: string): Cursor | undefined {
    const stream = this.streams.get(session);
    return stream && cursorOf(stream);
  }

  note(session: string, range: SequenceRange, progress: DeliveryProgress): void {
    const stream = this.streams.get(session);
    if (stream?.epoch !== range.epoch) return;
    const upTo = Math.min(range.upTo, stream.seq);
    if (progress === "acknowledged") {
      stream.acknowledged = Math.max(stream.acknowledged, upTo);
      const delivered = this.change(stream, () => stream.receipts.acknowledge({ ...range, upTo }));
      for (const id of delivered) this.onReceipt(session, id, "delivered");
      return;
    }
    if (progress === "answered" && !isContiguous(stream, range))
      return stream.receipts.markSeen({ ...range, upTo });
    stream.written = Math.max(stream.written, upTo);
    if (progress === "sent") return;
    const before = costOf(stream);
    markWritten(stream, upTo);
    this.bytes += costOf(stream) - before;
  }

  open(session: string): void {
    if (!this.streams.has(session)) this.openIdle(session);
  }

  restore(session: string, stored: StoredStream): void {
    this.assertRoom();
    const stream = restoreStream(stored);
    if (!stream.resumes) markWritten(stream, stream.plain);
    this.streams.set(session, stream);
    this.bytes += costOf(stream);
    this.markIdle(session);
    this.makeRoom(session);
  }

  discard(session: string): void {
    this.end(session);
  }

  positions(session: string): StreamPositions | undefined {
    const stream = this.streams.get(session);
    if (!stream) return undefined;
    const { written, plain, acknowledged, resumes } = stream;
    return { written, plain, acknowledged, resumes };
  }

  streamCount(): number {
    return this.streams.size;
  }

  /** Changes a stream and keeps the sum of all costs correct. */
  private change<T>(stream: Stream, run: () => T): T {
    const before = costOf(stream);
    const result = run();
    this.bytes += costOf(stream) - before;
    return result;
  }

  private end(session: string): void {
    const stream = this.streams.get(session);
    this.streams.delete(session);
    this.idle.delete(session);
    if (!stream) return;
    this.bytes -= costOf(stream);
    const { store } = this.options;
    if (store) store.evicted(session);
    else settleRemaining(session, stream, this.onReceipt);
  }

  private isPinned(session: string): boolean {
    return this.options.store?.isPinned(session) ?? false;
  }

  private readonly expire = (): void => {
    const { now, after } = this.options;
    const { retentionMs } = this.limits;
    this.stopTimer?.();
    this.stopTimer = undefined;
    for (const [session, since] of this.idle) {
      // At most the retention time, because the clock may have been set back.
      const leftMs = Math.min(retentionMs, since + retentionMs - now());
      if (leftMs > 0) {
        this.stopTimer = after(leftMs, this.expire);
        return;
      }
      this.idle.delete(session);
      if (this.isPinned(session)) this.idle.set(session, now());
      else this.end(session);
    }
  };

  private markIdle(session: string): void {
    this.idle.set(session, this.options.now());
    if (!this.stopTimer) this.expire();
  }

  private reportLost(session: string): (id: string) => void {
    return (id) => this.onReceipt(session, id, "undelivered", "overflow");
  }

  /**
   * Ends idle streams first. Then the streams with subscribers lose their frames, beginning with
   * the one that was cleared longest ago.
   */
  private makeRoom(exceptSession: string): void {
    const { streams, bounds, target } = this;
    if (streams.size <= bounds.streams && this.bytes <= bounds.bytes) return;
    for (const session of this.idle.keys()) {
      if (session !== exceptSession && !this.isPinned(session)) this.end(session);
      if (streams.size <= target.streams && this.bytes <= target.bytes) return;
    }
    for (let left = streams.size; left > 0 && this.bytes > bounds.bytes; left -= 1) {
      const [session, stream] = streams.entries().next().value!;
      this.change(stream, () => clearStream(stream, this.reportLost(session)));
      streams.delete(session);
      streams.set(session, stream);
    }
  }

  private openStream(session: string): Stream {
    const existing = this.streams.get(session);
    if (existing) return existing;
    const stream = createStream(Buffer.from(this.options.random(8)).toString("hex"));
    this.streams.set(session, stream);
    this.bytes += costOf(stream);
    return stream;
  }

  private assertRoom(): void {
    if (this.streams.size >= this.bounds.streams && this.idle.size === 0)
      throw conversationsErrors.undeliverable();
  }

  /** Opens a stream without a subscriber. A session with a subscriber is always opened. */
  private openIdle(session: string): Stream {
    this.assertRoom();
    const stream = this.openStream(session);
    this.markIdle(session);
    return stream;
  }
}

export const createMemorySessionLog = (options: MemorySessionLogOptions): MemorySessionLog =>
  new InProcessSessionLog(options);
