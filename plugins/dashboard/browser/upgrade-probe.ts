import type { StatusView } from "../api/views.ts";
import { ask } from "./api.ts";
import { base } from "./dom.ts";

const patience = 5_000;

/**
 * Whether a WebSocket comes through the way by which this page came. Undefined: the channel would refuse it anyhow (it
 * is off or full), so that nothing can be said of the way.
 */
export async function upgradeComesThrough(): Promise<boolean | undefined> {
  const answer = await ask<StatusView>("GET", "/api/status");
  const channel = "body" in answer ? answer.body.channel : undefined;
  return channel?.enabled && channel.connections < channel.maxConnections ? opens() : undefined;
}

function opens(): Promise<boolean> {
  const address = new URL(`${base}/pico`, location.href);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  return new Promise((resolve) => {
    const socket = new WebSocket(address);
    const done = (opened: boolean): void => {
      clearTimeout(timer);
      resolve(opened);
      socket.close();
    };
    const timer = setTimeout(done, patience, false);
    socket.addEventListener("open", () => done(true));
    socket.addEventListener("error", () => done(false));
  });
}
