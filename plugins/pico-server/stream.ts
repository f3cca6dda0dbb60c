import type { Beginning, Cursor, Entry, Gap, Hearer, Reach, Settled, Tail } from "./session-log.ts";

/** What a stream holds for those who come back. */
export interface Window {
  readonly frames: number;
  readonly bytes: number;
}

/** What a stream costs beside its frames. */
const streamBytes = 1_024;
const receiptBytes = 64;
/** Messages on the way of which a newcomer is shown the latest state. */
const mostPartials = 64;
/** Messages that left the window and may still be acknowledged. */
const mostReceipts = 1_024;

/** One session's numbered frames, and who hears them. */
export interface Stream {
  readonly epoch: string;
  /** Most often one. */
  hearers: Hearer | Set<Hearer> | undefined;
  seq: number;
  /** Ends with `seq`. */
  held: Entry[];
  heldBytes: number;
  /** Up to here some socket has had everything; up to `plain` one that acknowledges nothing. */
  written: number;
  plain: number;
  /** Up to here a client has acknowledged all that is not named in a gap. */
  taken: number;
  /** Somebody has listened who comes back with a cursor. */
  resumes: boolean;
  /** Messages that are neither delivered nor lost, in order. `isGiven`: to somebody who heard but a part. */
  receipts: { readonly seq: number; readonly id: string; readonly isGiven?: true }[];
  partials: Map<string, Uint8Array>;
  partialBytes: number;
}

/** Most streams never hold one: they share this. */
const noPartials: Map<string, Uint8Array> = new Map();

export const newStream = (epoch: string): Stream => ({
  epoch, hearers: undefined, seq: 0, held: [], heldBytes: 0, written: 0, plain: 0, taken: 0, resumes: false,
  receipts: [], partials: noPartials, partialBytes: 0,
});

export function addHearer(stream: Stream, hearer: Hearer): void {
  const { hearers } = stream;
  if (hearers === undefined) stream.hearers = hearer;
  else if (hearers instanceof Set) hearers.add(hearer);
  else stream.hearers = new Set([hearers, hearer]);
}

/** `false`: it is none of them. */
export function removeHearer(stream: Stream, hearer: Hearer): boolean {
  const { hearers } = stream;
  if (hearers instanceof Set) return hearers.delete(hearer);
  if (hearers !== hearer) return false;
  stream.hearers = undefined;
  return true;
}

export function hearersOf({ hearers }: Stream): number {
  if (hearers instanceof Set) return hearers.size;
  return hearers ? 1 : 0;
}

export const cursorOf = ({ epoch, seq }: Stream): Cursor => ({ epoch, seq });

export const costOf = ({ heldBytes, partialBytes, receipts }: Stream): number =>
  streamBytes + heldBytes + partialBytes + receipts.length * receiptBytes;

function forgetPartial(stream: Stream, message: string): void {
  if (stream.partials.size === 0) return;
  stream.partialBytes -= stream.partials.get(message)?.byteLength ?? 0;
  stream.partials.delete(message);
}

function keepPartial(stream: Stream, message: string, frame: Uint8Array): void {
  forgetPartial(stream, message);
  if (stream.partials === noPartials) stream.partials = new Map();
  stream.partials.set(message, frame);
  stream.partialBytes += frame.byteLength;
  const [oldest] = stream.partials.keys();
  if (stream.partials.size > mostPartials && oldest !== undefined) forgetPartial(stream, oldest);
}

const isIn = ({ after, upTo }: Reach, { seq }: { readonly seq: number }): boolean => seq > after && seq <= upTo;

/** Bytes it holds. */
const sizeOf = (entry: Entry): number => (entry.framed ?? entry.frame).byteLength;

/** The last number that is not held any more. */
const goneOf = ({ seq, held }: Stream): number => seq - held.length;

/** A plain socket had everything up to here. Nobody can ask for it again unless somebody may come back. */
export function wasWritten(stream: Stream, upTo: number): void {
  stream.plain = Math.max(stream.plain, upTo);
  if (stream.resumes) return;
  const { held } = stream;
  while (goneOf(stream) < upTo && held.length > 0) {
    stream.heldBytes -= sizeOf((held.length === 1 ? held.pop() : held.shift())!); // the last leaves its room behind
  }
  while (stream.receipts[0] && stream.receipts[0].seq <= upTo) stream.receipts.shift();
}

