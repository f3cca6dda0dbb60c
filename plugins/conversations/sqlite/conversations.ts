// Conversations in a SQLite file: the service of the plugin over the store.
import { codeOf } from "../../../kernel/index.ts";
import { findReplies } from "../find-replies.ts";
import type { Address, StoredEnd } from "../contract.ts";
import { exportConversation } from "../document.ts";
import type { MemorySessionLogOptions } from "../log/memory-session-log.ts";
import type { LogListeners, SessionLog } from "../log/session-log.ts";
import { createRecord, noListeners } from "../log/session-record.ts";
import type {
  ConversationRecord,
  ConversationSummary,
  Conversations,
  DeletionListener,
  OpenConversations,
  Page,
  RenameOptions,
  SearchHit,
  StoreHealth,
  StoreMetrics,
  StoredQuestions,
  StoreScope,
  TakenIds,
  Turn,
} from "../contract.ts";
import { SqliteSessionLog } from "./session-log.ts";
import type { LeavingStep } from "./retention.ts";
import { inTurns, type Steps } from "./steps.ts";
import type { SqliteStore } from "./store.ts";

type Scope = Pick<StoreScope, "clock" | "log" | "random" | "after" | "forgotten" | "limits">;

const dayMs = 86_400_000;
/** Clients learn a number of seconds, also if nothing expires. */
const unlimitedDays = 36_500;
/** Milliseconds from the start to the first deletion of old conversations, and between two. */
const firstRetentionMs = 60_000;
const retentionIntervalMs = 3_600_000;
/** Between two deletions because the store is too large, also while messages are rejected. */
const overfullIntervalMs = 10_000;
const rejectedIntervalMs = 1_000;

interface ChannelLog {
  readonly log: SqliteSessionLog;
  listeners: LogListeners;
}

/** Every call that needs the store fails with `store_unavailable` while it cannot be used. */
export class SqliteConversations implements OpenConversations {
  readonly taken: TakenIds = {
    known: async (address) => this.store.knownIds(address),
    replies: (address, id) => findReplies(this, address, id),
    settle: (address, id, digest, { stopped = false } = {}) =>
      new Promise((resolve, reject) => {
        this.store.settle(address, id, digest, stopped, (error) => {
          if (error === undefined) resolve();
          else reject(error as Error);
        });
      }),
    discard: (address, id) =>
      new Promise((resolve, reject) => {
        this.store.discard(address, id, (error) => {
          if (error === undefined) resolve();
          else reject(error as Error);
        });
      }),
    isDeleted: (address, id) => this.store.isDeleted(address, id),
  };
  readonly questions: StoredQuestions = {
    list: async (address) => {
      if (address === undefined) await this.store.settled();
      return this.store.questions(address);
    },
    lostSince: async (since) => {
      await this.store.settled();
      return this.store.questionsLostSince(since);
    },
  };
  private readonly store: SqliteStore;
  private readonly scope: Scope;
  /** Limits of the streams in memory, for tests. */
  private readonly cache: Pick<MemorySessionLogOptions, "window" | "bounds" | "retentionMs">;
  private readonly release: () => Promise<void>;
  private readonly channels = new Map<string, ChannelLog>();
  private deleting: DeletionListener = () => () => undefined;
  private readonly steps: LeavingStep[] = [];
  private readonly leaving: LeavingStep = async (addresses) => {
    for (const step of this.steps) await step(addresses);
  };
  private retention: Promise<number> | undefined;
  private retainedAt = 0;
  private closing: Promise<void> | undefined;

  /** @param release - Releases the lock of the file. */
  constructor(
    store: SqliteStore,
    scope: Scope,
    release: () => Promise<void> = () => Promise.resolve(),
    cache: SqliteConversations["cache"] = {},
  ) {
    this.store = store;
    this.scope = scope;
    this.release = release;
    this.cache = cache;
    const retain = (): void => {
      void this.retainQuietly().finally(() => scope.after(retentionIntervalMs, retain));
    };
    scope.after(firstRetentionMs, retain);
  }

  open(channel: string, listeners: LogListeners): SessionLog {
    const opened = this.channel(channel);
    opened.listeners = listeners;
    return opened.log;
  }

  record(channel: string): ConversationRecord {
    return createRecord(this, channel, this.scope.random);
  }

  noteEnd(address: Address, request: string, end: StoredEnd | undefined): void {
    try {
      this.store.noteEnd(address, request, end);
    } catch {
      // The store has logged why it fails, and the answer has ended.
    }
  }

  health(): StoreHealth {
    return this.store.health();
  }

