/**
 * The server side of a WebSocket (RFC 6455): the 101 response, the frames of a client without
 * compression, those of one turn to it in one write, and the closing handshake. Why not the
 * library: docs/decisions/0048.
 */
import { isUtf8 } from "node:buffer";
import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { closeCodes, closeReason } from "../../../lib/pico-wire/index.ts";
import type { EncodedFrame } from "../frame-encoding.ts";
import { kernelQueueSize, type Sink, type SinkSource } from "./sink.ts";

/** Close codes for a client that violates the protocol (RFC 6455, section 7.4.1). */
export type ViolationCode = 1002 | 1007 | 1009;

/** Receives what a client sent. */
export interface FrameListener {
  /** A complete message. The bytes are not used again. */
  message(data: Buffer): void;
  ping(payload: Buffer): void;
  pong(): void;
  /** The client sent a close frame, and no further frame is read. `code`: 1005 without one. */
  closeReceived(code: number, reason: string): void;
  /** The client violated the protocol, and no further frame is read. */
  violation(code: ViolationCode): void;
}

const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
const finalBit = 0x80;
const reservedBits = 0x70;
const maskBit = 0x80;
const maskBytes = 4;
const maxControlBytes = 125;
/** Memory for the first part of an unfinished frame or message, unless that part is longer. */
const firstCapacity = 1_024;
/**
 * A message may have as many fragments as one of `maxPayload` bytes has with 64 bytes in each, and
 * this many in any case. Empty fragments would otherwise never end.
 */
const minFragmentLimit = 65_536;
const minFragmentBytes = 64;

/** Bytes that arrive in parts, in one buffer: a part of one byte takes one byte of memory. */
class GrowingBytes {
  length = 0;
  private buffer: Buffer;

  constructor(capacity: number) {
    this.buffer = Buffer.allocUnsafeSlow(capacity);
  }

  get capacity(): number {
    return this.buffer.length;
  }

  /** @param limit - The most bytes that will ever be appended, as far as it is known. */
  append(bytes: Buffer, from: number, to: number, limit: number): void {
    const length = this.length + to - from;
    if (length > this.buffer.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(length, Math.min(limit, 2 * length)));
      this.buffer.copy(grown, 0, 0, this.length);
      this.buffer = grown;
    }
    bytes.copy(this.buffer, this.length, from, to);
    this.length = length;
  }

  bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }
}

/** The message whose fragments are arriving. */
interface UnfinishedMessage {
  readonly isText: boolean;
  readonly bytes: GrowingBytes;
  fragments: number;
}

/** The header that was read last. All connections share it: each frame is read before the next. */
const header = { first: 0, second: 0, size: 0, payloadAt: 0 };

/**
 * Reads the header of a frame.
 *
 * @param at - Offset of the frame.
 * @returns The length of the frame, or of the part that contains its length if this part is
 *   incomplete.
 */
function readHeader(bytes: Buffer, at: number): number {
  const arrived = bytes.length - at;
  header.size = 0;
  if (arrived < 2) return 2;
  header.first = bytes[at]!;
  header.second = bytes[at + 1]!;
  const size = header.second & 0x7f;
  const lengthBytes = size < 126 ? 0 : size === 126 ? 2 : 8;
  if (arrived < 2 + lengthBytes) return 2 + lengthBytes;
  if (lengthBytes === 0) header.size = size;
  else if (lengthBytes === 2) header.size = bytes.readUInt16BE(at + 2);
  else header.size = bytes.readUInt32BE(at + 2) * 2 ** 32 + bytes.readUInt32BE(at + 6);
  header.payloadAt = at + 2 + lengthBytes + maskBytes;
  return 2 + lengthBytes + maskBytes + header.size;
}

/** Removes the mask in place (RFC 6455, section 5.3). It lies before the first byte. */
function unmask(bytes: Buffer, from: number, to: number): void {
  const first = bytes[from - 4]!;
  const second = bytes[from - 3]!;
  const third = bytes[from - 2]!;
  const fourth = bytes[from - 1]!;
  let at = from;
  for (; at + 3 < to; at += 4) {
    bytes[at]! ^= first;
    bytes[at + 1]! ^= second;
    bytes[at + 2]! ^= third;
    bytes[at + 3]! ^= fourth;
  }
  if (at < to) bytes[at]! ^= first;
  if (at + 1 < to) bytes[at + 1]! ^= second;
  if (at + 2 < to) bytes[at + 2]! ^= third;
}

/** True for codes that a close frame may contain (RFC 6455, section 7.4). */
const isCloseCode = (code: number): boolean =>
  (code >= 1000 && code <= 1014 && code !== 1004 && code !== 1005 && code !== 1006) ||
  (code >= 3000 && code <= 4999);

/**
 * Passes each message to the listener when its last byte has arrived. Frames that arrive as a whole
 * are not copied. The parts of an unfinished message take at most twice their bytes.
 */
export class FrameReader {
  private readonly listener: FrameListener;
  private readonly maxPayload: number;
  /** The frame at the end of the last chunk, if a part of it is missing. */
  private rest: GrowingBytes | undefined = undefined;
  private unfinished: UnfinishedMessage | undefined = undefined;
  private isStopped = false;

  /** @param maxPayload - The largest message in bytes. */
  constructor(listener: FrameListener, maxPayload: number) {
    this.listener = listener;
    this.maxPayload = maxPayload;
  }

