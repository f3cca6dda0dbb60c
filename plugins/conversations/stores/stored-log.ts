/**
 * The session log of one channel over a durable store. Streams in use are kept in the memory form;
 * a numbered entry enters it, and so reaches subscribers, after the store has written it.
 */
import type { Awaitable, Release } from "../../../kernel/index.ts";
import {
  createMemorySessionLog,
  type MemorySessionLog,
  type MemorySessionLogOptions,
} from "../log/memory-session-log.ts";
import type {
  AppendResult,
  Cursor,
  DefaultStart,
  DeliveryProgress,
  LogEntry,
  LogLimits,
  Replay,
  SequenceRange,
  SessionLog,
  SubscribeOptions,
  Subscriber,
} from "../log/session-log.ts";
import type { TakenId } from "../service.ts";
import type { BatchDraft, BatchWriter } from "./batch-writer.ts";
import { SessionCache, type CachedSession } from "./session-cache.ts";
import { findTurn } from "./find-turn.ts";
import { SessionWrite, type WriteOwner } from "./session-write.ts";
import type { Batch, ConversationStorage, StoredStream } from "./storage.ts";

interface StoredLogOptions {
  readonly channel: string;
  readonly storage: Pick<ConversationStorage, "load" | "find" | "read">;
  readonly writer: BatchWriter;
  /** The cache. Its receipts and idle sessions are those of the channel. */
  readonly memory: MemorySessionLogOptions;
  /** Unix milliseconds. */
  readonly unixTime: () => number;
  /** Milliseconds that the store keeps a stream. */
  readonly retentionMs: number;
  /** Streams load only after this has resolved, if it is set. */
  readonly blocked: () => Awaitable<unknown>;
}

/** How long positions wait for others before they are stored: a kill costs only repeated frames. */
const positionsDelayMs = 100;

type SessionWriteRest =
  ConstructorParameters<typeof SessionWrite> extends [unknown, unknown, ...infer T] ? T : never;

export class StoredLog implements SessionLog, WriteOwner {
  readonly limits: LogLimits;
  readonly channel: string;
  private readonly options: StoredLogOptions;
  private readonly memory: MemorySessionLog;
  private readonly cache: SessionCache;
  private moved = new Set<CachedSession>();
  private arePositionsDue = false;
  private stopTimer: Release | undefined;

  constructor(options: StoredLogOptions) {
    this.options = options;
    this.channel = options.channel;
    this.memory = createMemorySessionLog({
      ...options.memory,
      store: {
        isPinned: (session) => this.isPinned(session),
        evicted: (session) => this.cache.delete(session),
      },
    });
    this.cache = new SessionCache({
      load: (session) => this.load(session),
      restored: (session, stored) => this.memory.restore(session, stored),
      isUsed: (session) => this.memory.top(session) !== undefined,
    });
    this.limits = { ...this.memory.limits, retentionMs: options.retentionMs };
  }

  append(session: string, entry: LogEntry): Awaitable<AppendResult> {
    // A session that is not in memory has no subscribers.
    if (!entry.numbered && !this.cache.has(session)) return this.memory.append(session, entry);
    if (entry.numbered) this.options.writer.assertRoom();
    return this.cache.whenLoaded(session, (cached) => this.appendTo(cached, entry));
  }

  readAfter(
    session: string,
    cursor: Cursor | undefined,
    defaultStart?: DefaultStart,
  ): Awaitable<Replay> {
    return this.cache.whenLoaded(session, () =>
      this.memory.readAfter(session, cursor, defaultStart),
    );
  }

  subscribe(
    session: string,
    subscriber: Subscriber,
    options: SubscribeOptions = {},
  ): Awaitable<void> {
    return this.cache.whenLoaded(session, (cached): Awaitable<void> => {
      const before = this.memory.positions(session)?.resumes ?? false;
      this.memory.subscribe(session, subscriber, options);
      if (!options.resumes || before) return;
      if (cached.isStored) return this.noteMoved(cached);
      // The client learns the epoch, so the stream must exist when it returns.
      return this.write(cached).catch((error: unknown) => {
        this.memory.unsubscribe(session, subscriber);
        throw error;
      });
    });
  }

  unsubscribe(session: string, subscriber: Subscriber): void {
    const run = (): void => this.memory.unsubscribe(session, subscriber);
    const calls = this.cache.get(session)?.calls;
    if (calls) calls.push({ run, reject: () => undefined });
    else run();
  }

  wantsTurns(): boolean {
    return true;
  }

  hasTurn(session: string, request: string): Promise<boolean> {
    const { channel, storage } = this.options;
    return findTurn(storage, { channel, session }, request);
  }

  top(session: string): Awaitable<Cursor | undefined> {
    return this.cache.whenLoaded(session, () => this.memory.top(session));
  }

