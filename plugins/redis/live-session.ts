// A session with subscribers on this node: passes on what any node appends, in order.
import type { LogEntry, SequencedEntry, Subscriber } from "../conversations/log/session-log.ts";
import type { SessionPlace } from "./keys.ts";
import { readHead } from "./nodes.ts";

/** The first line of a message on the channel of a session. */
export interface EntryHead {
  /** Epoch, and the number of the entry or of the last one before it. */
  readonly e: string;
  readonly s: number;
  /** Node that appended it, and the number of the append of this node. */
  readonly n: string;
  readonly c: number;
  /** 1 for a numbered entry. */
  readonly k: 0 | 1;
  readonly m?: string;
  readonly t?: string;
  /** Id of the message that this turn of a person is. */
  readonly q?: string;
  /** 1 for the complete text of a message. */
  readonly f?: 1;
  /** Unix milliseconds of the append. */
  readonly a?: number;
}

/** An entry that was appended on this node, with what is lost when the append returns. */
export interface OwnEntry {
  readonly entry: LogEntry;
  readonly growth: LogEntry["growth"];
}

/**
 * Creates an entry as subscribers receive it.
 *
 * @param frame - Undefined for an entry that this node has appended and still has.
 */
export function toHeardEntry(
  session: string,
  head: EntryHead,
  frame: Uint8Array | undefined,
  { own, me }: { readonly own?: OwnEntry | undefined; readonly me: string },
): SequencedEntry {
  const source: Pick<LogEntry, "frame" | "framed"> = own?.entry ?? { frame: frame! };
  return {
    session,
    cursor: { epoch: head.e, seq: head.s },
    numbered: head.k === 1,
    message: head.m,
    type: head.t as LogEntry["type"],
    request: head.q,
    framed: source.framed,
    growth: own?.growth,
    isForeign: head.n !== me,
    // It is encoded when a subscriber needs it.
    get frame() {
      return source.frame;
    },
  };
}

export interface LiveSessionOptions {
  readonly session: string;
  readonly place: SessionPlace;
  /** Id of this node. */
  readonly me: string;
  /** @returns The entry, if this node appended it and still has it. */
  readonly own: (head: EntryHead) => OwnEntry | undefined;
  /** The subscribers have received a numbered entry. */
  readonly heard: (live: LiveSession) => void;
  /** Entries are missing before the one that was heard. */
  readonly missing: (live: LiveSession) => void;
  /** The session has another epoch than its subscribers know. */
  readonly renewed: (live: LiveSession) => void;
  /** The node that had the session is gone. */
  readonly interrupted: (live: LiveSession) => void;
  /** A client has connected to another node; the digest identifies its former connection. */
  readonly replaced: (live: LiveSession, node: unknown, digest: unknown) => void;
}

const maxHeld = 1_024;

export class LiveSession {
  readonly session: string;
  readonly place: SessionPlace;
  readonly subscribers = new Set<Subscriber>();
  /** The position that all subscribers have; empty until the stream is open. */
  epoch = "";
  seq = 0;
  /** Resolves when everything that is published is heard, or held until the stream is open. */
  listening: Promise<void> | undefined;
  /** Resolves when everything that is published is heard, and the request for ends is known. */
  opening: Promise<void> | undefined;
  isFetching = false;
  /** True once a client here has asked for the ends of answers. */
  wantsEnds = false;
  isClosed = false;
  private readonly options: LiveSessionOptions;
  private held: SequencedEntry[] = [];
  private waiting: { readonly seq: number; readonly resolve: () => void }[] = [];

  constructor(options: LiveSessionOptions) {
    this.options = options;
    this.session = options.session;
    this.place = options.place;
  }

  /** True while the subscribers receive entries. */
  get isOpen(): boolean {
    return this.epoch !== "" && !this.isClosed;
  }

  /** Lets later subscribers wait for this as well. */
  wait(opening: Promise<void>): void {
    this.opening = opening;
    const forget = (): void => {
      if (this.opening === opening) this.opening = undefined;
    };
    opening.then(forget, forget);
  }

  /** Sets the position at which the subscribers begin. */
  begin(epoch: string, seq: number): void {
    this.epoch = epoch;
    this.seq = seq;
    this.releaseHeld();
  }

  received(message: Buffer): void {
    const end = message.indexOf(10);
    const fields = end < 0 ? undefined : readHead(message);
    if (fields?.e === undefined) {
      if (fields?.t === "renewed") this.options.renewed(this);
      if (fields?.t === "interrupted") this.options.interrupted(this);
      if (fields?.t === "replaced") this.options.replaced(this, fields.n, fields.d);
      return;
    }
    const head = fields as unknown as EntryHead;
    const { own, me } = this.options;
    const origin = { own: own(head), me };
    this.hear(toHeardEntry(this.session, head, message.subarray(end + 1), origin));
  }

  /** Passes on an entry, or holds it until those before it are there. */
  hear(entry: SequencedEntry): void {
    const { cursor, numbered } = entry;
    if (this.isClosed) return;
    if (this.epoch === "" || this.isFetching) return this.hold(entry);
    if (cursor.epoch !== this.epoch) return this.options.renewed(this);
    const next = numbered ? this.seq + 1 : this.seq;
    if (cursor.seq > next) {
      this.hold(entry);
      return this.options.missing(this);
    }
    if (cursor.seq < next) return;
    this.seq = cursor.seq;
    if (numbered) this.options.heard(this);
    for (const subscriber of [...this.subscribers]) subscriber.onEntry(entry);
    if (this.waiting.length > 0) this.releaseWaiting();
  }

  /** Passes on the entries after `seq` that were read from the store, then those that waited. */
  fetched(entries: readonly SequencedEntry[]): void {
    const { held } = this;
    this.held = [];
    this.isFetching = false;
    for (const entry of [...entries, ...held]) if (!this.isClosed) this.hear(entry);
  }

  /** Resolves when the subscribers here have received this number. */
  heard(epoch: string, seq: number): Promise<void> | undefined {
    const hasHeard = this.epoch !== epoch || this.seq >= seq || this.subscribers.size === 0;
    if (hasHeard || this.isClosed) return undefined;
    return new Promise((resolve) => this.waiting.push({ seq, resolve }));
  }

  /** Continues all calls that wait for entries. */
  release(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const { resolve } of waiting) resolve();
  }

  close(): void {
    this.isClosed = true;
    this.held = [];
    this.release();
  }

  private hold(entry: SequencedEntry): void {
    this.held.push(entry);
    if (this.held.length <= maxHeld) return;
    // All of them are in the store.
    this.held = [];
    if (this.epoch !== "") this.options.missing(this);
  }

  private releaseHeld(): void {
    const held = this.held;
    this.held = [];
    for (const entry of held) this.hear(entry);
  }

  private releaseWaiting(): void {
    const { seq } = this;
    const isDue = (item: { readonly seq: number }): boolean => item.seq <= seq;
    const due = this.waiting.filter(isDue);
    this.waiting = this.waiting.filter((item) => !isDue(item));
    for (const { resolve } of due) resolve();
  }
}
