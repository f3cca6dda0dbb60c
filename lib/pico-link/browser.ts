import { connectWith, platformWebSocket, type Client, type ConnectOptions } from "./connect.ts";

/* doorward/client as bundlers for browsers get it: without the way to another WebSocket than the platform's. */

export type * from "./client.ts";

/** As `connect` of client.ts. Throws `TypeError` where there is no WebSocket. */
export function connect(options: ConnectOptions): Client {
  const Socket = options.WebSocket ?? platformWebSocket();
  if (!Socket) throw new TypeError("no WebSocket: give one");
  return connectWith(options, Socket);
}
