import type { Duplex } from "node:stream";
import type { Socket } from "node:net";
import type { ServerResponse } from "node:http";
import type { NamedSocket } from "./socket.ts";

/** Who gives a sink its bytes. */
export interface Filler {
  /** What was written has left: there is room for more. */
  drained(): void;
  /** Something was written that has not left at once. */
  behind(): void;
}

/** Where the bytes of one peer go. */
export interface Sink {
  isOpen(): boolean;
  write(bytes: Uint8Array): void;
  /** Bytes that were written and have not left this process. */
  pending(): number;
  /** Changes whenever the machine took something; falls while it does. */
  waiting(): number;
  /** Set by who fills it, once. */
  filler: Filler | undefined;
}

/** Node's own name for it; where there is none, a peer is judged by whole writes. */
const handle = "_handle";

/** Bytes the kernel of the machine has not taken yet of what was given to it. */
function queueOf(socket: object): number {
  const { [handle]: own } = socket as { [handle]?: { readonly writeQueueSize?: number } | null };
  return own?.writeQueueSize ?? 0;
}

const textFrame = 0x81; // the last fragment of a text message
/** A ping that says nothing: the same bytes for everybody. */
export const pingFrame = Buffer.from([0x89, 0]);

/** A WebSocket text frame of a server, unmasked, whose last `byteLength` bytes, the payload, are to be written. */
export function frameFor(byteLength: number): Buffer {
  const lead = byteLength < 126 ? 2 : byteLength < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(lead + byteLength);
  frame[0] = textFrame;
  frame[1] = lead === 2 ? byteLength : lead === 4 ? 126 : 127;
  if (lead === 4) frame.writeUInt16BE(byteLength, 2);
  if (lead === 10) frame.writeBigUInt64BE(BigInt(byteLength), 2);
  return frame;
}

/** The same bytes for everybody who hears it. */
export function framed(text: Uint8Array): Buffer {
  const frame = frameFor(text.byteLength);
  frame.set(text, frame.byteLength - text.byteLength);
  return frame;
}

export function framedText(text: string, byteLength = Buffer.byteLength(text)): Buffer {
  const frame = frameFor(byteLength);
  const isAscii = text.length === byteLength;
  frame.write(text, frame.byteLength - byteLength, isAscii ? "latin1" : "utf8");
  return frame;
}

/* What one turn of the event loop writes to a socket leaves it in one piece. */
let due: WebSocketSink[] = [];

function flushAll(): void {
  const all = due;
  due = [];
  for (const sink of all) sink.flush();
}

/** From this size on frames are not copied together. */
const large = 16 * 1024;

/** Takes frames made by `framed`: the library is not asked to wrap the same message for each of its hearers. What was
 *  taken in a turn leaves before the close that ends it, whoever closes. */
export class WebSocketSink implements Sink {
  private readonly ws: NamedSocket;
  private readonly socket: Duplex;
  filler: Filler | undefined = undefined;
  /** Of this turn: most often one. */
  private first: Uint8Array | undefined = undefined;
  private more: Uint8Array[] | undefined = undefined;
  private bytes = 0;
  private isBegun = false;
  private isAwaited = false;

  constructor(ws: NamedSocket, socket: Duplex) {
    this.ws = ws;
    this.socket = socket;
  }

  isOpen(): boolean {
    return this.ws.readyState === this.ws.OPEN && this.socket.writable;
  }

  write(frame: Uint8Array): void {
    this.bytes += frame.byteLength;
    if (this.first) return void (this.more ??= []).push(frame);
    this.first = frame;
    if (due.push(this) === 1) setImmediate(flushAll);
    if (this.isBegun) return;
    this.isBegun = true;
    this.socket.prependListener("end", () => this.flush());
  }

  pending(): number {
    return this.bytes + this.socket.writableLength;
  }

  waiting(): number {
    return queueOf(this.socket);
  }

  flush(): void {
    const { first, more, bytes, socket } = this;
    if (!first) return;
    this.first = this.more = undefined;
    this.bytes = 0;
    if (socket.writable) give(socket, first, more, bytes);
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

function give(socket: Duplex, first: Uint8Array, more: readonly Uint8Array[] | undefined, bytes: number): void {
  if (!more) return void socket.write(first);
  if (bytes <= large) return void socket.write(joined(first, more, bytes));
  socket.cork();
  socket.write(first);
  for (const frame of more) socket.write(frame);
  socket.uncork();
}

function joined(first: Uint8Array, more: readonly Uint8Array[], size: number): Buffer {
  const all = Buffer.allocUnsafe(size);
  all.set(first);
  let at = first.byteLength;
  for (const frame of more) {
    all.set(frame, at);
    at += frame.byteLength;
  }
  return all;
}

export function answerSink(answer: ServerResponse): Sink {
  const socket = answer.socket as Socket | null;
  const sink: Sink = {
    filler: undefined,
    isOpen: () => !answer.writableEnded && !answer.destroyed,
    write(bytes) {
      answer.write(bytes);
      sink.filler?.behind();
    },
    pending: () => answer.writableLength,
    waiting: () => (socket ? queueOf(socket) : 0),
  };
  answer.on("drain", () => sink.filler?.drained());
  return sink;
}