  steadyTime(): number {
    return this.store.rows.retentionClock.read();
  }

  metrics(): StoreMetrics {
    return this.store.metrics.read();
  }

  async list(options?: Parameters<Conversations["list"]>[0]): Promise<Page<ConversationSummary>> {
    await this.store.settled();
    return this.inSteps(this.store.history.listing(options));
  }

  async find(address: Address): Promise<ConversationSummary | undefined> {
    await this.store.settled();
    return this.store.reading(() => this.store.history.find(address));
  }

  async get(id: string): Promise<ConversationSummary> {
    await this.store.settled();
    return this.store.reading(() => this.store.history.get(id));
  }

  async read(id: string, options?: Parameters<Conversations["read"]>[1]): Promise<Page<Turn>> {
    await this.store.settled();
    return this.store.reading(() => this.store.history.read(id, options));
  }

  async search(text: string, options?: { readonly limit?: number }): Promise<readonly SearchHit[]> {
    await this.store.settled();
    this.store.reading(() => this.store.completeIndex());
    return this.inSteps(this.store.history.searching(text, options));
  }

  rename(id: string, title: string, { by }: RenameOptions = {}): Promise<void> {
    return this.store.rename(id, title, by !== "application");
  }

  export(id: string, format: "json" | "markdown"): AsyncIterable<string> {
    return exportConversation(this, id, format);
  }

  watchDeletions(listener: DeletionListener): void {
    this.deleting = listener;
  }

  beforeDeletion(step: LeavingStep): void {
    this.steps.push(step);
  }

  async forget(id: string): Promise<void> {
    const { channel, session } = await this.get(id);
    const ended = this.deleting({ channel, session });
    try {
      await this.leaving([{ channel, session }]);
      await this.store.forget(id, () => {
        this.renew({ channel, session });
        this.scope.forgotten(1);
      });
      // A stopped answer may have written in the meantime.
      await this.leaving([{ channel, session }]);
    } finally {
      ended();
    }
  }

  /** Deletes the conversations that are too old or do not fit, except those in use. */
  async retain(): Promise<number> {
    this.retainedAt = this.scope.clock.monotonic();
    this.retention ??= this.store.retain(
      this.scope.limits(),
      ({ channel, session }) => this.channel(channel).log.isLive(session),
      {
        hasClient: ({ channel, session }) => this.channel(channel).log.hasClient(session),
        ending: (address) => this.deleting(address),
        renew: (address) => this.renew(address),
      },
      (addresses) => this.leaving(addresses),
    );
    try {
      const count = await this.retention;
      if (count > 0) this.scope.forgotten(count);
      return count;
    } finally {
      this.retention = undefined;
    }
  }

  /**
   * The store is larger than its limit by a tenth.
   *
   * @param isRejected - A message was rejected because of that.
   */
  overfull(isRejected = false): void {
    const pause = isRejected ? rejectedIntervalMs : overfullIntervalMs;
    if (this.scope.clock.monotonic() - this.retainedAt > pause) void this.retainQuietly();
  }

  private inSteps<T>(steps: Steps<T>): Promise<T> {
    return inTurns((run) => this.store.reading(run), steps);
  }

  private renew({ channel, session }: Address): void {
    const { log, listeners } = this.channel(channel);
    log.renew(session);
    listeners.renewed(session);
  }

  /** Stores everything and closes the store. */
  close(): Promise<void> {
    this.closing ??= this.store.close().finally(() => this.release());
    return this.closing;
  }

  private async retainQuietly(): Promise<void> {
    if (this.closing) return;
    try {
      await this.retain();
    } catch (error) {
      if (!this.closing)
        this.scope.log.error(
          { err: error, code: codeOf(error) },
          "old conversations were not deleted",
        );
    }
  }

  private channel(name: string): ChannelLog {
    const existing = this.channels.get(name);
    if (existing) return existing;
    const { clock, random, after, limits } = this.scope;
    const { keepDays } = limits();
    const created: ChannelLog = {
      listeners: noListeners,
      log: new SqliteSessionLog({
        channel: name,
        store: this.store,
        memory: {
          ...this.cache,
          random,
          after,
          now: () => clock.monotonic(),
          onReceipt: (...receipt) => created.listeners.onReceipt(...receipt),
          sessionActive: (session) => created.listeners.sessionActive(session),
          sessionIdle: (session) => created.listeners.sessionIdle(session),
        },
        retentionMs: (keepDays === 0 ? unlimitedDays : keepDays) * dayMs,
      }),
    };
    this.channels.set(name, created);
    return created;
  }
}
