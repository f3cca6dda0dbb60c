// The numbered frames of one session and its subscribers.
import { FrameWindow, PendingReceipts, sizeOf } from "./sequence.ts";
import type { StoredStream } from "./stored-stream.ts";
import type {
  DefaultStart,
  Cursor,
  EncodedFrame,
  LogEntry,
  Gap,
  Subscriber,
  SequenceRange,
  ReceiptListener,
  Replay,
  SequencedEntry,
} from "./session-log.ts";

/** Limits of the frames that a stream keeps for replay. */
export interface ReplayWindow {
  readonly frames: number;
  readonly bytes: number;
}

/** Bytes of an empty stream. */
const streamBytes = 1_024;
const receiptBytes = 64;
/** How many unfinished messages have their latest update kept for new subscribers. */
const maxPartials = 64;
/** How many numbers can still be acknowledged after their frames have left the window. */
const maxReceipts = 1_024;

export interface Stream {
  readonly epoch: string;
  /** Usually one. */
  subscribers: Subscriber | Set<Subscriber> | undefined;
  seq: number;
  /** The last item has the number `seq`. */
  readonly stored: FrameWindow;
  storedBytes: number;
  /**
   * Some client was sent everything up to `written`. A client without acknowledgements was sent
   * everything up to `plain`.
   */
  written: number;
  plain: number;
  /** A client has acknowledged everything up to this number, except the numbers in a gap. */
  acknowledged: number;
  /** A subscriber may return with a cursor. */
  resumes: boolean;
  /** A subscriber has asked for the turns of people. */
  turns: boolean;
  readonly receipts: PendingReceipts;
  partials: Map<string, LogEntry>;
  partialBytes: number;
}

/** Shared by all streams without partials, which are most of them. */
const noPartials: Map<string, LogEntry> = new Map();

export const createStream = (epoch: string): Stream => ({
  epoch,
  subscribers: undefined,
  seq: 0,
  stored: new FrameWindow(),
  storedBytes: 0,
  written: 0,
  plain: 0,
  acknowledged: 0,
  resumes: false,
  turns: false,
  receipts: new PendingReceipts(),
  partials: noPartials,
  partialBytes: 0,
});

/** Creates a stream as a store has kept it. Unacknowledged frames have receipts. */
export function restoreStream(stored: StoredStream): Stream {
  const { epoch, seq, written, plain, acknowledged, resumes, frames } = stored;
  const first = seq - frames.length + 1;
  const stream: Stream = {
    ...createStream(epoch),
    seq,
    written,
    plain,
    acknowledged,
    resumes,
    stored: new FrameWindow(first),
    receipts: new PendingReceipts(first),
  };
  const settled = Math.max(plain, acknowledged);
  for (const { seq: number, message, frame } of frames) {
    stream.stored.push({ frame, message, numbered: true });
    stream.storedBytes += frame.byteLength;
    stream.receipts.push(number > settled ? message : undefined);
  }
  return stream;
}

export function addSubscriber(stream: Stream, subscriber: Subscriber): void {
  const { subscribers } = stream;
  if (subscribers === undefined) stream.subscribers = subscriber;
  else if (subscribers instanceof Set) subscribers.add(subscriber);
  else stream.subscribers = new Set([subscribers, subscriber]);
}

/** @returns `false` if the subscriber was not subscribed. */
export function removeSubscriber(stream: Stream, subscriber: Subscriber): boolean {
  const { subscribers } = stream;
  if (subscribers instanceof Set) return subscribers.delete(subscriber);
  if (subscribers !== subscriber) return false;
  stream.subscribers = undefined;
  return true;
}

export function subscriberCount({ subscribers }: Stream): number {
  if (subscribers instanceof Set) return subscribers.size;
  return subscribers ? 1 : 0;
}

export const cursorOf = ({ epoch, seq }: Stream): Cursor => ({ epoch, seq });

export const costOf = ({ storedBytes, partialBytes, receipts }: Stream): number =>
  streamBytes + storedBytes + partialBytes + receipts.open * receiptBytes;

function forgetPartial(stream: Stream, message: string): void {
  const partial = stream.partials.get(message);
  if (!partial) return;
  stream.partialBytes -= sizeOf(partial);
  stream.partials.delete(message);
}

function keepPartial(stream: Stream, message: string, entry: LogEntry): void {
  forgetPartial(stream, message);
  if (stream.partials === noPartials) stream.partials = new Map();
  stream.partials.set(message, entry);
  stream.partialBytes += sizeOf(entry);
  const [oldest] = stream.partials.keys();
  if (stream.partials.size > maxPartials && oldest !== undefined) forgetPartial(stream, oldest);
}

function dropOldest(stream: Stream): void {
  stream.storedBytes -= sizeOf(stream.stored.shift()!);
}

/** @returns The last number that is no longer kept. */
const lastDropped = ({ stored }: Stream): number => stored.first - 1;

