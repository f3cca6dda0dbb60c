import type {
  DefaultStart,
  Cursor,
  SequencedEntry,
  Subscriber,
  SessionLog,
  Replay,
} from "./session-log.ts";

/** Where the stream stands, and what it holds for the reader, which follows at once. */
export type StreamStart = Replay & { readonly top: Cursor };

export interface ReaderListener {
  begin(reader: SessionReader, start: StreamStart): void;
  take(reader: SessionReader, entry: SequencedEntry): void;
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

  hear(entry: SequencedEntry): void {
    if (!this.early) this.owner.take(this, entry);
    else if (entry.numbered) this.early.push(entry);
  }

  stop(): void {
    if (!this.open) return;
    this.open = false;
    this.log.unsubscribe(this.session, this);
  }

  private begin(tail: Replay): void {
    const { session, owner } = this;
    const { top, frames, partials } = tail;
    if (!this.open || !top) return;
    owner.begin(this, { ...tail, top });
    frames.forEach((frame, at) => {
      const cursor = { epoch: top.epoch, seq: top.seq - frames.length + at + 1 };
      owner.take(this, { session, cursor, frame, numbered: true });
    });
    for (const frame of partials)
      owner.take(this, { session, cursor: top, frame, numbered: false });
    const rest = this.early;
    this.early = undefined;
    for (const entry of rest ?? []) if (entry.cursor.seq > top.seq) owner.take(this, entry);
  }
}
