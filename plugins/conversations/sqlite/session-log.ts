/**
 * The session log of one channel over the SQLite store. Streams in use are in memory; a numbered
 * entry enters its stream, and so reaches subscribers, after the store has written it.
 */
import type { Awaitable } from "../../../kernel/index.ts";
import { MemorySessionLog, type MemorySessionLogOptions } from "../log/memory-session-log.ts";
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
import type { Address } from "../messages.ts";
import type { SqliteStore } from "./store.ts";

interface SqliteSessionLogOptions {
  readonly channel: string;
  readonly store: SqliteStore;
  /** The streams in use. Their receipts and idle sessions are those of the channel. */
  readonly memory: MemorySessionLogOptions;
  /** Milliseconds that the store keeps a stream. */
  readonly retentionMs: number;
}

export class SqliteSessionLog implements SessionLog {
  readonly limits: LogLimits;
  private readonly channel: string;
  private readonly store: SqliteStore;
  private readonly memory: MemorySessionLog;

  constructor({ channel, store, memory, retentionMs }: SqliteSessionLogOptions) {
    this.channel = channel;
    this.store = store;
    this.memory = new MemorySessionLog({
      ...memory,
      store: {
        isPinned: (session) => store.isWaiting(this.addressOf(session)),
        evicted: (session) => store.release(this.addressOf(session)),
      },
    });
    this.limits = { ...this.memory.limits, retentionMs };
  }

  append(session: string, entry: LogEntry): Awaitable<AppendResult> {
    const address = this.addressOf(session);
    if (!entry.numbered) return this.appendUnnumbered(session, entry);
    this.store.assertRoom();
    const epoch = this.open(session);
    return new Promise((resolve, reject) => {
      this.store.append(address, epoch, entry, (error) => {
        if (error === undefined) resolve(this.memory.append(session, entry));
        else reject(error as Error);
      });
    });
  }

  readAfter(session: string, cursor: Cursor | undefined, defaultStart?: DefaultStart): Replay {
    this.load(session);
    return this.memory.readAfter(session, cursor, defaultStart);
  }

  subscribe(
    session: string,
    subscriber: Subscriber,
    options: SubscribeOptions = {},
  ): Awaitable<void> {
    try {
      this.load(session);
    } catch (error) {
      return Promise.reject(error as Error);
    }
    this.memory.subscribe(session, subscriber, options);
    if (!options.resumes) return;
    this.notePositions(session);
    if (this.store.isStored(this.addressOf(session))) return;
    // The client learns the epoch, so the stream must exist when it returns.
    return new Promise((resolve, reject) => {
      this.store.begin(this.addressOf(session), this.open(session), (error) => {
        if (error === undefined) return resolve();
        this.memory.unsubscribe(session, subscriber);
        reject(error as Error);
      });
    });
  }

  unsubscribe(session: string, subscriber: Subscriber): void {
    this.memory.unsubscribe(session, subscriber);
  }

  wantsTurns(): boolean {
    return true;
  }

  hasTurn(session: string, request: string): boolean {
    return this.store.hasTurn(this.addressOf(session), request);
  }

  top(session: string): Cursor | undefined {
    this.load(session);
    return this.memory.top(session);
  }

  note(session: string, range: SequenceRange, progress: DeliveryProgress): void {
    this.memory.note(session, range, progress);
    this.notePositions(session);
  }

  /** True for sessions in memory, with a client or shortly after it left. */
  isLive(session: string): boolean {
    return this.memory.top(session) !== undefined;
  }

  /** True while a client has subscribed to the session. */
  hasClient(session: string): boolean {
    return this.memory.hasSubscribers(session);
  }

  /** The conversation of the session was deleted: it continues with a new epoch. */
  renew(session: string): void {
    this.memory.discard(session);
  }

  private addressOf(session: string): Address {
    return { channel: this.channel, session };
  }

  private load(session: string): void {
    if (this.memory.top(session) !== undefined) return;
    const stored = this.store.load(this.addressOf(session));
    if (stored) this.memory.restore(session, stored);
  }

  /** @returns The epoch of the stream, which begins if there is none. */
  private open(session: string): string {
    this.load(session);
    this.memory.open(session);
    return this.memory.top(session)!.epoch;
  }

  /** Keeps its place after the numbered entries that wait, also if they fail. */
  private appendUnnumbered(session: string, entry: LogEntry): Awaitable<AppendResult> {
    const address = this.addressOf(session);
    // A session that is not in memory has no subscribers.
    if (!this.isLive(session)) return this.memory.append(session, entry);
    const { message } = entry;
    if (message !== undefined && entry.type === "message.update")
      this.store.grow(address, message, () => entry.frame);
    if (!this.store.isWaiting(address)) return this.memory.append(session, entry);
    return new Promise((resolve) => {
      this.store.afterBatch(address, () => resolve(this.memory.append(session, entry)));
    });
  }

  private notePositions(session: string): void {
    const positions = this.memory.positions(session);
    if (positions) this.store.note(this.addressOf(session), positions);
  }
}
