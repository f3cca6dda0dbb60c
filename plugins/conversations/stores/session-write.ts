// One write of a session. One object per write, because thousands may wait.
import type { AppendResult, LogEntry } from "../log/session-log.ts";
import type { BatchDraft, Write } from "./batch-writer.ts";
import type { CachedSession } from "./session-cache.ts";
import type { Batch, NewEntry } from "./storage.ts";

/** The log that writes. */
export interface WriteOwner {
  readonly channel: string;
  /** Adds the stream of a session that the store does not have. */
  addStream(draft: BatchDraft, cached: CachedSession): void;
  /** Delivers an entry that is stored. */
  deliver(cached: CachedSession, entry: LogEntry): AppendResult;
  /** Numbers of entries that were not stored are used again. */
  resetNumber(cached: CachedSession): void;
}

/** The content of a write. Without either, it only begins the stream. */
interface Content {
  readonly entry?: LogEntry;
  readonly taken?: Batch["taken"][number];
  /** Unix milliseconds. */
  readonly at: number;
}

const operations: Readonly<Record<string, NewEntry["op"]>> = {
  "message.user": "user",
  "message.create": "create",
  "message.update": "update",
  "message.delete": "delete",
};

export class SessionWrite implements Write {
  readonly bytes: number;
  private readonly owner: WriteOwner;
  private readonly cached: CachedSession;
  private readonly content: Content;
  private readonly resolve: (result: AppendResult | undefined) => void;
  private readonly reject: (error: unknown) => void;

  constructor(
    owner: WriteOwner,
    cached: CachedSession,
    content: Content,
    resolve: (result: AppendResult | undefined) => void,
    reject: (error: unknown) => void,
  ) {
    const { entry, taken } = content;
    this.owner = owner;
    this.cached = cached;
    this.content = content;
    this.resolve = resolve;
    this.reject = reject;
    if (entry) this.bytes = (entry.text ?? entry.frame).length;
    else this.bytes = taken ? taken.id.length + taken.digest.length : 0;
    cached.writes += 1;
    if (entry) cached.entries += 1;
  }

  addTo(draft: BatchDraft): void {
    const { cached, owner } = this;
    const { entry, taken, at } = this.content;
    if (!cached.isStored && !cached.isBeginning) owner.addStream(draft, cached);
    if (taken) draft.taken.push(taken);
    if (!entry) return;
    cached.seq += 1;
    const { type = "", message, final = false } = entry;
    const op = operations[type] ?? "other";
    const { channel } = owner;
    const { session, seq } = cached;
    const frame = entry.text ?? entry.frame;
    draft.entries.push({ channel, session, seq, message, op, final, at, frame });
  }

  committed(): void {
    const { cached } = this;
    const { entry } = this.content;
    cached.writes -= 1;
    cached.isBeginning = false;
    cached.isStored = true;
    if (!entry) return this.resolve(undefined);
    cached.entries -= 1;
    this.resolve(this.owner.deliver(cached, entry));
  }

  failed(error: unknown): void {
    const { cached } = this;
    cached.writes -= 1;
    cached.isBeginning = false;
    if (this.content.entry) {
      cached.entries -= 1;
      this.owner.resetNumber(cached);
    }
    this.reject(error);
  }
}
