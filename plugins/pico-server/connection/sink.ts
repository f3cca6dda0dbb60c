// Writes encoded frames to a WebSocket or to an HTTP response.
import type { Duplex } from "node:stream";
import type { Socket } from "node:net";
import type { ServerResponse } from "node:http";
import type { EncodedFrame } from "../frame-encoding.ts";
import type { ChannelWebSocket } from "./web-socket.ts";

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
function kernelQueueSize(socket: object): number {
  const { [handle]: socketHandle } = socket as {
    [handle]?: { readonly writeQueueSize?: number } | null;
  };
  return socketHandle?.writeQueueSize ?? 0;
}

/** Frames written in one turn of the event loop leave in one write. */
let pendingFlushes: WebSocketSink[] = [];

function flushAll(): void {
  const sinks = pendingFlushes;
  pendingFlushes = [];
  for (const sink of sinks) sink.flush();
}

/**
 * Accepts encoded frames, so that the library does not encode the same message again for each
 * subscriber. Frames written in a turn leave before a close that follows in the same turn, also
 * when the library closes.
 */
export class WebSocketSink implements Sink {
  private readonly ws: ChannelWebSocket;
  private readonly socket: Duplex;
  source: SinkSource | undefined = undefined;
  /**
   * Frames of this turn: the trailing short frames as one string (usually all of them), and all
   * frames before those.
   */
  private text = "";
  private before: EncodedFrame[] | undefined = undefined;
  private bytes = 0;
  private hasEndListener = false;
  private awaitsDrain = false;

  constructor(ws: ChannelWebSocket, socket: Duplex) {
    this.ws = ws;
    this.socket = socket;
  }

  isOpen(): boolean {
    return this.ws.readyState === this.ws.OPEN && this.socket.writable;
  }

  write(frame: EncodedFrame): void {
    if (this.bytes === 0) this.scheduleFlush();
    this.bytes += frame.length;
    if (typeof frame === "string") return void (this.text += frame);
    const before = (this.before ??= []);
    if (this.text !== "") before.push(this.text);
    before.push(frame);
    this.text = "";
  }

  private scheduleFlush(): void {
    if (pendingFlushes.push(this) === 1) setImmediate(flushAll);
    if (this.hasEndListener) return;
    this.hasEndListener = true;
    this.socket.prependListener("end", () => this.flush());
  }

  pending(): number {
    return this.bytes + this.socket.writableLength;
  }

  kernelQueueBytes(): number {
    return kernelQueueSize(this.socket);
  }

  flush(): void {
    const { before, text, bytes, socket } = this;
    if (bytes === 0) return;
    this.before = undefined;
    this.text = "";
    this.bytes = 0;
    if (socket.writable) writeBatch(socket, before, text);
    const isBehind = socket.writableLength > 0;
    if (isBehind) this.awaitDrain();
    // If the operating system accepts all bytes immediately, no `drain` event follows.
    if (!isBehind || !socket.writableNeedDrain) this.source?.onDrained();
  }

  private awaitDrain(): void {
    this.source?.onPending();
    if (this.awaitsDrain) return;
    this.awaitsDrain = true;
    this.socket.on("drain", () => this.source?.onDrained());
  }
}

function writeBatch(
  socket: Duplex,
  before: readonly EncodedFrame[] | undefined,
  text: string,
): void {
  if (!before) return void socket.write(text, "latin1");
  socket.cork();
  for (const frames of before) socket.write(frames, "latin1");
  if (text !== "") socket.write(text, "latin1");
  socket.uncork();
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
