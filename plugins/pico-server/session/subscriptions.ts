import {
  frameBytes,
  frameWithPosition,
  memoizeLast,
  type EncodedFrame,
} from "../frame-encoding.ts";
import type {
  Cursor,
  DefaultStart,
  Replay,
  SequencedEntry,
  SessionLog,
  Subscriber,
} from "./session-log.ts";

/** Where the stream stands, and what it holds for the reader, which follows at once. */
export type StreamStart = Replay & { readonly top: Cursor };

export interface ReaderListener {
  begin(reader: SessionReader, start: StreamStart): void;
  accept(reader: SessionReader, entry: SequencedEntry): void;
  failed(error: unknown): void;
}

export interface ReadFrom {
  /** What came after it is wanted; undefined: what came after the beginning. */
  readonly after: Cursor | undefined;
  /** Default `given`. */
  readonly beginning?: DefaultStart;
  /** It may come back with a cursor. */
  readonly resumes: boolean;
}

/** Hears a session from a place on: first what is held behind it, then what comes; nothing twice, nothing left out. */
export class SessionReader implements Subscriber {
  readonly session: string;
  private readonly log: SessionLog;
  private readonly owner: ReaderListener;
  /** Numbered frames that came while the tail was looked up. */
  private early: SequencedEntry[] | undefined = [];
  private open = true;

  constructor(log: SessionLog, session: string, owner: ReaderListener) {
    this.log = log;
    this.session = session;
    this.owner = owner;
  }

  start({ after, beginning, resumes }: ReadFrom): void {
    this.log.subscribe(this.session, this, { resumes });
    const tail = this.log.readAfter(this.session, after, beginning);
    if (tail instanceof Promise)
      tail.then((late) => this.begin(late)).catch((error) => this.owner.failed(error));
    else this.begin(tail);
  }

  onEntry(entry: SequencedEntry): void {
    if (!this.early) this.owner.accept(this, entry);
    else if (entry.numbered) this.early.push(entry);
  }

  stop(): void {
    if (!this.open) return;
    this.open = false;
    this.log.unsubscribe(this.session, this);
  }

  private begin(replay: Replay): void {
    const { session, owner } = this;
    const { top, frames, partials } = replay;
    if (!this.open || !top) return;
    owner.begin(this, { ...replay, top });
    frames.forEach((frame, at) => {
      const cursor = { epoch: top.epoch, seq: top.seq - frames.length + at + 1 };
      owner.accept(this, { session, cursor, frame, numbered: true });
    });
    for (const frame of partials)
      owner.accept(this, { session, cursor: top, frame, numbered: false });
    const rest = this.early;
    this.early = undefined;
    for (const entry of rest ?? []) if (entry.cursor.seq > top.seq) owner.accept(this, entry);
  }
}

const maxSessionsPerConnection = 64;

const frameOnce = memoizeLast(({ frame }) => frameBytes(frame));
const frameWithoutPosition = (entry: SequencedEntry): EncodedFrame =>
  entry.framed ?? frameOnce(entry);
const frameWithPositionOnce = memoizeLast(frameWithPosition);

export interface SubscriptionsOwner {
  send(frame: EncodedFrame, entry: SequencedEntry): void;
  failed(error: unknown): void;
  /** Of the extension's session. */
  begin(start: StreamStart): void;
}

/** The sessions one connection hears: at most 64, the longest unused leaves; that of the extension stays, which hears
 *  it with numbers, and says what it has. */
export class Subscriptions implements ReaderListener {
  private readonly log: SessionLog;
  private readonly owner: SubscriptionsOwner;
  /** The longest unused comes first. */
  private readers: SessionReader[] | undefined = undefined;
  private resumer: SessionReader | undefined = undefined;
  /** What this client may acknowledge: behind the gaps it was told of. */
  private mine: { readonly epoch: string; readonly after: number } | undefined = undefined;
  private open = true;

  constructor(log: SessionLog, owner: SubscriptionsOwner) {
    this.log = log;
    this.owner = owner;
  }

  /** The session of a client of the extension, from the place on that it named. */
  resume(session: string, after: Cursor | undefined): void {
    this.resumer = new SessionReader(this.log, session, this);
    this.resumer.start({ after, beginning: "confirmed", resumes: true });
  }

  /** Hears the session from now on; hearing and naming it are uses. */
  use(session: string): void {
    if (!this.open || session === this.resumer?.session || this.touch(session)) return;
    const reader = new SessionReader(this.log, session, this);
    const readers = (this.readers ??= []);
    if (readers.length === maxSessionsPerConnection) readers.shift()!.stop();
    readers.push(reader);
    reader.start({ after: undefined, resumes: false }); // what it hears may be too much, and close all this
  }

  /** Everything of the extension's session up to `seq` has arrived. */
  acknowledge(seq: number): void {
    if (this.resumer && this.mine)
      this.log.note(this.resumer.session, { ...this.mine, upTo: seq }, "taken");
  }

  /** Whether it holds for one of the sessions. */
  some(holds: (session: string) => boolean): boolean {
    const isHeld = ({ session }: SessionReader): boolean => holds(session);
    return (
      (this.readers?.some(isHeld) ?? false) || (this.resumer !== undefined && isHeld(this.resumer))
    );
  }

  close(): void {
    this.open = false;
    this.resumer?.stop();
    for (const reader of this.readers ?? []) reader.stop();
    this.readers = undefined;
  }

  begin(reader: SessionReader, start: StreamStart): void {
    if (reader !== this.resumer) return;
    const { gap, top } = start;
    this.mine = { epoch: top.epoch, after: gap && "to" in gap ? gap.to : 0 };
    this.owner.begin(start);
  }

  accept(reader: SessionReader, entry: SequencedEntry): void {
    const isMine = reader === this.resumer;
    if (!isMine && this.readers && this.readers.length > 1) this.touch(reader.session);
    this.owner.send(
      isMine && entry.numbered ? frameWithPositionOnce(entry) : frameWithoutPosition(entry),
      entry,
    );
  }

  failed(error: unknown): void {
    this.owner.failed(error);
  }

  private touch(session: string): boolean {
    const { readers } = this;
    if (readers === undefined) return false;
    const last = readers.length - 1;
    if (readers[last]?.session === session) return true;
    const at = readers.findIndex((reader) => reader.session === session);
    if (at === -1) return false;
    readers.push(...readers.splice(at, 1));
    return true;
  }
}
