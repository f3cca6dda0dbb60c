// Observes and changes how bytes reach a channel under test.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import type { OpenResources } from "./open-resources.ts";

/** Node publishes each socket here, before its first byte. */
const events = ["net.server.socket", "net.client.socket"] as const;
/** Chunks that arrive within this time are joined. */
const joinMs = 10;

/** How the bytes arrive: as the network has them, one by one, or several writes as one chunk. */
type WireMode = "whole" | "cut" | "joined";

/** The TCP sockets of the channel under test. */
export interface Wire {
  readonly resources: OpenResources;
  /** Sets the mode of the bytes that arrive from now on. */
  deliver(mode: WireMode): void;
  /** @returns The bytes that arrived since the last call. */
  take(): Buffer;
  /** @returns What a listener of the channel threw, if any did. */
  problem(): string | undefined;
  end(): void;
}

type Push = Socket["push"];

/** Taps the sockets that the tracked channel accepts or opens. HTTP reads past the tap. */
export function tapWire(resources: OpenResources): Wire {
  let mode: WireMode = "whole";
  let arrived: Buffer[] = [];
  let thrown: string | undefined;

  function tap(socket: Socket): void {
    const push: Push = socket.push.bind(socket);
    let held: Buffer[] = [];
    const safely: Push = (chunk) => {
      try {
        return push(chunk);
      } catch (error) {
        thrown ??= (error as Error).message;
        socket.destroy();
        return false;
      }
    };
    function flush(): void {
      const chunks = held;
      held = [];
      if (chunks.length > 0) safely(Buffer.concat(chunks));
    }
    socket.push = (chunk: Buffer | null) => {
      if (chunk === null || mode !== "joined") flush();
      if (chunk === null) return safely(null);
      arrived.push(Buffer.from(chunk));
      if (mode === "whole") return safely(chunk);
      if (mode === "joined") {
        if (held.push(chunk) === 1) setTimeout(flush, joinMs);
        return true;
      }
      let isWanted = true;
      for (let at = 0; at < chunk.length; at += 1) isWanted = safely(chunk.subarray(at, at + 1));
      return isWanted;
    };
  }
  function onSocket(message: unknown): void {
    if (resources.isOwn()) tap((message as { socket: Socket }).socket);
  }
  for (const event of events) subscribe(event, onSocket);
  return {
    resources,
    deliver: (next) => void (mode = next),
    take() {
      const bytes = Buffer.concat(arrived);
      arrived = [];
      return bytes;
    },
    problem: () => thrown,
    end() {
      for (const event of events) unsubscribe(event, onSocket);
    },
  };
}