  note(session: string, range: SequenceRange, progress: DeliveryProgress): void {
    this.memory.note(session, range, progress);
    const cached = this.cache.get(session);
    if (cached?.isStored) this.noteMoved(cached);
  }

  /** @returns The ids that the store knew when the stream was loaded, or knows now. */
  knownIds(session: string): Awaitable<readonly TakenId[]> {
    return this.cache.whenLoaded(session, (cached): Awaitable<readonly TakenId[]> => {
      const { taken } = cached;
      cached.taken = undefined;
      return taken ?? this.load(session).then((stored) => stored?.taken ?? []);
    });
  }

  settle(session: string, id: string, digest: string, stopped: boolean): Awaitable<void> {
    const { channel, unixTime } = this.options;
    return this.cache.whenLoaded(session, (cached) => {
      const taken = { channel, session, id, digest, at: unixTime(), stopped };
      return this.write(cached, taken);
    });
  }

  /** True for sessions in memory, with a client or shortly after it left. */
  isLive(session: string): boolean {
    return this.cache.has(session);
  }

  /** Removes a session from the store by `remove`. It continues with a new epoch. */
  renew(session: string, remove: () => Promise<void>): Promise<void> {
    return this.cache.exclusively(session, async () => {
      await this.options.writer.flush();
      await remove();
      this.memory.discard(session);
    });
  }

  /** Adds the positions that changed, if they are due. */
  addPositions(draft: BatchDraft): () => void {
    if (!this.arePositionsDue) return () => undefined;
    this.arePositionsDue = false;
    const { channel } = this.options;
    const { moved } = this;
    this.moved = new Set();
    for (const cached of moved) {
      const { session } = cached;
      const positions = this.memory.positions(session);
      cached.hasNewPositions = false;
      if (positions) draft.positions.push({ channel, session, ...positions });
    }
    return () => {
      for (const cached of moved) this.noteMoved(cached);
    };
  }

  /** Makes all changed positions part of the next batch. */
  flushPositions(): void {
    this.stopTimer?.();
    this.stopTimer = undefined;
    this.arePositionsDue = this.moved.size > 0;
  }

  private async load(session: string): Promise<StoredStream | undefined> {
    const { channel, storage, blocked } = this.options;
    await blocked();
    return storage.load({ channel, session });
  }

  private isPinned(session: string): boolean {
    const cached = this.cache.get(session);
    if (!cached) return false;
    return cached.calls !== undefined || cached.writes > 0 || cached.hasNewPositions;
  }

  private appendTo(cached: CachedSession, entry: LogEntry): Awaitable<AppendResult> {
    const { session } = cached;
    if (!entry.numbered && cached.entries === 0) return this.memory.append(session, entry);
    return new Promise((resolve, reject) => {
      if (!entry.numbered) return this.appendAfterEntries(session, entry, resolve);
      const content = { entry, at: this.options.unixTime() };
      // A write with an entry is resolved with a result.
      this.add(cached, content, resolve as (result: AppendResult | undefined) => void, reject);
    });
  }

  /** An entry without a number keeps its place after the numbered ones, also if they fail. */
  private appendAfterEntries(
    session: string,
    entry: LogEntry,
    resolve: (result: AppendResult) => void,
  ): void {
    const run = (): void => resolve(this.memory.append(session, entry));
    const bytes = entry.frame.byteLength;
    this.options.writer.add({ bytes, addTo: () => undefined, committed: run, failed: run });
  }

  private write(cached: CachedSession, taken?: Batch["taken"][number]): Promise<void> {
    const content = { ...(taken && { taken }), at: 0 };
    return new Promise((resolve, reject) => this.add(cached, content, () => resolve(), reject));
  }

  private add(cached: CachedSession, ...write: SessionWriteRest): void {
    this.memory.open(cached.session);
    this.options.writer.add(new SessionWrite(this, cached, ...write));
  }

  addStream(draft: BatchDraft, cached: CachedSession): void {
    const { session } = cached;
    const { channel } = this;
    const { epoch, seq } = this.memory.top(session)!;
    cached.isBeginning = true;
    draft.streams.push({ channel, session, epoch, seq });
    draft.positions.push({ channel, session, ...this.memory.positions(session)! });
  }

  deliver({ session }: CachedSession, entry: LogEntry): AppendResult {
    return this.memory.append(session, entry);
  }

  resetNumber(cached: CachedSession): void {
    cached.seq = this.memory.top(cached.session)?.seq ?? 0;
  }

  private noteMoved(cached: CachedSession): void {
    if (cached.hasNewPositions) return;
    cached.hasNewPositions = true;
    this.moved.add(cached);
    this.stopTimer ??= this.options.memory.after(positionsDelayMs, () => {
      this.flushPositions();
      this.options.writer.schedule();
    });
  }
}
