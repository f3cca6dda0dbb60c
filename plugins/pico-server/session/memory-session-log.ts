import type { Release } from "../../../kernel/index.ts";
import { picoErrors } from "../errors.ts";
import type {
  AppendResult,
  DefaultStart,
  Cursor,
  LogEntry,
  SessionLog,
  ReceiptListener,
  Replay,
} from "./session-log.ts";
import {
  addSubscriber,
  costOf,
  cursorOf,
  clearStream,
  subscriberCount,
  exceedsWindow,
  isContiguous,
  createStream,
  append,
  removeSubscriber,
  settleRemaining,
  replayAfter,
  trim,
  markWritten,
  type Stream,
  type ReplayWindow,
} from "./stream.ts";
import { DeliveredEntry } from "../frame-encoding.ts";

const MiB = 1024 * 1024;

export interface MemorySessionLogOptions {
  readonly random: (bytes: number) => Uint8Array;
  /** Milliseconds that pass. */
  readonly now: () => number;
  readonly after: (ms: number, run: () => void) => Release;
  /** Of one stream; default 256 frames or 512 KiB. */
  readonly window?: ReplayWindow;
  /** Of all of them; default 50,000 streams or 192 MiB. */
  readonly bounds?: { readonly streams: number; readonly bytes: number };
  /** Milliseconds after the last listener; default 300,000. */
  readonly keptMs?: number;
  readonly settled?: ReceiptListener;
  /** The last listener of the session has gone. */
  readonly sessionIdle?: (session: string) => void;
}

export const replayWindow: ReplayWindow = { frames: 256, bytes: 512 * 1024 };
/** Frames are held with their WebSocket header: one that fills the window fits. */
const storedWindow: ReplayWindow = { ...replayWindow, bytes: replayWindow.bytes + 10 };
export const retentionMs = 300_000;
/** 256 MiB without what channels may hold at most to know messages again: 65,536 ids of up to 256 characters. */
const defaultBounds = { streams: 50_000, bytes: (256 - 64) * MiB };

/** The log of one process, which answers at once. */
export interface MemorySessionLog extends SessionLog {
  append(session: string, entry: LogEntry): AppendResult;
  readAfter(session: string, cursor: Cursor | undefined, defaultStart?: DefaultStart): Replay;
  top(session: string): Cursor | undefined;
}

