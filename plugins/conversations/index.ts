/** Keeps the messages of all channels, so that clients can resume and people can read them. */
import type { Awaitable, Plugin, Scope } from "../../kernel/index.ts";
import { conversationsErrors } from "./errors.ts";
import { homeStoreSchema, hostStoreSchema } from "./config.ts";
import { openConfiguredRedis, openStore, type StoreSecrets } from "./open-store.ts";
import type { Conversations, ConversationsShape } from "./service.ts";
import { MemoryConversations } from "./stores/memory.ts";
import type { SharedConversationStore } from "./stores/redis/shared.ts";
import type { ConversationStorage, ConversationStore } from "./stores/storage.ts";
import { StoredConversations } from "./stores/stored.ts";

export type { StoreConfig } from "./config.ts";
export { conversationsErrors } from "./errors.ts";
export { readCalls, type TurnCall } from "./stores/turn-calls.ts";
export { turnLabel } from "./stores/turn-label.ts";
export type {
  AppendResult,
  Cursor,
  DefaultStart,
  DeliveryProgress,
  EncodedFrame,
  Gap,
  JoinOptions,
  LogEntry,
  LogLimits,
  LogListeners,
  ReceiptListener,
  Replay,
  SequencedEntry,
  TextGrowth,
  SequenceRange,
  SessionLog,
  SubscribeOptions,
  Subscriber,
} from "./log/session-log.ts";
export type { StoreSecrets } from "./open-store.ts";
export { redis, type RedisOptions } from "./stores/redis/factory.ts";
export type {
  SharedConversations,
  SharedConversationStore,
  SharedStoreScope,
} from "./stores/redis/shared.ts";
export type { RedisInspection } from "./stores/redis/inspect.ts";
export { inspectStoreServer } from "./open-store.ts";
export { findSqliteDriver } from "./stores/sqlite/driver.ts";
export { sqlite, type SqliteOptions } from "./stores/sqlite/factory.ts";
export type {
  Batch,
  ConversationStorage,
  ConversationStore,
  NewEntry,
  StorageContext,
  StoredFrame,
  StoredStream,
  StreamPositions,
} from "./stores/storage.ts";
export type {
  ConversationHistory,
  ConversationId,
  Conversations,
  ConversationsEvents,
  ConversationsShape,
  ConversationSummary,
  Desk,
  DeskListener,
  NodeView,
  Page,
  PassOutcome,
  SearchHit,
  StoreHealth,
  StoreMetrics,
  TakenId,
  TakenIds,
  Turn,
  TurnCursor,
} from "./service.ts";

/** Options of {@link conversations}. */
export interface ConversationsOptions {
  /**
   * Opens the store that keeps the conversations: `sqlite({ path })`, or `redis({ url, secret })`.
   * It overrides the section `store`.
   */
  readonly store?: ConversationStore | SharedConversationStore;
  /**
   * Folder for `state/conversations.db`. With it, `store.kind` is `sqlite` by default; without it,
   * `memory`.
   */
  readonly home?: string;
  /**
   * Milliseconds to wait for another process that closes the file: a launcher that stops keeps it
   * open until its clients are closed.
   *
   * @defaultValue `8_000`
   */
  readonly lockWaitMs?: number;
  /** Reads the secrets of `store.kind` `redis`, which are not settings. */
  readonly secrets?: () => Awaitable<StoreSecrets>;
}

const MiB = 1024 * 1024;
/** Milliseconds from the start to the first deletion of old conversations, and between two. */
const firstRetentionMs = 60_000;
const retentionIntervalMs = 3_600_000;

type ConversationsScope = Scope<ConversationsShape>;

/** Connects to a store that several nodes share. */
async function share(
  { clock, log, random, after, onStop, emit, uses }: ConversationsScope,
  store: SharedConversationStore,
): Promise<Conversations> {
  const shared = await store.open({
    clock,
    log,
    random,
    after,
    tokens: uses.tokenSync,
    changed: (address) => emit("conversations:changed", address),
    forgotten: (count) => emit("conversations:forgotten", { count }),
  });
  onStop(() => shared.close());
  return shared;
}

function keepConversations(
  { clock, log, random, after, config, onStop, emit }: ConversationsScope,
  storage: ConversationStorage,
): Conversations {
  const stored = new StoredConversations({
    storage,
    clock,
    log,
    random,
    after,
    changed: (address) => emit("conversations:changed", address),
    forgotten: (count) => emit("conversations:forgotten", { count }),
    limits: () => ({ keepDays: config().keep_days, maxBytes: config().max_mb * MiB }),
  });
  const retain = (): void => {
    stored
      .retain()
      .catch((err: unknown) => log.error({ err }, "Old conversations could not be deleted"))
      .finally(() => after(retentionIntervalMs, retain));
  };
  after(firstRetentionMs, retain);
  onStop(() => stored.close());
  return stored;
}

/**
 * Creates the plugin that keeps conversations. List it before `channels` and `pico-server`; without
 * it, each of them works in memory.
 *
 * @param options - All optional: see {@link ConversationsOptions}.
 * @throws STORE_ORDER at start, if `channels` comes before it in the list.
 * @throws STORE_PATH_MISSING at start, if `store.kind` is `sqlite` and there is no path.
 * @throws STORE_IN_USE at start, if another process has opened the file.
 * @throws STORE_BROKEN at start, if the file is damaged or belongs to another program.
 * @throws STORE_NEWER at start, if a newer version of Doorward has written the file.
 * @throws The errors that `redis()` lists, at start, if `store.kind` is `redis`.
 * @example
 * import { createKernel } from "doorward";
 * import { channels } from "doorward/plugins/channels";
 * import { conversations, sqlite } from "doorward/plugins/conversations";
 * import { echo } from "doorward/plugins/echo";
 * import { http } from "doorward/plugins/http";
 * import { picoServer } from "doorward/plugins/pico-server";
 * import { memory, tokenStore } from "doorward/plugins/token-store";
 * const store = sqlite({ path: "/var/lib/bot/conversations.db" });
 * const tokens = tokenStore(memory({ pico: token }));
 * const own = [tokens, conversations({ store }), channels(), http(), picoServer()] as const;
 * const kernel = createKernel([...own, echo()]);
 */
export function conversations({
  store,
  home,
  lockWaitMs = 8_000,
  secrets = () => ({}),
}: ConversationsOptions = {}): Plugin<ConversationsShape> {
  return {
    name: "conversations",
    api: 1,
    config: { section: "store", schema: home === undefined ? hostStoreSchema : homeStoreSchema },
    async start(scope) {
      const { clock, log, random, after, config } = scope;
      // Channels look for the service when they start, and would work without it.
      if (Object.hasOwn(scope.uses, "channels")) throw conversationsErrors.STORE_ORDER();
      if (typeof store === "object") return { conversations: await share(scope, store) };
      if (!store && config().kind === "redis") {
        const configured = await openConfiguredRedis(config(), await secrets());
        return { conversations: await share(scope, configured) };
      }
      const context = { clock, log, random };
      const { storage, problem } = store
        ? { storage: await store(context) }
        : await openStore(config(), { home, lockWaitMs }, context);
      return {
        conversations: storage
          ? keepConversations(scope, storage)
          : new MemoryConversations({ clock, random, after, problem }),
      };
    },
  };
}
