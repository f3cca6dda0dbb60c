import { connectWith, platformWebSocket, type Client, type ConnectOptions } from "./connect.ts";
import { chatError } from "./errors.ts";

// Entry point of doorward/client for Node. All other platforms use browser.ts.

export type { Client, ConnectOptions } from "./connect.ts";
export type { ChatError } from "./errors.ts";
export type { SocketConstructor } from "./dial.ts";
export type { HistoryOptions, HistoryPage, HistoryTurn, MediaLimits } from "./http.ts";
export type { ChatAnswer, ChatAnswered, ChatQuestion } from "./questions.ts";
export type { PlanEntry, StepDetail, StepState } from "../step-details.ts";
export type {
  ChatEnd,
  ChatTurn,
  ChatUsage,
  StoppedAnswer,
  ChatGap,
  ChatHandlers,
  ChatMessage,
  ChatOutgoing,
  ChatReceipt,
  ChatState,
  ChatStateChange,
  ChatToolCall,
  SentMessage,
  ChatFrame,
} from "./types.ts";

/**
 * Connects to a channel, and reconnects after interruptions, restarts and suspension without losing
 * a message. An unreachable server is not an error; `onState` reports it.
 *
 * @returns The client. Call `close` to end it.
 * @example
 * import { connect } from "doorward/client";
 * const chat = connect({
 *   url: "wss://example.org/pico",
 *   token,
 *   onMessage: ({ content }) => console.log(content),
 * });
 * await chat.send("hello").accepted; // resolves when the application has accepted it
 * chat.close();
 */
export function connect(options: ConnectOptions): Client {
  const { headers = true } = options; // WebSocket constructors of Node accept headers.
  const Socket =
    options.WebSocket ??
    platformWebSocket() ??
    import("ws").then(
      ({ WebSocket }) => WebSocket,
      () => Promise.reject(chatError("no_websocket")),
    );
  return connectWith({ ...options, headers }, Socket);
}
