import { PendingReceipts, SequenceBuffer } from "./sequence.ts";
import type {
  DefaultStart,
  Cursor,
  LogEntry,
  Gap,
  Subscriber,
  SequenceRange,
  ReceiptListener,
  Replay,
} from "./session-log.ts";

/** What a stream holds for those who come back. */
export interface ReplayWindow {
  readonly frames: number;
  readonly bytes: number;
}

/** What a stream costs beside its frames. */
const streamBytes = 1_024;
const receiptBytes = 64;
/** Messages on the way of which a newcomer is shown the latest state. */
const maxPartials = 64;
/** Numbers whose messages may still be acknowledged when their frames have left the window. */
const maxReceipts = 1_024;

/** One session's numbered frames, and who hears them. */
export interface Stream {
  readonly epoch: string;
  /** Most often one. */
  hearers: Subscriber | Set<Subscriber> | undefined;
  seq: number;
  /** Ends with `seq`. */
  readonly held: SequenceBuffer<LogEntry>;
  heldBytes: number;
  /** Up to here some socket has had everything; up to `plain` one that acknowledges nothing. */
  written: number;
  plain: number;
  /** Up to here a client has acknowledged all that is not named in a gap. */
  taken: number;
  /** Somebody has listened who comes back with a cursor. */
  resumes: boolean;
  readonly receipts: PendingReceipts;
  partials: Map<string, LogEntry>;
  partialBytes: number;
}

/** Most streams never hold one: they share this. */
const noPartials: Map<string, LogEntry> = new Map();

export const createStream = (epoch: string): Stream => ({
  epoch,
  hearers: undefined,
  seq: 0,
  held: new SequenceBuffer(),
  heldBytes: 0,
  written: 0,
  plain: 0,
  taken: 0,
  resumes: false,
  receipts: new PendingReceipts(),
  partials: noPartials,
  partialBytes: 0,
});

export function addSubscriber(stream: Stream, subscriber: Subscriber): void {
  const { hearers } = stream;
  if (hearers === undefined) stream.hearers = subscriber;
  else if (hearers instanceof Set) hearers.add(subscriber);
  else stream.hearers = new Set([hearers, subscriber]);
}

/** `false`: it is none of them. */
export function removeSubscriber(stream: Stream, subscriber: Subscriber): boolean {
  const { hearers } = stream;
  if (hearers instanceof Set) return hearers.delete(subscriber);
  if (hearers !== subscriber) return false;
  stream.hearers = undefined;
  return true;
}

export function subscriberCount({ hearers }: Stream): number {
  if (hearers instanceof Set) return hearers.size;
  return hearers ? 1 : 0;
}

export const cursorOf = ({ epoch, seq }: Stream): Cursor => ({ epoch, seq });

export const costOf = ({ heldBytes, partialBytes, receipts }: Stream): number =>
  streamBytes + heldBytes + partialBytes + receipts.open * receiptBytes;

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

/** Bytes it holds. */
const sizeOf = (entry: LogEntry): number => entry.framed?.length ?? entry.frame.byteLength;

/** The last number that is not held any more. */
const takeUnsubscribed = ({ held }: Stream): number => held.first - 1;

/** A plain socket had everything up to here. Nobody can ask for it again unless somebody may come back. */
export function markWritten(stream: Stream, upTo: number): void {
  stream.plain = Math.max(stream.plain, upTo);
  if (stream.resumes) return;
  const { held, receipts } = stream;
  while (held.first <= upTo && held.length > 0) stream.heldBytes -= sizeOf(held.shift()!);
  receipts.forget(upTo);
}

/** Who heard no more than these missed nothing that is still to be had. */
export const isContiguous = (stream: Stream, { after }: SequenceRange): boolean =>
  after <= takeUnsubscribed(stream) ||
  after <= Math.min(stream.written, Math.max(stream.plain, stream.taken));

export const exceedsWindow = (
  { held, heldBytes }: Stream,
  { frames, bytes }: ReplayWindow,
): boolean => held.length > frames || heldBytes > bytes;

type LostMessages = (id: string) => void;

/** Drops the oldest frames until the window is kept; `lost` hears of messages that no socket has had. */
export function trim(stream: Stream, window: ReplayWindow, lost: LostMessages): void {
  const { held, receipts, written } = stream;
  while (exceedsWindow(stream, window)) stream.heldBytes -= sizeOf(held.shift()!);
  const gone = takeUnsubscribed(stream);
  receipts.forget(Math.min(gone, written), stream.resumes ? maxReceipts : 0);
  // Frames that left the window before any socket had them.
  if (gone > written) for (const id of receipts.lose(written, gone)) lost(id);
}

export function append(stream: Stream, entry: LogEntry): void {
  const { message } = entry;
  if (!entry.numbered) {
    if (message !== undefined) keepPartial(stream, message, entry);
    return;
  }
  stream.seq += 1;
  if (stream.hearers === undefined) entry.rest?.();
  stream.held.push(entry);
  stream.heldBytes += sizeOf(entry);
  stream.receipts.push(message);
  if (message !== undefined) forgetPartial(stream, message);
}

/** Gives up all that is held for those who come back. */
export function clearStream(stream: Stream, lost: LostMessages): void {
  stream.partials.clear();
  stream.partialBytes = 0;
  trim(stream, { frames: 0, bytes: 0 }, lost);
}

/** What is known to be lost when the stream ends: all but what somebody has had who acknowledges nothing. */
export function settleRemaining(
  session: string,
  { receipts, plain }: Stream,
  receiptListener: ReceiptListener,
): void {
  for (const id of receipts.lose(plain)) receiptListener(session, id, "undelivered", "expired");
}

function overflowGap(stream: Stream, after: number, to: number): { readonly gap?: Gap } {
  return takeUnsubscribed(stream) > after
    ? { gap: { reason: "overflow", from: after + 1, to } }
    : {};
}

export function replayAfter(
  stream: Stream,
  cursor: Cursor | undefined,
  defaultStart: DefaultStart,
): Replay {
  const { epoch, seq, held, written, plain, taken } = stream;
  const top = cursorOf(stream);
  const partials = [...stream.partials.values()].map(({ frame }) => frame);
  const rest = (after: number): readonly Uint8Array[] =>
    held.from(after + 1).map(({ frame }) => frame);
  if (!cursor) {
    const begin = defaultStart === "given" ? written : Math.max(plain, taken);
    const frames = rest(begin);
    return { top, ...overflowGap(stream, begin, seq - frames.length), frames, partials };
  }
  const isForeign = cursor.epoch !== epoch || cursor.seq > seq;
  if (isForeign) return { top, gap: { reason: "epoch_changed" }, frames: [], partials };
  const missing = overflowGap(stream, cursor.seq, seq);
  return { top, ...missing, frames: missing.gap ? [] : rest(cursor.seq), partials };
}
