/**
 * The server side of a WebSocket (RFC 6455): the 101 response, the frames of one turn in one write,
 * and the closing handshake. Why not the library: docs/decisions/0048.
 */
import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { closeCodes, closeReason } from "../../../lib/pico-wire/index.ts";
import type { EncodedFrame } from "../frame-encoding.ts";
import { FrameReader, type FrameListener, type ViolationCode } from "./frame-reader.ts";
import { kernelQueueSize, type Sink, type SinkSource } from "./sink.ts";

/** How a WebSocket was closed. */
export interface CloseOutcome {
  /** 1005: the client sent a close frame without a code. 1006: the network failed. */
  readonly code: number;
  readonly reason: string;
  /** The side that sent its close frame first. `network`: neither side did. */
  readonly initiator: "client" | "server" | "network";
}

/** Receives the events of one WebSocket. */
export interface WebSocketListener {
  message(data: Buffer): void;
  ping(payload: Buffer): void;
  pong(): void;
  /** How much memory the unfinished message takes now, in bytes. 0: there is none. */
  unfinished(bytes: number): void;
  closed(outcome: CloseOutcome): void;
}

/**
 * Milliseconds that a client has to respond to a close before its socket is destroyed. Real time,
 * because a stop waits for it.
 */
const closeGraceMs = 1_000;
/** Bytes that are read after the close, the close frame of the client included. */
const maxLateBytes = 64 * 1024;

const protocolId = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const acceptKey = (key: string): string => hash("sha1", key + protocolId, "base64");

/** @param reason - At most 123 bytes. */
function closeFrame(code: number, reason: string): Buffer {
  if (code === 1005) return Buffer.of(0x88, 0);
  const text = Buffer.from(reason);
  const frame = Buffer.allocUnsafe(4 + text.length);
  frame[0] = 0x88;
  frame[1] = 2 + text.length;
  frame.writeUInt16BE(code, 2);
  text.copy(frame, 4);
  return frame;
}

const networkFailure: CloseOutcome = { code: 1006, reason: "", initiator: "network" };
const destroy = (socket: Duplex): void => void socket.destroy();

const webSocketKey = Symbol("webSocket");
type UpgradedSocket = Duplex & { [webSocketKey]: ChannelWebSocket };

// One set of functions for all sockets, so that a connection allocates no closures.
function onData(this: UpgradedSocket, chunk: Buffer): void {
  this[webSocketKey].receive(chunk);
}
function onEnd(this: UpgradedSocket): void {
  this[webSocketKey].inputEnded();
}
function onError(this: UpgradedSocket): void {
  this.destroy();
}
function onClose(this: UpgradedSocket): void {
  this[webSocketKey].socketClosed();
}

/** Frames written in one turn of the event loop leave in one write. */
let pendingFlushes: ChannelWebSocket[] = [];

function flushAll(): void {
  const sockets = pendingFlushes;
  pendingFlushes = [];
  for (const socket of sockets) socket.flush();
}

/**
 * Reads messages, and writes frames that were encoded once for all connections. Frames written in a
 * turn leave before a close that follows in the same turn. Nothing is read before `listen`.
 */
export class ChannelWebSocket implements FrameListener, Sink {
  source: SinkSource | undefined = undefined;
  private readonly socket: UpgradedSocket;
  private readonly reader: FrameReader;
  private listener!: WebSocketListener;
  private outcome: CloseOutcome | undefined = undefined;
  /** True after the close frame of the client, or after a violation. */
  private isInputOver = false;
  private graceTimer: NodeJS.Timeout | undefined = undefined;
  private unfinishedBytes = 0;
  private lateBytes = 0;
  /**
   * Frames of this turn: the trailing short frames as one string (usually all of them), and all
   * frames before those.
   */
  private text = "";
  private before: EncodedFrame[] | undefined = undefined;
  private bytes = 0;
  private awaitsDrain = false;

  /** @param maxPayload - The largest message in bytes. */
  constructor(socket: Duplex, maxPayload: number) {
    this.socket = socket as UpgradedSocket;
    this.reader = new FrameReader(this, maxPayload);
  }

  /** Starts to read. Call once. */
  listen(listener: WebSocketListener): void {
    const { socket } = this;
    this.listener = listener;
    socket[webSocketKey] = this;
    socket.on("data", onData);
    socket.on("end", onEnd);
    socket.on("error", onError);
    socket.on("close", onClose);
  }

