/** Reads the frames that a WebSocket client sends (RFC 6455, section 5), without compression. */
import { isUtf8 } from "node:buffer";

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
