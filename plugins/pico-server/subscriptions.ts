import type { Release } from "../../kernel/index.ts";
import { numbered, oncePerEntry } from "./faces.ts";
import { readSession } from "./reader.ts";
import type { Cursor, Heard, SessionLog, Tail } from "./session-log.ts";
import { framed } from "./sink.ts";

const mostPerConnection = 64;

const plainBytes = oncePerEntry(({ frame }) => framed(frame));
const numberedBytes = oncePerEntry(({ frame, cursor }) => framed(...numbered(frame, cursor)));

/** A client of the extension: it hears the session it is bound to with numbers, and says what it has. */
export interface Resuming {
  readonly session: string;
  readonly after: Cursor | undefined;
  readonly begin: (tail: Tail & { readonly top: Cursor }) => void;
}

export interface SubscriptionOptions {
  readonly log: SessionLog;
  readonly send: (bytes: Uint8Array, entry: Heard) => void;
  readonly failed: (error: unknown) => void;
  readonly resuming: Resuming | undefined;
}

/** The sessions one connection hears: at most 64, the longest unused leaves; that of the extension stays. */
export interface Subscriptions {
  /** Hears the session from now on; hearing and naming it are uses. */
  use(session: string): void;
  /** Everything of the extension's session up to `seq` has arrived. */
  acknowledge(seq: number): void;
  /** Whether it holds for one of the sessions. */
  some(holds: (session: string) => boolean): boolean;
  close(): void;
}

export function createSubscriptions({ log, send, failed, resuming }: SubscriptionOptions): Subscriptions {
  /** The longest unused comes first. */
  const heard = new Map<string, Release>();
  /** The last one. */
  let latest: string | undefined;
  let open = true;
  let stopResuming: Release = () => undefined;
  /** What this client may acknowledge: behind the gaps it was told of. */
  let mine: { readonly epoch: string; readonly after: number } | undefined;

  function touch(session: string): boolean {
    if (session === latest) return true;
    const release = heard.get(session);
    if (!release) return false;
    heard.delete(session);
    heard.set(session, release);
    latest = session;
    return true;
  }

  function leave(session: string): void {
    heard.get(session)?.();
    heard.delete(session);
  }

  function hear(session: string): void {
    latest = session;
    heard.set(session, () => undefined); // it may begin before it can be left
    heard.set(session, readSession({
      log, session, after: undefined, resumes: false, failed,
      begin: () => undefined,
      take(entry) {
        if (heard.size > 1) touch(session);
        send(plainBytes(entry), entry);
      },
    }));
  }

  function resume({ session, after, begin }: Resuming): void {
    stopResuming = readSession({
      log, session, after, beginning: "confirmed", resumes: true, failed,
      begin(tail) {
        const { gap, top } = tail;
        mine = { epoch: top.epoch, after: gap && "to" in gap ? gap.to : 0 };
        begin(tail);
      },
      take: (entry) => send(entry.numbered ? numberedBytes(entry) : plainBytes(entry), entry),
    });
    if (!open) stopResuming();
  }
  if (resuming) resume(resuming);

  return {
    use(session) {
      if (!open || session === resuming?.session || touch(session)) return;
      hear(session);
      const [oldest] = heard.keys();
      if (heard.size > mostPerConnection && oldest !== undefined) leave(oldest);
    },
    acknowledge(seq) {
      if (resuming && mine) log.note(resuming.session, { ...mine, upTo: seq }, "taken");
    },
    some: (holds) => [...heard.keys(), ...(resuming ? [resuming.session] : [])].some(holds),
    close() {
      open = false;
      stopResuming();
      for (const session of [...heard.keys()]) leave(session);
    },
  };
}