  /** False after one side closed. */
  isOpen(): boolean {
    return this.outcome === undefined && this.socket.writable;
  }

  write(frame: EncodedFrame): void {
    if (this.bytes === 0 && pendingFlushes.push(this) === 1) setImmediate(flushAll);
    this.bytes += frame.length;
    if (typeof frame === "string") return void (this.text += frame);
    const before = (this.before ??= []);
    if (this.text !== "") before.push(this.text);
    before.push(frame);
    this.text = "";
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

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  /** Sends a close frame and reads until the one of the client. Does nothing if one side closed. */
  close(code: number, reason: string): void {
    if (this.begin({ code, reason, initiator: "server" }))
      this.socket.write(closeFrame(code, reason));
  }

  /** True after the first fragment of a message, until the last one. */
  isInMessage(): boolean {
    return this.reader.isInMessage();
  }

  message(data: Buffer): void {
    this.countUnfinished(0);
    this.listener.message(data);
  }

  ping(payload: Buffer): void {
    this.listener.ping(payload);
  }

  pong(): void {
    this.listener.pong();
  }

  closeReceived(code: number, reason: string): void {
    this.isInputOver = true;
    if (this.begin({ code, reason, initiator: "client" }))
      this.socket.end(closeFrame(code, reason));
    else this.socket.end();
  }

  violation(code: ViolationCode): void {
    this.isInputOver = true;
    const reason = code === closeCodes.too_big.code ? closeReason("too_big") : "";
    if (this.begin({ code, reason, initiator: "server" }))
      this.socket.end(closeFrame(code, reason));
    else this.socket.end();
  }

  receive(chunk: Buffer): void {
    if (this.isInputOver) return;
    if (this.outcome && (this.lateBytes += chunk.length) > maxLateBytes) return this.reader.stop();
    this.reader.read(chunk);
    this.countUnfinished(this.reader.unfinishedBytes());
  }

  inputEnded(): void {
    this.begin(networkFailure);
    if (!this.socket.writableEnded) this.socket.end();
  }

  socketClosed(): void {
    const { socket } = this;
    // The socket was paused when it broke.
    const rest = socket.readableLength > 0 ? (socket.read() as Buffer | null) : null;
    if (rest) this.receive(rest);
    this.reader.stop();
    this.begin(networkFailure);
    clearTimeout(this.graceTimer);
    this.listener.closed(this.outcome!);
  }

  /** @returns False if one side had closed before. */
  private begin(outcome: CloseOutcome): boolean {
    if (this.outcome) return false;
    this.outcome = outcome;
    this.flush();
    this.graceTimer = setTimeout(destroy, closeGraceMs, this.socket);
    this.socket.resume(); // otherwise the response to the close would not be read
    return true;
  }

  private awaitDrain(): void {
    this.source?.onPending();
    if (this.awaitsDrain) return;
    this.awaitsDrain = true;
    this.socket.on("drain", () => this.source?.onDrained());
  }

  private countUnfinished(bytes: number): void {
    if (bytes === this.unfinishedBytes) return;
    this.unfinishedBytes = bytes;
    this.listener.unfinished(bytes);
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

/**
 * Sends the 101 response. The handshake has checked the request.
 *
 * @param head - Bytes of the client that arrived with the request.
 * @param subprotocol - The accepted one, as Node decoded it from the request.
 * @param maxPayload - The largest message in bytes.
 */
export function acceptWebSocket(
  { headers }: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  subprotocol: string | undefined,
  maxPayload: number,
): ChannelWebSocket {
  const key = headers["sec-websocket-key"]!;
  const subprotocolLine =
    subprotocol === undefined ? "" : `Sec-WebSocket-Protocol: ${subprotocol}\r\n`;
  (socket as Socket).setTimeout?.(0);
  (socket as Socket).setNoDelay?.();
  if (head.length > 0) socket.unshift(head);
  // Node decodes header fields as Latin-1.
  socket.write(
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
      `Sec-WebSocket-Accept: ${acceptKey(key)}\r\nReferrer-Policy: no-referrer\r\n` +
      `${subprotocolLine}\r\n`,
    "latin1",
  );
  return new ChannelWebSocket(socket, maxPayload);
}
