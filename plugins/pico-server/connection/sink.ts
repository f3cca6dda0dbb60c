import type { Duplex } from "node:stream";
import type { Socket } from "node:net";
import type { ServerResponse } from "node:http";
import type { EncodedFrame } from "../frame-encoding.ts";
import type { ChannelWebSocket } from "./web-socket.ts";

/** Who gives a sink its bytes. */
export interface SinkSource {
  /** What was written has left: there is room for more. */
  drained(): void;
  /** Something was written that has not left at once. */
  behind(): void;
}

/** Where the bytes of one peer go. */
export interface Sink {
  isOpen(): boolean;
  write(bytes: EncodedFrame): void;
  /** Bytes that were written and have not left this process. */
  pending(): number;
  /** Changes whenever the machine took something; falls while it does. */
  waiting(): number;
  /** Set by who fills it, once. */
  filler: SinkSource | undefined;
}

/** Node's own name for it; where there is none, a peer is judged by whole writes. */
const handle = "_handle";

/** Bytes the kernel of the machine has not taken yet of what was given to it. */
function kernelQueueSize(socket: object): number {
  const { [handle]: own } = socket as { [handle]?: { readonly writeQueueSize?: number } | null };
  return own?.writeQueueSize ?? 0;
}

/* What one turn of the event loop writes to a socket leaves it in one piece. */
let pendingFlushes: WebSocketSink[] = [];

function flushAll(): void {
  const all = pendingFlushes;
  pendingFlushes = [];
  for (const sink of all) sink.flush();
}

/** Takes whole frames: the library is not asked to wrap the same message for each of its hearers. What was taken in a
 *  turn leaves before the close that ends it, whoever closes. */
export class WebSocketSink implements Sink {
  private readonly ws: ChannelWebSocket;
  private readonly socket: Duplex;
  filler: SinkSource | undefined = undefined;
  /** Of this turn: the short frames at its end, most often all there are, and what stands before them. */
  private text = "";
  private before: EncodedFrame[] | undefined = undefined;
  private bytes = 0;
  private isBegun = false;
  private isAwaited = false;

  constructor(ws: ChannelWebSocket, socket: Duplex) {
    this.ws = ws;
    this.socket = socket;
  }

  isOpen(): boolean {
    return this.ws.readyState === this.ws.OPEN && this.socket.writable;
  }

  write(frame: EncodedFrame): void {
    if (this.bytes === 0) this.begin();
    this.bytes += frame.length;
    if (typeof frame === "string") return void (this.text += frame);
    const before = (this.before ??= []);
    if (this.text !== "") before.push(this.text);
    before.push(frame);
    this.text = "";
  }

  private begin(): void {
    if (pendingFlushes.push(this) === 1) setImmediate(flushAll);
    if (this.isBegun) return;
    this.isBegun = true;
    this.socket.prependListener("end", () => this.flush());
  }

  pending(): number {
    return this.bytes + this.socket.writableLength;
  }

  waiting(): number {
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
    if (isBehind) this.fallBehind();
    // Nobody is told later: what the machine took at once may be followed by a "drain", but none is awaited.
    if (!isBehind || !socket.writableNeedDrain) this.filler?.drained();
  }

  private fallBehind(): void {
    this.filler?.behind();
    if (this.isAwaited) return;
    this.isAwaited = true;
    this.socket.on("drain", () => this.filler?.drained());
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

export function createResponseSink(answer: ServerResponse): Sink {
  const socket = answer.socket as Socket | null;
  const sink: Sink = {
    filler: undefined,
    isOpen: () => !answer.writableEnded && !answer.destroyed,
    write(bytes) {
      answer.write(bytes, "latin1");
      sink.filler?.behind();
    },
    pending: () => answer.writableLength,
    waiting: () => (socket ? kernelQueueSize(socket) : 0),
  };
  answer.on("drain", () => sink.filler?.drained());
  return sink;
}
