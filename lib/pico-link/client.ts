import { connectWith, platformWebSocket, type Client, type ConnectOptions } from "./connect.ts";

/* doorward/client: a link to a pico channel for browsers and Node. Bundlers for browsers take page.ts in its place.
 *
 *   const chat = connect({ url: "wss://example.org/pico", token, onMessage: ({ content }) => show(content) });
 *   await chat.send("hello"); // the application has it */

export type { Client, ConnectOptions } from "./connect.ts";
export type { LinkError } from "./errors.ts";
export type { SocketConstructor } from "./dial.ts";
export type { MediaLimits } from "./media.ts";
export type {
  LinkHandlers,
  LinkOutgoing,
  LinkChange,
  LinkGap,
  LinkMessage,
  LinkReceipt,
  LinkState,
} from "./types.ts";

/** Node's WebSocket takes headers. */
const isNode =
  (globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node !==
  undefined;

/** Connects, and stays connected: cuts, restarts and sleep are bridged without losing a message. Never throws because
 *  the server is away; `onState` tells. */
export function connect(options: ConnectOptions): Client {
  const { headers = isNode } = options;
  const Socket =
    options.WebSocket ?? platformWebSocket() ?? import("ws").then(({ WebSocket }) => WebSocket);
  return connectWith({ ...options, headers }, Socket);
}
