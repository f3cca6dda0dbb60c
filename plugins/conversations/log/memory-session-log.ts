// Keeps the streams of all sessions in the memory of one process.
import type { Release } from "../../../kernel/index.ts";
import { conversationsErrors } from "../errors.ts";
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
  Stream,
  type ReplayWindow,
  type StoredStream,
  type StreamPositions,
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

/**
 * Completes every operation synchronously. A stream exists while it has a subscriber and for the
 * retention time after that.
 */
export class MemorySessionLog implements SessionLog {
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
    this.change(stream, () => stream.append(entry));
    const { cursor } = stream;
    const delivered = new DeliveredEntry(session, cursor, entry);
    for (const subscriber of stream.subscribers) subscriber.onEntry(delivered);
    if (stream.exceeds(this.window))
      this.change(stream, () => stream.trim(this.window, this.reportLost(session)));
    this.makeRoom(session);
    const settled = !stream.resumes && stream.plain >= stream.seq;
    return { cursor, subscribers: stream.subscribers.size, settled };
  }

  readAfter(
    session: string,
    cursor: Cursor | undefined,
    defaultStart: DefaultStart = "written",
  ): Replay {
    const stream = this.streams.get(session);
    if (stream) return stream.replayAfter(cursor, defaultStart);
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
    const isFirst = stream.subscribers.size === 0;
    stream.subscribers.add(subscriber);
    this.makeRoom(session);
    if (isFirst) this.options.sessionActive?.(session);
  }

  unsubscribe(session: string, subscriber: Subscriber): void {
    const stream = this.streams.get(session);
    if (!stream?.subscribers.delete(subscriber) || stream.subscribers.size > 0) return;
    if (stream.seq > 0 || stream.resumes || this.isPinned(session)) this.markIdle(session);
    else this.end(session);
    this.options.sessionIdle?.(session);
  }

  wantsTurns(session: string): boolean {
    return this.streams.get(session)?.turns ?? false;
  }

  hasTurn(session: string, request: string): boolean {
    return this.streams.get(session)?.hasTurn(request) ?? false;
  }

  top(session: string): Cursor | undefined {
    return this.streams.get(session)?.cursor;
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
    if (progress === "answered" && !stream.isContiguous(range))
      return stream.receipts.markSeen({ ...range, upTo });
    stream.written = Math.max(stream.written, upTo);
    if (progress === "sent") return;
    this.change(stream, () => stream.markWritten(upTo));
  }

  /** Creates the stream of a session without a subscriber, if there is none. */
  open(session: string): void {
    if (!this.streams.has(session)) this.openIdle(session);
  }

  /** Creates the stream of a session as a store has kept it. */
  restore(session: string, stored: StoredStream): void {
    this.assertRoom();
    const stream = Stream.restore(stored);
    this.streams.set(session, stream);
    this.bytes += stream.cost;
    this.markIdle(session);
    this.makeRoom(session);
  }

  /** Removes the stream of a session with its subscribers. */
  discard(session: string): void {
    this.end(session);
  }

  /** How far the readers of a session have got; undefined if there is no stream. */
  positions(session: string): StreamPositions | undefined {
    const stream = this.streams.get(session);
    if (!stream) return undefined;
    const { written, plain, acknowledged, resumes } = stream;
    return { written, plain, acknowledged, resumes };
  }

  /** True while a client has subscribed to the session. */
  hasSubscribers(session: string): boolean {
    return (this.streams.get(session)?.subscribers.size ?? 0) > 0;
  }

  /** How many sessions have a stream. */
  streamCount(): number {
    return this.streams.size;
  }

  /** Changes a stream and keeps the sum of all costs correct. */
  private change<T>(stream: Stream, run: () => T): T {
    const before = stream.cost;
    const result = run();
    this.bytes += stream.cost - before;
    return result;
  }

  private end(session: string): void {
    const stream = this.streams.get(session);
    this.streams.delete(session);
    this.idle.delete(session);
    if (!stream) return;
    this.bytes -= stream.cost;
    const { store } = this.options;
    if (store) store.evicted(session);
    else stream.end((id) => this.onReceipt(session, id, "undelivered", "expired"));
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
      this.change(stream, () => stream.clear(this.reportLost(session)));
      streams.delete(session);
      streams.set(session, stream);
    }
  }

  private openStream(session: string): Stream {
    const existing = this.streams.get(session);
    if (existing) return existing;
    const stream = new Stream(Buffer.from(this.options.random(8)).toString("hex"));
    this.streams.set(session, stream);
    this.bytes += stream.cost;
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