/** Who heard no more than these missed nothing that is still to be had. */
export const isWhole = (stream: Stream, { after }: Reach): boolean =>
  after <= goneOf(stream) || after <= Math.min(stream.written, Math.max(stream.plain, stream.taken));

/** Somebody had these and not what came before them: that stays for others. */
export function wasGiven(stream: Stream, reach: Reach): void {
  stream.receipts = stream.receipts.map((receipt) => (isIn(reach, receipt) ? { ...receipt, isGiven: true } : receipt));
}

export const isOver = ({ held, heldBytes }: Stream, { frames, bytes }: Window): boolean =>
  held.length > frames || heldBytes > bytes;

type Lost = (id: string) => void;

/** Drops the oldest frames until the window is kept; `lost` hears of messages that no socket has had. */
export function trim(stream: Stream, window: Window, lost: Lost): void {
  while (isOver(stream, window)) {
    stream.heldBytes -= sizeOf(stream.held.shift()!);
  }
  const gone = goneOf(stream);
  const { receipts } = stream;
  let surplus = stream.resumes ? receipts.length - mostReceipts : receipts.length;
  while (surplus > 0 && receipts.length > 0 && receipts[0]!.seq <= Math.min(gone, stream.written)) {
    receipts.shift();
    surplus -= 1;
  }
  if (gone > stream.written) loseUnwritten(stream, gone, lost);
}

/** Frames that left the window before any socket had them. */
function loseUnwritten(stream: Stream, gone: number, lost: Lost): void {
  stream.receipts = stream.receipts.filter(({ seq, id, isGiven }) => {
    const isLost = seq > stream.written && seq <= gone;
    if (isLost && !isGiven) lost(id);
    return !isLost;
  });
}

export function put(stream: Stream, entry: Entry): void {
  const { message } = entry;
  if (!entry.numbered) {
    if (message !== undefined) keepPartial(stream, message, entry.frame);
    return;
  }
  stream.seq += 1;
  stream.held.push(entry);
  stream.heldBytes += sizeOf(entry);
  if (message === undefined) return;
  forgetPartial(stream, message);
  stream.receipts.push({ seq: stream.seq, id: message });
}

/** Messages that were acknowledged now, with all that was said of them. */
export function take(stream: Stream, reach: Reach): string[] {
  const taken = stream.receipts.filter((receipt) => isIn(reach, receipt));
  if (taken.length === 0) return [];
  stream.receipts = stream.receipts.filter((receipt) => !isIn(reach, receipt));
  const open = new Set(stream.receipts.map(({ id }) => id));
  return [...new Set(taken.map(({ id }) => id))].filter((id) => !open.has(id));
}

/** Gives up all that is held for those who come back. */
export function empty(stream: Stream, lost: Lost): void {
  stream.partials.clear();
  stream.partialBytes = 0;
  trim(stream, { frames: 0, bytes: 0 }, lost);
}

/** What is known to be lost when the stream ends: all but what somebody has had who acknowledges nothing. */
export function settleRest(session: string, { receipts, plain }: Stream, settled: Settled): void {
  const lost = receipts.filter(({ seq, isGiven }) => seq > plain && !isGiven);
  for (const { id } of lost) settled(session, id, "undelivered", "expired");
}

function overflow({ seq, held }: Stream, after: number, to: number): { readonly gap?: Gap } {
  return seq - held.length > after ? { gap: { reason: "overflow", from: after + 1, to } } : {};
}

export function tailAfter(stream: Stream, cursor: Cursor | undefined, beginning: Beginning): Tail {
  const { epoch, seq, held, written, plain, taken } = stream;
  const top = cursorOf(stream);
  const partials = [...stream.partials.values()];
  const rest = (after: number): readonly Uint8Array[] =>
    held.slice(Math.max(0, held.length - (seq - after))).map(({ frame }) => frame);
  if (!cursor) {
    const begin = beginning === "given" ? written : Math.max(plain, taken);
    const frames = rest(begin);
    return { top, ...overflow(stream, begin, seq - frames.length), frames, partials };
  }
  const isForeign = cursor.epoch !== epoch || cursor.seq > seq;
  if (isForeign) return { top, gap: { reason: "epoch_changed" }, frames: [], partials };
  const missing = overflow(stream, cursor.seq, seq);
  return { top, ...missing, frames: missing.gap ? [] : rest(cursor.seq), partials };
}
