// The numbered frames of one session and its subscribers.
import { FrameWindow, PendingReceipts, sizeOf } from "./sequence.ts";
import type {
  DefaultStart,
  Cursor,
  EncodedFrame,
  LogEntry,
  Gap,
  Subscriber,
  SequenceRange,
  Replay,
  SequencedEntry,
} from "./session-log.ts";

/** One numbered frame, as it was sent. */
interface StoredFrame {
  /** Number of the frame in its stream, from 1. */
  readonly seq: number;
  /** Id of the message; undefined for frames without one. */
  readonly message: string | undefined;
  /** A complete Pico server frame: a JSON object in UTF-8, without its `seq` and `epoch`. */
  readonly frame: Uint8Array;
}

/** How far the readers of a stream have got. All are numbers of its epoch. */
export interface StreamPositions {
  /** Some client was sent everything up to this number. */
  readonly written: number;
  /** A client without acknowledgements was sent everything up to this number. */
  readonly plain: number;
  /** A client has acknowledged everything up to this number, except the numbers in a gap. */
  readonly acknowledged: number;
  /** True if a client may return with a cursor. */
  readonly resumes: boolean;
}

/** A stream as it was left. */
export interface StoredStream extends StreamPositions {
  /** 16 hexadecimal digits. */
  readonly epoch: string;
  /** Number of the last frame; 0 for an empty stream. */
  readonly seq: number;
  /** The last frames without a hole, ending at `seq`: at most 256 and 512 KiB. */
  readonly frames: readonly StoredFrame[];
}

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

/** Receives the ids of messages that no client was sent. */
type LostMessages = (id: string) => void;

const noFrames = { frames: 0, bytes: 0 };

export class Stream {
  readonly epoch: string;
  readonly subscribers = new Set<Subscriber>();
  seq = 0;
  /**
   * Some client was sent everything up to `written`. A client without acknowledgements was sent
   * everything up to `plain`.
   */
  written = 0;
  plain = 0;
  /** A client has acknowledged everything up to this number, except the numbers in a gap. */
  acknowledged = 0;
  /** A subscriber may return with a cursor. */
  resumes = false;
  /** A subscriber has asked for the turns of people. */
  turns = false;
  readonly receipts: PendingReceipts;
  /** The last item has the number `seq`. */
  private readonly stored: FrameWindow;
  private storedBytes = 0;
  /** Absent in most streams. */
  private partials: Map<string, LogEntry> | undefined;
  private partialBytes = 0;

  constructor(epoch: string, first = 1) {
    this.epoch = epoch;
    this.stored = new FrameWindow(first);
    this.receipts = new PendingReceipts(first);
  }

  /** Creates a stream as a store has kept it. Unacknowledged frames have receipts. */
  static restore({ epoch, frames, ...positions }: StoredStream): Stream {
    const stream = new Stream(epoch, positions.seq - frames.length + 1);
    Object.assign(stream, positions);
    const settled = Math.max(stream.plain, stream.acknowledged);
    for (const { seq: number, message, frame } of frames) {
      stream.stored.push({ frame, message, numbered: true });
      stream.storedBytes += frame.byteLength;
      stream.receipts.push(number > settled ? message : undefined);
    }
    if (!stream.resumes) stream.markWritten(stream.plain);
    return stream;
  }

  get cursor(): Cursor {
    return { epoch: this.epoch, seq: this.seq };
  }

  /** Bytes that count in the limits of all streams. */
  get cost(): number {
    const { storedBytes, partialBytes, receipts } = this;
    return streamBytes + storedBytes + partialBytes + receipts.open * receiptBytes;
  }

  append(entry: LogEntry): void {
    const { message } = entry;
    if (!entry.numbered) {
      if (message !== undefined) this.keepPartial(message, entry);
      return;
    }
    this.seq += 1;
    this.stored.push(entry);
    this.storedBytes += sizeOf(entry);
    this.receipts.push(message);
    if (message !== undefined) this.forgetPartial(message);
  }

