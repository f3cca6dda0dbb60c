/** Keeps the messages of all channels, so that clients can resume and people can read them. */
import type { Plugin } from "../../kernel/index.ts";
import type { ConversationsShape } from "./service.ts";
import { MemoryConversations } from "./stores/memory.ts";
import type { ConversationStore } from "./stores/storage.ts";
import { StoredConversations } from "./stores/stored.ts";

export { conversationsErrors } from "./errors.ts";
export type {
  AppendResult,
  Cursor,
  DefaultStart,
  DeliveryProgress,
  EncodedFrame,
  Gap,
  LogEntry,
  LogLimits,
  LogListeners,
  ReceiptListener,
  Replay,
  SequencedEntry,
  SequenceRange,
  SessionLog,
  Subscriber,
} from "./log/session-log.ts";
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
  ConversationsShape,
  ConversationSummary,
  Page,
  SearchHit,
  StoreHealth,
  TakenId,
  TakenIds,
  Turn,
  TurnCursor,
} from "./service.ts";

/** Options of {@link conversations}. */
export interface ConversationsOptions {
  /**
   * Opens the store that keeps the conversations.
   *
   * @defaultValue the memory of this process
   */
  readonly store?: ConversationStore;
}

const defaultLimits = { keepDays: 90, maxBytes: 1024 * 1024 * 1024 };

/**
 * Creates the plugin that keeps conversations. List it before `channels` and `pico-server`; without
 * it, each of them works in memory.
 *
 * @param options.store - Opens the store that keeps the conversations. @defaultValue the memory of
 *   this process
 * @example
 * import { createKernel } from "doorward";
 * import { channels } from "doorward/plugins/channels";
 * import { conversations } from "doorward/plugins/conversations";
 * import { echo } from "doorward/plugins/echo";
 * import { http } from "doorward/plugins/http";
 * import { picoServer } from "doorward/plugins/pico-server";
 * import { memory, tokenStore } from "doorward/plugins/token-store";
 * const own = [tokenStore(memory({ pico: token })), conversations(), channels()] as const;
 * const kernel = createKernel([...own, http(), picoServer(), echo()]);
 * await kernel.start();
 * const { items } = await kernel.services.conversations.list({ limit: 10 });
 */
export function conversations({ store }: ConversationsOptions = {}): Plugin<ConversationsShape> {
  return {
    name: "conversations",
    api: 1,
    async start({ clock, log, random, after, onStop }) {
      if (!store) return { conversations: new MemoryConversations({ clock, random, after }) };
      const storage = await store({ clock, log, random });
      const limits = (): typeof defaultLimits => defaultLimits;
      const stored = new StoredConversations({ storage, clock, log, random, after, limits });
      onStop(() => stored.close());
      return { conversations: stored };
    },
  };
}
