import type { Release } from "../../kernel/index.ts";
import type { Beginning, Cursor, Heard, SessionLog, Tail } from "./session-log.ts";

export interface ReaderOptions {
  readonly log: SessionLog;
  readonly session: string;
  /** What came after it is wanted; undefined: what came after the beginning. */
  readonly after: Cursor | undefined;
  /** Default `given`. */
  readonly beginning?: Beginning;
  /** It may come back with a cursor. */
  readonly resumes: boolean;
  /** Where the stream stands; what it holds for this reader follows at once. */
  readonly begin: (tail: Tail & { readonly top: Cursor }) => void;
  readonly take: (entry: Heard) => void;
  readonly failed: (error: unknown) => void;
}

/** Hears a session from a place on: first what is held behind it, then what comes; nothing twice, nothing left out. */
export function readSession(options: ReaderOptions): Release {
  const { log, session, after, begin, take } = options;
  /** Numbered frames that came while the tail was looked up. */
  let early: Heard[] | undefined = [];
  let open = true;
  const release = log.subscribe(session, (entry) => {
    if (!early) take(entry);
    else if (entry.numbered) early.push(entry);
  }, { resumes: options.resumes });

  function replay({ top, frames }: Tail & { readonly top: Cursor }): void {
    frames.forEach((frame, at) => {
      const cursor = { epoch: top.epoch, seq: top.seq - frames.length + at + 1 };
      take({ session, cursor, frame, numbered: true });
    });
  }

  function start(tail: Tail): void {
    const { top } = tail;
    if (!open || !top) return;
    begin({ ...tail, top });
    replay({ ...tail, top });
    for (const frame of tail.partials) take({ session, cursor: top, frame, numbered: false });
    const rest = early?.filter(({ cursor }) => cursor.seq > top.seq) ?? [];
    early = undefined;
    rest.forEach(take);
  }

  const tail = log.readAfter(session, after, options.beginning);
  if (tail instanceof Promise) tail.then(start).catch(options.failed);
  else start(tail);
  return () => {
    open = false;
    release();
  };
}
