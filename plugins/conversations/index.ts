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
 * const kernel = createKernel([
 *   tokenStore(memory()), conversations(), channels(), http(), picoServer(), echo(),
 * ]);
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
