// Types of messages whose text grows.
import type { ServerFrame, ServerMessage } from "../pico-wire/index.ts";

/** The latest text of an unfinished message, and the fields that stay as it grows. */
export type GrowingText = Pick<
  ServerMessage,
  "message_id" | "content" | "request_id" | "kind" | "thought"
>;

/**
 * A frame of the server as `onFrame` receives it: a `message.append` becomes a `message.update`
 * with the whole text.
 */
export type ChatFrame = Exclude<ServerFrame, { type: "message.append" }>;
