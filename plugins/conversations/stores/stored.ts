// Conversations in a durable store.
import type { Awaitable, Clock, Log, Release } from "../../../kernel/index.ts";
import { conversationsErrors } from "../errors.ts";
import type { MemorySessionLogOptions } from "../log/memory-session-log.ts";
import type { LogListeners, SessionLog } from "../log/session-log.ts";
import type {
  ConversationId,
  Conversations,
  ConversationSummary,
  Page,
  SearchHit,
  StoreHealth,
  StoreMetrics,
  TakenIds,
  Turn,
} from "../service.ts";
import { BatchWriter, toStoreError, type BatchDraft } from "./batch-writer.ts";
import { CommitMetrics } from "./commit-metrics.ts";
import { StoredLog } from "./stored-log.ts";
import type { Batch, ConversationStorage } from "./storage.ts";
import type { Address } from "../../channels/index.ts";

export interface StoredConversationsOptions {
  readonly storage: ConversationStorage;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: (bytes: number) => Uint8Array;
  readonly after: (ms: number, run: () => void) => Release;
  /** Limits of the store. `keepDays` 0 keeps conversations indefinitely. */
  readonly limits: () => { readonly keepDays: number; readonly maxBytes: number };
  /** Runs for each session of a stored batch. */
  readonly changed?: (address: Address) => void;
  /** Runs when conversations were deleted. */
  readonly forgotten?: (count: number) => void;
  /** Limits of the streams in memory. @defaultValue those of conversations in memory */
  readonly cache?: Pick<MemorySessionLogOptions, "window" | "bounds" | "retentionMs">;
}

const dayMs = 86_400_000;
/** Clients learn a number of seconds, also if nothing expires. */
const unlimitedDays = 36_500;

const noListeners: LogListeners = {
  onReceipt: () => undefined,
  sessionActive: () => undefined,
  sessionIdle: () => undefined,
  renewed: () => undefined,
};

interface ChannelLog {
  readonly log: StoredLog;
  listeners: LogListeners;
}

/** Every call that needs the store rejects with `store_unavailable` while it is away. */
export class StoredConversations implements Conversations {
  readonly taken: TakenIds = {
    known: ({ channel, session }) => this.channel(channel).log.knownIds(session),
    settle: ({ channel, session }, id, digest, { stopped = false } = {}) =>
      this.channel(channel).log.settle(session, id, digest, stopped),
  };
  private readonly options: StoredConversationsOptions;
  private readonly writer: BatchWriter;
  private readonly channels = new Map<string, ChannelLog>();
  private retention: Promise<number> | undefined;
  private isFailing = false;
  private readonly commits = new CommitMetrics();

  constructor(options: StoredConversationsOptions) {
    this.options = options;
    this.writer = new BatchWriter({
      storage: { commit: (batch) => this.commit(batch) },
      addPositions: (draft) => this.addPositions(draft),
      failed: (error) => this.logFailure(error),
    });
  }

  open(channel: string, listeners: LogListeners): SessionLog {
    const opened = this.channel(channel);
    opened.listeners = listeners;
    return opened.log;
  }

  health(): StoreHealth {
    const health = this.options.storage.health();
    return { ...health, waitingBytes: health.waitingBytes + this.writer.waitingBytes };
  }

  metrics(): StoreMetrics {
    return this.commits.read();
  }

  list(options?: Parameters<Conversations["list"]>[0]): Promise<Page<ConversationSummary>> {
    return this.options.storage.list(options);
  }

  find(address: Address): Promise<ConversationSummary | undefined> {
    return this.options.storage.find(address);
  }

  get(id: ConversationId): Promise<ConversationSummary> {
    return this.options.storage.get(id);
  }

  read(id: ConversationId, options?: Parameters<Conversations["read"]>[1]): Promise<Page<Turn>> {
    return this.options.storage.read(id, options);
  }

  search(text: string, options?: { readonly limit?: number }): Promise<readonly SearchHit[]> {
    return this.options.storage.search(text, options);
  }

  rename(id: ConversationId, title: string): Promise<void> {
    return this.options.storage.rename(id, title);
  }

  export(id: ConversationId, format: "json" | "markdown"): AsyncIterable<string> {
    return this.options.storage.export(id, format);
  }

  async forget(id: ConversationId): Promise<void> {
    const { storage } = this.options;
    const { channel, session } = await storage.get(id);
    const { log, listeners } = this.channel(channel);
    await log.renew(session, () => storage.forget(id));
    listeners.renewed(session);
    this.options.forgotten?.(1);
  }

  /** Deletes the conversations that are too old or do not fit, except those in use. */
  async retain(): Promise<number> {
    const { storage, limits } = this.options;
    // No stream is loaded in the meantime, because the store may be deleting it.
    this.retention ??= storage.retain(limits(), ({ channel, session }) =>
      this.channel(channel).log.isLive(session),
    );
    try {
      const count = await this.retention;
      if (count > 0) this.options.forgotten?.(count);
      return count;
    } finally {
      this.retention = undefined;
    }
  }

  /** Stores everything and closes the store. */
  async close(): Promise<void> {
    for (const { log } of this.channels.values()) log.flushPositions();
    await this.writer.flush();
    await this.options.storage.close();
  }

  private channel(name: string): ChannelLog {
    const existing = this.channels.get(name);
    if (existing) return existing;
    const { storage, clock, random, after, limits } = this.options;
    const { keepDays } = limits();
    const created: ChannelLog = {
      listeners: noListeners,
      log: new StoredLog({
        channel: name,
        storage,
        writer: this.writer,
        memory: {
          ...this.options.cache,
          random,
          after,
          now: () => clock.monotonic(),
          onReceipt: (...receipt) => created.listeners.onReceipt(...receipt),
          sessionIdle: (session) => created.listeners.sessionIdle(session),
        },
        unixTime: () => clock.now(),
        retentionMs: (keepDays === 0 ? unlimitedDays : keepDays) * dayMs,
        blocked: (): Awaitable<unknown> => this.retention?.catch(() => undefined),
      }),
    };
    this.channels.set(name, created);
    return created;
  }

  private commit(batch: Batch): Awaitable<void> {
    const { clock, storage } = this.options;
    const startedAt = clock.monotonic();
    const stored = storage.commit(batch);
    if (!(stored instanceof Promise)) return this.committed(batch, startedAt);
    return stored.then(
      () => this.committed(batch, startedAt),
      (error: unknown) => {
        this.commits.failed(toStoreError(error));
        throw error;
      },
    );
  }

  private committed(batch: Batch, startedAt: number): void {
    this.commits.committed((this.options.clock.monotonic() - startedAt) / 1_000);
    this.reportChanges(batch);
    if (this.isFailing) this.options.log.info({}, "Conversations are stored again");
    this.isFailing = false;
  }

  private reportChanges({ entries }: Batch): void {
    const { changed } = this.options;
    if (!changed) return;
    const reported = new Map<string, Set<string>>();
    for (const { channel, session } of entries) {
      const sessions = reported.get(channel) ?? new Set();
      if (sessions.size === 0) reported.set(channel, sessions);
      if (sessions.size < sessions.add(session).size) changed({ channel, session });
    }
  }

  private addPositions(draft: BatchDraft): () => void {
    const undo = [...this.channels.values()].map(({ log }) => log.addPositions(draft));
    return () => {
      for (const restore of undo) restore();
    };
  }

  /** Logs the first failure of a series. */
  private logFailure(error: unknown): void {
    if (this.isFailing) return;
    this.isFailing = true;
    this.options.log.error({ err: error }, conversationsErrors.store_unavailable().message);
  }
}