/** The form for one process. A stream lives while somebody listens to it and for a while after. */
export function createMemorySessionLog(options: MemorySessionLogOptions): MemorySessionLog {
  const { random, now, after, bounds = defaultBounds, settled = () => undefined } = options;
  const lifeMs = options.keptMs ?? retentionMs;
  const bound = options.window ?? storedWindow;
  /** Some more leave at once: a map that loses its first key again and again finds the next one slowly. */
  const enough = {
    streams: bounds.streams - Math.floor(bounds.streams / 100),
    bytes: bounds.bytes,
  };
  const streams = new Map<string, Stream>();
  /** Streams nobody listens to, and since when; the longest idle first. */
  const idle = new Map<string, number>();
  let bytes = 0;
  let stopTimer: Release | undefined;

  /** Whatever happens to a stream, the sum of all stays right. */
  function change<T>(stream: Stream, run: () => T): T {
    const before = costOf(stream);
    const result = run();
    bytes += costOf(stream) - before;
    return result;
  }

  function end(session: string): void {
    const stream = streams.get(session);
    streams.delete(session);
    idle.delete(session);
    if (!stream) return;
    bytes -= costOf(stream);
    settleRemaining(session, stream, settled);
  }

  function expire(): void {
    stopTimer?.();
    stopTimer = undefined;
    for (const [session, since] of idle) {
      const left = Math.min(lifeMs, since + lifeMs - now()); // the clock may have been set back
      if (left > 0) return void (stopTimer = after(left, expire));
      end(session);
    }
  }

  function rest(session: string): void {
    idle.set(session, now());
    if (!stopTimer) expire();
  }

  const lost =
    (session: string) =>
    (id: string): void =>
      settled(session, id, "undelivered", "overflow");

  /** Idle streams leave whole; then those that are listened to lose what they hold, the longest undisturbed first. */
  function makeRoom(but: string): void {
    if (streams.size <= bounds.streams && bytes <= bounds.bytes) return;
    for (const session of idle.keys()) {
      if (session !== but) end(session);
      if (streams.size <= enough.streams && bytes <= enough.bytes) return;
    }
    for (let left = streams.size; left > 0 && bytes > bounds.bytes; left -= 1) {
      const [session, stream] = streams.entries().next().value!;
      change(stream, () => clearStream(stream, lost(session)));
      streams.delete(session);
      streams.set(session, stream);
    }
  }

  function open(session: string): Stream {
    const existing = streams.get(session);
    if (existing) return existing;
    const stream = createStream(Buffer.from(random(8)).toString("hex"));
    streams.set(session, stream);
    bytes += costOf(stream);
    return stream;
  }

  /** For a message to nobody: a session somebody listens to is never turned away. */
  function openIdle(session: string): Stream {
    if (streams.size >= bounds.streams && idle.size === 0) throw picoErrors.undeliverable();
    const stream = open(session);
    rest(session);
    return stream;
  }

  return {
    append(session, entry) {
      const stream = streams.get(session) ?? (entry.numbered ? openIdle(session) : undefined);
      if (!stream) return { cursor: undefined, heard: 0 };
      const before = costOf(stream);
      append(stream, entry);
      bytes += costOf(stream) - before;
      const cursor = cursorOf(stream);
      const heard = new DeliveredEntry(session, cursor, entry);
      const { hearers } = stream;
      if (hearers instanceof Set) for (const hearer of hearers) hearer.onEntry(heard);
      else hearers?.onEntry(heard);
      if (exceedsWindow(stream, bound)) change(stream, () => trim(stream, bound, lost(session)));
      makeRoom(session);
      const settled = !stream.resumes && stream.plain >= stream.seq;
      return { cursor, heard: subscriberCount(stream), settled };
    },

    readAfter(session, cursor, defaultStart = "given") {
      const stream = streams.get(session);
      if (stream) return replayAfter(stream, cursor, defaultStart);
      return {
        top: undefined,
        ...(cursor && { gap: { reason: "epoch_changed" } }),
        frames: [],
        partials: [],
      };
    },

    subscribe(session, hearer, { resumes = false } = {}) {
      const stream = open(session);
      stream.resumes ||= resumes;
      idle.delete(session);
      addSubscriber(stream, hearer);
      makeRoom(session);
    },

    unsubscribe(session, hearer) {
      const stream = streams.get(session);
      if (!stream || !removeSubscriber(stream, hearer) || subscriberCount(stream) > 0) return;
      if (stream.seq > 0 || stream.resumes) rest(session);
      else end(session);
      options.sessionIdle?.(session);
    },

    top(session) {
      const stream = streams.get(session);
      return stream && cursorOf(stream);
    },

    note(session, reach, progress) {
      const stream = streams.get(session);
      if (stream?.epoch !== reach.epoch) return;
      const upTo = Math.min(reach.upTo, stream.seq);
      if (progress === "taken") {
        stream.taken = Math.max(stream.taken, upTo);
        const delivered = change(stream, () => stream.receipts.take({ ...reach, upTo }));
        for (const id of delivered) settled(session, id, "delivered");
        return;
      }
      if (progress === "answered" && !isContiguous(stream, reach))
        return stream.receipts.give({ ...reach, upTo });
      stream.written = Math.max(stream.written, upTo);
      if (progress === "sent") return;
      const before = costOf(stream);
      markWritten(stream, upTo);
      bytes += costOf(stream) - before;
    },
  };
}