  /** Bytes of memory that an unfinished message takes. 0 between two messages. */
  unfinishedBytes(): number {
    return (this.rest?.capacity ?? 0) + (this.unfinished?.bytes.capacity ?? 0);
  }

  /** True after the first fragment of a message, until the last one. */
  isInMessage(): boolean {
    return this.unfinished !== undefined;
  }

  /** Reads no further frames, and releases an unfinished message. */
  stop(): void {
    this.isStopped = true;
    this.rest = undefined;
    this.unfinished = undefined;
  }

  /** @param chunk - The next bytes of the client. The reader changes them. */
  read(chunk: Buffer): void {
    let at = this.rest === undefined ? 0 : this.completeRest(this.rest, chunk);
    while (at < chunk.length && !this.isStopped) {
      const length = readHeader(chunk, at);
      if (!this.isAllowed(chunk.length - at)) return;
      const end = at + length;
      if (end > chunk.length) return this.keep(chunk, at, length);
      at = end;
      this.readFrame(chunk, end);
    }
  }

  private keep(chunk: Buffer, at: number, length: number): void {
    const arrived = chunk.length - at;
    this.rest = new GrowingBytes(Math.max(arrived, Math.min(length, firstCapacity)));
    this.rest.append(chunk, at, chunk.length, length);
  }

  /** @returns The offset in the chunk after the frame that started in an earlier one. */
  private completeRest(rest: GrowingBytes, chunk: Buffer): number {
    let at = 0;
    while (at < chunk.length) {
      const length = readHeader(rest.bytes(), 0);
      const end = Math.min(chunk.length, at + length - rest.length);
      rest.append(chunk, at, end, length);
      at = end;
      const isLonger = readHeader(rest.bytes(), 0) > rest.length;
      if (!this.isAllowed(rest.length)) return at;
      if (isLonger) continue;
      this.rest = undefined;
      this.readFrame(rest.bytes(), rest.length);
      return at;
    }
    return at;
  }

  /**
   * Checks the header that was read last.
   *
   * @param arrived - Bytes of the frame that have arrived.
   */
  private isAllowed(arrived: number): boolean {
    if (arrived < 2) return true;
    const { first, second, size } = header;
    const opcode = first & 0x0f;
    const isControl = opcode >= opcodes.close;
    const isFinal = (first & finalBit) !== 0;
    if ((first & reservedBits) !== 0 || (second & maskBit) === 0 || opcode > opcodes.pong)
      return this.violate(1002);
    if (isControl) {
      if (!isFinal || (second & 0x7f) > maxControlBytes) return this.violate(1002);
      return true;
    }
    const isContinuation = opcode === opcodes.continuation;
    if (opcode > opcodes.binary || isContinuation !== this.isInMessage()) return this.violate(1002);
    if (size + (this.unfinished?.bytes.length ?? 0) > this.maxPayload) return this.violate(1009);
    return true;
  }

  private violate(code: ViolationCode): false {
    this.stop();
    this.listener.violation(code);
    return false;
  }

  /** Reads the frame whose header was read last. `end` is the offset after its last byte. */
  private readFrame(bytes: Buffer, end: number): void {
    const { listener, unfinished } = this;
    const opcode = header.first & 0x0f;
    const from = end - header.size;
    unmask(bytes, from, end);
    const payload = bytes.subarray(from, end);
    if (opcode === opcodes.ping) listener.ping(payload);
    else if (opcode === opcodes.pong) listener.pong();
    else if (opcode === opcodes.close) this.readClose(payload);
    else if (unfinished || (header.first & finalBit) === 0) this.addFragment(payload);
    else this.finish(opcode === opcodes.text, payload);
  }

  private addFragment(payload: Buffer): void {
    const isLast = (header.first & finalBit) !== 0;
    const unfinished = (this.unfinished ??= {
      isText: (header.first & 0x0f) === opcodes.text,
      bytes: new GrowingBytes(Math.max(payload.length, firstCapacity)),
      fragments: 0,
    });
    unfinished.bytes.append(payload, 0, payload.length, this.maxPayload);
    unfinished.fragments += 1;
    if (unfinished.fragments > Math.max(minFragmentLimit, this.maxPayload / minFragmentBytes))
      return void this.violate(1009);
    if (!isLast) return;
    this.unfinished = undefined;
    this.finish(unfinished.isText, unfinished.bytes.bytes());
  }

  private finish(isText: boolean, data: Buffer): void {
    if (isText && !isUtf8(data)) this.violate(1007);
    else this.listener.message(data);
  }

  private readClose(payload: Buffer): void {
    if (payload.length === 1) return void this.violate(1002);
    const code = payload.length === 0 ? 1005 : payload.readUInt16BE(0);
    const reason = payload.subarray(2);
    if (payload.length > 0 && !isCloseCode(code)) this.violate(1002);
    else if (!isUtf8(reason)) this.violate(1007);
    else {
      this.stop();
      this.listener.closeReceived(code, reason.toString());
    }
  }
}

/** How a WebSocket was closed. */
export interface CloseOutcome {
  /** 1005: the client sent a close frame without a code. 1006: the network failed. */
  readonly code: number;
  readonly reason: string;
  /** The side that sent its close frame first. `network`: neither side did. */
  readonly initiator: "client" | "server" | "network";
}

/** Receives the events of one WebSocket. */
export interface WebSocketListener extends Pick<FrameListener, "message" | "ping" | "pong"> {
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
