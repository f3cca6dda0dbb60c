import type { Duplex } from "node:stream";
import type { Socket } from "node:net";
import type { ServerResponse } from "node:http";
import type { NamedSocket } from "./socket.ts";

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

/** Node's own name for it; where there is none, a peer is judged by whole writes. */
const handle = "_handle";

/** Bytes the kernel of the machine has not taken yet of what was given to it. */
function queueOf(socket: object): number {
  const { [handle]: own } = socket as { [handle]?: { readonly writeQueueSize?: number } | null };
  return own?.writeQueueSize ?? 0;
}

const textFrame = 0x81; // the last fragment of a text message

/** A WebSocket text frame of a server, unmasked: the same bytes for everybody who hears it. `tail` goes on behind. */
export function framed(text: Uint8Array, tail = ""): Buffer {
  const byteLength = text.byteLength + Buffer.byteLength(tail);
  const lead = byteLength < 126 ? 2 : byteLength < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(lead + byteLength);
  frame[0] = textFrame;
  frame[1] = lead === 2 ? byteLength : lead === 4 ? 126 : 127;
  if (lead === 4) frame.writeUInt16BE(byteLength, 2);
  if (lead === 10) frame.writeBigUInt64BE(BigInt(byteLength), 2);
  frame.set(text, lead);
  if (tail !== "") frame.write(tail, lead + text.byteLength);
  return frame;
}

/* What one turn of the event loop writes to a socket leaves it in one piece. */
let due: (() => void)[] = [];

function flushAll(): void {
  const all = due;
  due = [];
  for (const flush of all) flush();
}

/** From this size on frames are not copied together. */
const large = 16 * 1024;

/** Takes frames made by `framed`: the library is not asked to wrap the same message for each of its hearers. What was
 *  taken in a turn leaves before the close that ends it, whoever closes. */
export function webSocketSink(ws: NamedSocket, socket: Duplex): Sink {
  let frames: Uint8Array[] = [];
  let bytes = 0;
  let drained = (): void => undefined;

  function flush(): void {
    if (frames.length === 0) return;
    give();
    // What the machine took at once is followed by no "drain".
    if (!socket.writableNeedDrain) drained();
  }

  function give(): void {
    const all = frames;
    const size = bytes;
    frames = [];
    bytes = 0;
    if (!socket.writable) return;
    if (all.length === 1) return void socket.write(all[0]);
    if (size <= large) return void socket.write(joined(all, size));
    socket.cork();
    for (const frame of all) socket.write(frame);
    socket.uncork();
  }

  ws.beforeClose = flush;
  socket.prependListener("end", flush);
  return {
    isOpen: () => ws.readyState === ws.OPEN && socket.writable,
    write(frame) {
      if (frames.length === 0 && due.push(flush) === 1) setImmediate(flushAll);
      frames.push(frame);
      bytes += frame.byteLength;
    },
    pending: () => bytes + socket.writableLength,
    onDrain(run) {
      drained = run;
      socket.on("drain", run);
    },
    waiting: () => queueOf(socket),
  };
}

function joined(frames: readonly Uint8Array[], size: number): Buffer {
  const all = Buffer.allocUnsafe(size);
  let at = 0;
  for (const frame of frames) {
    all.set(frame, at);
    at += frame.byteLength;
  }
  return all;
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
