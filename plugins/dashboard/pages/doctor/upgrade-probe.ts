// Tests whether WebSocket handshakes reach the service.
import type { StatusView } from "../../shared/views.ts";
import { sendRequest } from "../live/api.ts";
import { base } from "../live/base.ts";

const openTimeoutMs = 5_000;

/**
 * Opens a WebSocket through the same proxies as this page.
 *
 * @returns True if it opens, or undefined if the channel is off or full and would reject it anyway.
 */
export async function canUpgrade(): Promise<boolean | undefined> {
  const answer = await sendRequest<StatusView>("GET", "/api/status");
  const channel = "body" in answer ? answer.body.channel : undefined;
  if (!channel?.enabled || channel.connections >= channel.maxConnections) return undefined;
  if (await openWebSocket()) return true;
  // Behind a proxy that changes the host, the server learns the origin of this page here.
  await sendRequest("POST", "/api/handshake");
  return openWebSocket();
}

function openWebSocket(): Promise<boolean> {
  const address = new URL(`${base()}/pico`, location.href);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  return new Promise((resolve) => {
    const socket = new WebSocket(address);
    const done = (opened: boolean): void => {
      clearTimeout(timer);
      resolve(opened);
      socket.close();
    };
    const timer = setTimeout(done, openTimeoutMs, false);
    socket.addEventListener("open", () => done(true));
    socket.addEventListener("error", () => done(false));
  });
}