/**
 * A client without acknowledgements was sent everything up to this number. Without a subscriber
 * that may return, no client can ask for these frames again.
 */
export function markWritten(stream: Stream, upTo: number): void {
  stream.plain = Math.max(stream.plain, upTo);
  if (stream.resumes) return;
  const { stored, receipts } = stream;
  while (stored.first <= upTo && stored.length > 0) dropOldest(stream);
  receipts.forget(upTo);
}

/**
 * True if a client that received only this range has missed nothing that is still available. The
 * turns of people before the range do not count, because such a client receives none.
 */
export function isContiguous(stream: Stream, { after: given }: SequenceRange): boolean {
  const { stored, written, plain, acknowledged } = stream;
  let after = given;
  while (stored.isTurn(after)) after -= 1;
  return after <= lastDropped(stream) || after <= Math.min(written, Math.max(plain, acknowledged));
}

/** True if a frame in the window is the message of a client with this id. */
export const holdsTurn = ({ stored }: Stream, request: string): boolean =>
  stored.hasRequest(request);

export const exceedsWindow = (
  { stored, storedBytes }: Stream,
  { frames, bytes }: ReplayWindow,
): boolean => stored.length > frames || storedBytes > bytes;

type LostMessages = (id: string) => void;

/**
 * Drops the oldest frames until the stream fits its window.
 * @param lost - Receives the ids of messages that no client was sent.
 */
export function trim(stream: Stream, window: ReplayWindow, lost: LostMessages): void {
  const { receipts, written } = stream;
  while (exceedsWindow(stream, window)) dropOldest(stream);
  const dropped = lastDropped(stream);
  receipts.forget(Math.min(dropped, written), stream.resumes ? maxReceipts : 0);
  // Frames that left the window before they were sent to any client.
  if (dropped > written) for (const id of receipts.lose(written, dropped)) lost(id);
}

export function append(stream: Stream, entry: LogEntry): void {
  const { message } = entry;
  if (!entry.numbered) {
    if (message !== undefined) keepPartial(stream, message, entry);
    return;
  }
  stream.seq += 1;
  stream.stored.push(entry);
  stream.storedBytes += sizeOf(entry);
  stream.receipts.push(message);
  if (message !== undefined) forgetPartial(stream, message);
}

/** Drops all frames that are kept for replay. */
export function clearStream(stream: Stream, lost: LostMessages): void {
  stream.partials.clear();
  stream.partialBytes = 0;
  trim(stream, { frames: 0, bytes: 0 }, lost);
}

/**
 * Reports messages as lost when the stream ends, except those that a client without
 * acknowledgements has received.
 */
export function settleRemaining(
  session: string,
  { receipts, plain }: Stream,
  receiptListener: ReceiptListener,
): void {
  for (const id of receipts.lose(plain)) receiptListener(session, id, "undelivered", "expired");
}

function overflowGap(stream: Stream, after: number, to: number): { readonly gap?: Gap } {
  return lastDropped(stream) > after ? { gap: { reason: "overflow", from: after + 1, to } } : {};
}

export function replayAfter(
  stream: Stream,
  cursor: Cursor | undefined,
  defaultStart: DefaultStart,
): Replay {
  const { epoch, seq, stored, written, plain, acknowledged } = stream;
  const top = cursorOf(stream);
  const partials = [...stream.partials.values()].map(({ frame }) => frame);
  const framesAfter = (after: number): readonly Uint8Array[] =>
    stored.from(after + 1).map(({ frame }) => frame);
  if (!cursor) {
    const start = defaultStart === "written" ? written : Math.max(plain, acknowledged);
    const frames = framesAfter(start);
    return { top, ...overflowGap(stream, start, seq - frames.length), frames, partials };
  }
  const isForeign = cursor.epoch !== epoch || cursor.seq > seq;
  if (isForeign) return { top, gap: { reason: "epoch_changed" }, frames: [], partials };
  const missing = overflowGap(stream, cursor.seq, seq);
  return { top, ...missing, frames: missing.gap ? [] : framesAfter(cursor.seq), partials };
}

/** The entry that subscribers receive. It decodes the frame only when a subscriber needs it. */
export class DeliveredEntry implements SequencedEntry {
  readonly session: string;
  readonly cursor: Cursor;
  readonly numbered: boolean;
  readonly message: string | undefined;
  private readonly entry: LogEntry;

  constructor(session: string, cursor: Cursor, entry: LogEntry) {
    this.session = session;
    this.cursor = cursor;
    this.numbered = entry.numbered;
    this.message = entry.message;
    this.entry = entry;
  }

  get frame(): Uint8Array {
    return this.entry.frame;
  }

  get framed(): EncodedFrame | undefined {
    return this.entry.framed;
  }

  get request(): string | undefined {
    return this.entry.request;
  }

  get growth(): LogEntry["growth"] {
    return this.entry.growth;
  }

  get type(): LogEntry["type"] {
    return this.entry.type;
  }
}
