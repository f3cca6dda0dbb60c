/** Keeps the messages of all channels, so that clients can resume and people can read them. */
import type { Plugin } from "../../kernel/index.ts";
import { conversationsErrors } from "./errors.ts";
import { homeStoreSchema, hostStoreSchema } from "./config.ts";
import { configuredStore } from "./open-store.ts";
import { MemoryConversations } from "./memory.ts";
import type { Address } from "./messages.ts";
import type {
  BeforeUpgrade,
  ConfiguredStore,
  ConversationsShape,
  ConversationStore,
} from "./contract.ts";

export type { StoreConfig } from "./config.ts";
export { conversationsErrors } from "./errors.ts";
export { droppedTurns, readCalls, turnEnd, turnLabel, type TurnCall } from "./document.ts";
export type * from "./log/session-log.ts";
export { findSqliteDriver } from "./sqlite/driver.ts";
export { assertStoreFile } from "./sqlite/schema.ts";
export { copyDatabase, inspectStore, type StoreContent } from "./sqlite/snapshot.ts";
export { sqlite, type SqliteOptions } from "./open-store.ts";
export type {
  BeforeUpgrade,
  ConversationHistory,
  ConversationId,
  ConversationRecord,
  ConfiguredStore,
  Conversations,
  ConversationsEvents,
  ConversationsShape,
  ConversationStore,
  ConversationSummary,
  DeletionListener,
  SessionOwnership,
  OwnershipListener,
  NodeView,
  OpenConversations,
  Page,
  PassOptions,
  PassOutcome,
  QuestionMark,
  SearchHit,
  StoreHealth,
  StoreMetrics,
  StoredEnd,
  StoredQuestion,
  StoredQuestions,
  StoreScope,
  TakenId,
  TakenIds,
  Turn,
  TurnCursor,
} from "./contract.ts";

/** Options of {@link conversations}. */
export interface ConversationsOptions {
  /**
   * Opens the store that keeps the conversations: `sqlite({ path })`, or `redis({ url, secret })`
   * of `doorward/plugins/redis`.
   * It overrides the section `store`.
   */
  readonly store?: ConversationStore;
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
  /** Makes a backup, or rejects, before the file of an earlier version is changed. */
  readonly beforeUpgrade?: BeforeUpgrade;
  /** Opens `store.kind` `redis`: `configuredRedis()` of `doorward/plugins/redis`. */
  readonly redis?: ConfiguredStore;
}

const MiB = 1024 * 1024;

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
 * @throws STORE_OLD at start, if a development version has written the file.
 * @throws STORE_KIND_MISSING at start, if `store.kind` is `redis`, without the option `redis`.
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
  beforeUpgrade,
  redis,
}: ConversationsOptions = {}): Plugin<ConversationsShape> {
  return {
    name: "conversations",
    api: 1,
    config: { section: "store", schema: home === undefined ? hostStoreSchema : homeStoreSchema },
    async start(scope) {
      const { clock, log, random, after, config, emit, onStop, uses } = scope;
      // Channels look for the service when they start, and would work without it.
      if (Object.hasOwn(uses, "channels")) throw conversationsErrors.STORE_ORDER();
      const context = {
        clock,
        log,
        random,
        after,
        tokens: uses.tokenSync,
        limits: () => ({ keepDays: config().keep_days, maxBytes: config().max_mb * MiB }),
        changed: (address: Address) => emit("conversations:changed", address),
        forgotten: (count: number) => emit("conversations:forgotten", { count }),
      };
      const place = { home, lockWaitMs, beforeUpgrade, redis };
      const { opened, problem } = store
        ? { opened: await store.open(context) }
        : await configuredStore(config(), place, context);
      if (opened) onStop(() => opened.close());
      return {
        conversations: opened ?? new MemoryConversations({ clock, random, after, problem }),
      };
    },
  };
}