  /**
   * A client without acknowledgements was sent everything up to this number. Without a subscriber
   * that may return, no client can ask for these frames again.
   */
  markWritten(upTo: number): void {
    this.plain = Math.max(this.plain, upTo);
    if (this.resumes) return;
    while (this.stored.first <= upTo && this.stored.length > 0) this.dropOldest();
    this.receipts.forget(upTo);
  }

  /**
   * True if a client that received only this range has missed nothing that is still available. The
   * turns of people before the range do not count, because such a client receives none.
   */
  isContiguous({ after: given }: SequenceRange): boolean {
    const { stored, written, plain, acknowledged } = this;
    let after = given;
    while (stored.isTurn(after)) after -= 1;
    return after <= this.lastDropped || after <= Math.min(written, Math.max(plain, acknowledged));
  }

  /** True if a frame in the window is the message of a client with this id. */
  hasTurn(request: string): boolean {
    return this.stored.hasRequest(request);
  }

  exceeds({ frames, bytes }: ReplayWindow): boolean {
    return this.stored.length > frames || this.storedBytes > bytes;
  }

  /** Drops the oldest frames until the stream fits its window. */
  trim(window: ReplayWindow, lost: LostMessages): void {
    const { receipts, written } = this;
    while (this.exceeds(window)) this.dropOldest();
    const dropped = this.lastDropped;
    receipts.forget(Math.min(dropped, written), this.resumes ? maxReceipts : 0);
    // Frames that left the window before they were sent to any client.
    if (dropped > written) for (const id of receipts.lose(written, dropped)) lost(id);
  }

  /** Drops all frames that are kept for replay. */
  clear(lost: LostMessages): void {
    this.partials = undefined;
    this.partialBytes = 0;
    this.trim(noFrames, lost);
  }

  /** Reports the messages that no client without acknowledgements has received. */
  end(lost: LostMessages): void {
    for (const id of this.receipts.lose(this.plain)) lost(id);
  }

  replayAfter(cursor: Cursor | undefined, defaultStart: DefaultStart): Replay {
    const { epoch, seq, written, plain, acknowledged, cursor: top } = this;
    const partials = [...(this.partials?.values() ?? [])].map(({ frame }) => frame);
    if (!cursor) {
      const start = defaultStart === "written" ? written : Math.max(plain, acknowledged);
      const frames = this.framesAfter(start);
      return { top, ...this.overflowGap(start, seq - frames.length), frames, partials };
    }
    const isForeign = cursor.epoch !== epoch || cursor.seq > seq;
    if (isForeign) return { top, gap: { reason: "epoch_changed" }, frames: [], partials };
    const missing = this.overflowGap(cursor.seq, seq);
    return { top, ...missing, frames: missing.gap ? [] : this.framesAfter(cursor.seq), partials };
  }

  private framesAfter(after: number): readonly Uint8Array[] {
    return this.stored.from(after + 1).map(({ frame }) => frame);
  }

  private overflowGap(after: number, to: number): { readonly gap?: Gap } {
    return this.lastDropped > after ? { gap: { reason: "overflow", from: after + 1, to } } : {};
  }

  /** The last number that is no longer kept. */
  private get lastDropped(): number {
    return this.stored.first - 1;
  }

  private dropOldest(): void {
    this.storedBytes -= sizeOf(this.stored.shift()!);
  }

  private forgetPartial(message: string): void {
    const partial = this.partials?.get(message);
    if (!partial) return;
    this.partialBytes -= sizeOf(partial);
    this.partials!.delete(message);
  }

  private keepPartial(message: string, entry: LogEntry): void {
    this.forgetPartial(message);
    this.partials ??= new Map();
    this.partials.set(message, entry);
    this.partialBytes += sizeOf(entry);
    const [oldest] = this.partials.keys();
    if (this.partials.size > maxPartials && oldest !== undefined) this.forgetPartial(oldest);
  }
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
