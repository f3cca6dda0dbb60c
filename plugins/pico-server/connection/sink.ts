// The output of a connection, and its form for an HTTP response.
import type { Socket } from "node:net";
import type { ServerResponse } from "node:http";
import type { EncodedFrame } from "../frame-encoding.ts";

/** Supplies the bytes of a sink. */
export interface SinkSource {
  /** All written bytes have left the process, so there is room for more. */
  onDrained(): void;
  /** Written bytes are still waiting in the process. */
  onPending(): void;
}

/** Receives the bytes for one peer. */
export interface Sink {
  isOpen(): boolean;
  write(bytes: EncodedFrame): void;
  /** Passes the frames of this turn to the operating system, which then tells how many fit. */
  flush(): void;
  /** Bytes that were written and have not left this process. */
  pending(): number;
  /** Bytes in the socket queue of the operating system. The number falls while the peer reads. */
  kernelQueueBytes(): number;
  /** Set once, by the outbox. */
  source: SinkSource | undefined;
}

/**
 * The internal name of the socket handle in Node. Without it, progress is visible only when a whole
 * write completes.
 */
const handle = "_handle";

/** Bytes that were passed to the socket and the operating system has not accepted yet. */
export function kernelQueueSize(socket: object): number {
  const { [handle]: socketHandle } = socket as {
    [handle]?: { readonly writeQueueSize?: number } | null;
  };
  return socketHandle?.writeQueueSize ?? 0;
}

export function createResponseSink(response: ServerResponse): Sink {
  const socket = response.socket as Socket | null;
  const sink: Sink = {
    source: undefined,
    isOpen: () => !response.writableEnded && !response.destroyed,
    write(bytes) {
      response.write(bytes, "latin1");
      sink.source?.onPending();
    },
    flush: () => undefined,
    pending: () => response.writableLength,
    kernelQueueBytes: () => (socket ? kernelQueueSize(socket) : 0),
  };
  response.on("drain", () => sink.source?.onDrained());
  return sink;
}
