import {
  connect,
  type Client,
  type LinkHandlers,
  type SocketConstructor,
} from "../../../lib/pico-link/browser.ts";
import type { StatusView } from "../api/views.ts";
import { base } from "./dom.ts";
import { askOwner } from "./owner.ts";

export interface ChatHandlers extends LinkHandlers {
  /** Every text that travels. */
  readonly onRaw: (direction: "in" | "out", text: string) => void;
}

/** A client of the pico channel for this page: the server knows it by the session cookie. */
export const openLink = (session: string, { onRaw, ...handlers }: ChatHandlers): Client =>
  connect({
    url: `${base}/pico`,
    token: "",
    sessionId: session,
    WebSocket: tapped(onRaw),
    fetch: probe,
    ...handlers,
  });

/** Why a handshake failed. The channel takes the page's cookie for WebSockets alone, so the dashboard is asked; who is
 *  signed out is asked for the token first. */
async function probe(): Promise<Response> {
  const answer = await askOwner<StatusView>("GET", "/api/status");
  if ("refused" in answer) {
    const { status, code, message } = answer.refused;
    if (status === 0) throw new Error(message);
    return Response.json({ error: code }, { status });
  }
  const { channel } = answer.body;
  if (!channel) return Response.json({ error: "no_channel" }, { status: 404 });
  if (!channel.enabled) return Response.json({ error: "not_found" }, { status: 404 });
  if (channel.connections < channel.maxConnections) return Response.json({});
  return Response.json({ error: "too_many_connections" }, { status: 503 });
}

/** The browser's own, telling what travels. */
function tapped(onRaw: ChatHandlers["onRaw"]): SocketConstructor {
  return class extends WebSocket {
    constructor(url: string, protocols?: string[]) {
      super(url, protocols);
      this.addEventListener("message", ({ data }: MessageEvent<ArrayBuffer | string>) => {
        if (typeof data === "string") onRaw("in", data);
      });
    }

    override send(text: string): void {
      onRaw("out", text);
      super.send(text);
    }
  };
}
