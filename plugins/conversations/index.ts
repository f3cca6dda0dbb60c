/** Keeps the messages of all channels, so that clients can resume and people can read them. */
import type { Plugin } from "../../kernel/index.ts";
import type { ConversationsShape } from "./service.ts";
import { MemoryConversations } from "./stores/memory.ts";

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

/**
 * Creates the plugin that keeps conversations. List it before `channels` and `pico-server`; without
 * it, each of them works in memory.
 *
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
export function conversations(): Plugin<ConversationsShape> {
  return {
    name: "conversations",
    api: 1,
    start({ clock, random, after }) {
      return { conversations: new MemoryConversations({ clock, random, after }) };
    },
  };
}
