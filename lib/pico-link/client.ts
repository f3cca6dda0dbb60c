import { connectWith, platformWebSocket, type Client, type ConnectOptions } from "./connect.ts";
import { linkError } from "./errors.ts";

// Entry point of doorward/client for Node and browsers. Bundlers for browsers use browser.ts
// instead.

export type { Client, ConnectOptions } from "./connect.ts";
export type { LinkError } from "./errors.ts";
export type { SocketConstructor } from "./dial.ts";
export type { HistoryOptions, HistoryPage, HistoryTurn } from "./history.ts";
export type { MediaLimits } from "./media.ts";
export type { LinkEnd, LinkTurn, StoppedAnswer } from "./answer-types.ts";
export type {
  LinkHandlers,
  LinkOutgoing,
  LinkChange,
  LinkGap,
  LinkMessage,
  LinkReceipt,
  LinkState,
} from "./types.ts";

/** In Node, WebSocket constructors accept headers. */
const isNode =
  (globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node !==
  undefined;

/**
 * Connects to a channel, and reconnects after interruptions, restarts and suspension without losing
 * a message. An unreachable server is not an error; `onState` reports it.
 *
 * @returns The client. Call `stop` to close it.
 * @example
 * import { connect } from "doorward/client";
 * const chat = connect({
 *   url: "wss://example.org/pico",
 *   token,
 *   onMessage: ({ content }) => console.log(content),
 * });
 * await chat.send("hello"); // resolves when the application has accepted it
 * chat.stop();
 */
export function connect(options: ConnectOptions): Client {
  const { headers = isNode } = options;
  const Socket =
    options.WebSocket ??
    platformWebSocket() ??
    import("ws").then(
      ({ WebSocket }) => WebSocket,
      () => Promise.reject(linkError("no_websocket")),
    );
  return connectWith({ ...options, headers }, Socket);
}
