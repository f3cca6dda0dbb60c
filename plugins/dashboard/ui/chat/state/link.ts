/** Connects a conversation of the page to the channel. @module */
import {
  connect,
  type Client,
  type LinkHandlers,
  type SocketConstructor,
} from "../../../../../lib/pico-link/browser.ts";
import type { StatusView } from "../../../api/views.ts";
import { base } from "../../live/base.ts";
import { requestAsOwner } from "../../live/owner.ts";
import { recorder } from "./recorder.ts";

export { receive } from "./receive.ts";

/** Handlers of a link, and one for the raw frames. */
interface ChatLinkHandlers extends LinkHandlers {
  /** Receives every text frame in both directions. */
  readonly onRaw: (direction: "in" | "out", text: string) => void;
}

/** Opens a link to the channel. The server authenticates it by the sign-in cookie. */
export const openLink = (session: string, { onRaw, ...handlers }: ChatLinkHandlers): Client =>
  connect({
    url: `${base()}/pico`,
    token: "",
    sessionId: session,
    WebSocket: observedWebSocket((direction, text) => {
      recorder.record(session, direction, text);
      onRaw(direction, text);
    }),
    fetch: probe,
    ...handlers,
  });

/**
 * Finds out why a handshake failed. The channel accepts the sign-in cookie only for WebSockets, so
 * this function requests the dashboard status instead. A signed-out user is asked to sign in first.
 */
async function probe(): Promise<Response> {
  const answer = await requestAsOwner<StatusView>("GET", "/api/status");
  if ("error" in answer) {
    const { status, code, message } = answer.error;
    if (status === 0) throw new Error(message);
    return Response.json({ error: code }, { status });
  }
  const { channel } = answer.body;
  if (!channel) return Response.json({ error: "no_channel" }, { status: 404 });
  if (!channel.enabled) {
    const canTurnOn = channel.enabledManagedBy === undefined && channel.etag !== undefined;
    const error = canTurnOn ? "not_found" : "channel_managed";
    return Response.json({ error }, { status: 404 });
  }
  if (channel.connections < channel.maxConnections) return Response.json({});
  return Response.json({ error: "too_many_connections" }, { status: 503 });
}

/** Returns a WebSocket class that reports every text frame. */
function observedWebSocket(onRaw: ChatLinkHandlers["onRaw"]): SocketConstructor {
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
