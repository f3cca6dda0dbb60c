// Gathers how far the readers of sessions have got. A kill costs only repeated frames.
import type { Release } from "../../kernel/index.ts";
import type { DeliveryProgress, SequenceRange } from "../conversations/log/session-log.ts";

export interface Note extends SequenceRange {
  readonly progress: DeliveryProgress;
}

interface NoteBufferOptions {
  readonly after: (ms: number, run: () => void) => Release;
  readonly write: (session: string, note: Note) => void;
  /** Maximum of appends to a session while its notes wait. The store must have the notes before it
   *  drops the entries that they are about. */
  readonly maxAppends: number;
}

/** A note that a later one may continue, which costs less than a new one for each frame. */
type WaitingNote = Omit<Note, "upTo"> & { upTo: number };

interface SessionNotes {
  readonly notes: WaitingNote[];
  appends: number;
}

const delayMs = 100;
/** Ranges of one session that wait, at most. */
const maxRanges = 64;

/** The second range continues the first. */
const continues = (before: Note, next: Note): boolean =>
  before.epoch === next.epoch &&
  before.progress === next.progress &&
  next.after <= before.upTo &&
  next.after >= before.after;

export class NoteBuffer {
  private readonly options: NoteBufferOptions;
  private sessions = new Map<string, SessionNotes>();
  private stopTimer: Release | undefined;

  constructor(options: NoteBufferOptions) {
    this.options = options;
  }

  add(session: string, note: Note): void {
    const waiting = this.sessions.get(session) ?? { notes: [], appends: 0 };
    const { notes } = waiting;
    if (notes.length === 0) this.sessions.set(session, waiting);
    const last = notes.at(-1);
    if (last && continues(last, note)) last.upTo = Math.max(last.upTo, note.upTo);
    else notes.push({ ...note });
    if (notes.length >= maxRanges) this.flush(session);
    this.stopTimer ??= this.options.after(delayMs, () => {
      this.stopTimer = undefined;
      this.flushAll();
    });
  }

  /** Called before an entry is appended to the session. Writes notes that have waited too long. */
  appended(session: string): void {
    const waiting = this.sessions.get(session);
    if (waiting && (waiting.appends += 1) >= this.options.maxAppends) this.flush(session);
  }

  /** Writes the notes of a session before a call that depends on them. */
  flush(session: string): void {
    const waiting = this.sessions.get(session);
    if (!waiting) return;
    this.sessions.delete(session);
    for (const note of waiting.notes) this.options.write(session, note);
  }

  flushAll(): void {
    for (const session of [...this.sessions.keys()]) this.flush(session);
  }

  close(): void {
    this.stopTimer?.();
    this.stopTimer = undefined;
    this.flushAll();
  }
}
