import type { Duplex } from "node:stream";
import type { Socket } from "node:net";
import type { ServerResponse } from "node:http";
import type { WebSocket } from "ws";

/** Where the bytes of one peer go. */
export interface Sink {
  isOpen(): boolean;
  write(bytes: Uint8Array): void;
  /** Bytes that were written and have not left this process. */
  pending(): number;
  /** Calls when everything that was written has left. */
  onDrain(run: () => void): void;
  /** Changes whenever the machine took something; falls while it does. */
  waiting(): number;
}

interface Corkable {
  cork(): void;
  uncork(): void;
}

/* What one turn of the event loop writes to a socket leaves it in one piece. */
let corked: Corkable[] = [];

function uncorkAll(): void {
  const all = corked;
  corked = [];
  for (const stream of all) stream.uncork();
}

function corkOnce(stream: Corkable & { readonly writableCorked: number }): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  if (corked.push(stream) === 1) setImmediate(uncorkAll);
}

/** Node's own name for it; where there is none, a peer is judged by whole writes. */
const handle = "_handle";

/** Bytes the kernel of the machine has not taken yet of what was given to it. */
function queueOf(socket: object): number {
  const { [handle]: own } = socket as { [handle]?: { readonly writeQueueSize?: number } | null };
  return own?.writeQueueSize ?? 0;
}

const textFrame = 0x81; // the last fragment of a text message

/** A WebSocket text frame of a server, unmasked: the same bytes for everybody who hears it. */
export function framed(text: Uint8Array): Buffer {
  const { byteLength } = text;
  const lead = byteLength < 126 ? 2 : byteLength < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(lead + byteLength);
  frame[0] = textFrame;
  frame[1] = lead === 2 ? byteLength : lead === 4 ? 126 : 127;
  if (lead === 4) frame.writeUInt16BE(byteLength, 2);
  if (lead === 10) frame.writeBigUInt64BE(BigInt(byteLength), 2);
  frame.set(text, lead);
  return frame;
}

/** Takes frames made by `framed`: the library is not asked to wrap the same message for each of its hearers. */
export function webSocketSink(ws: WebSocket, socket: Duplex): Sink {
  return {
    isOpen: () => ws.readyState === ws.OPEN && socket.writable,
    write(bytes) {
      corkOnce(socket);
      socket.write(bytes);
    },
    pending: () => socket.writableLength,
    onDrain: (run) => void socket.on("drain", run),
    waiting: () => queueOf(socket),
  };
}

export function answerSink(answer: ServerResponse): Sink {
  const socket = answer.socket as Socket | null;
  return {
    isOpen: () => !answer.writableEnded && !answer.destroyed,
    write: (bytes) => void answer.write(bytes),
    pending: () => answer.writableLength,
    onDrain: (run) => void answer.on("drain", run),
    waiting: () => (socket ? queueOf(socket) : 0),
  };
}
