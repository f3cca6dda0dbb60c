import { connectWith, platformWebSocket, type Client, type ConnectOptions } from "./connect.ts";

// Entry point of doorward/client for browsers, Deno, Bun and all other platforms that have a
// WebSocket.

export type * from "./client.ts";

/**
 * Connects to a channel, and reconnects after every interruption; see `connect` of client.ts.
 *
 * @throws TypeError if the platform has no WebSocket or no source of random bytes, and the options
 * name none.
 * @example
 * import { connect } from "doorward/client";
 * const show = ({ content }: { content: string }) => document.body.append(content);
 * const chat = connect({ url: "/pico", token, onMessage: show });
 */
export function connect(options: ConnectOptions): Client {
  const Socket = options.WebSocket ?? platformWebSocket();
  if (!Socket)
    throw new TypeError("This platform has no WebSocket: pass one in the option WebSocket.");
  return connectWith(options, Socket);
}
