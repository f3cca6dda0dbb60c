/** Encodes client WebSocket frames as bytes, for messages that a library would not send. */
export interface RawFrame {
  /** 0 continuation, 1 text, 2 binary, 8 close, 9 ping, 10 pong. */
  readonly opcode: number;
  /** @defaultValue true */
  readonly isFinal?: boolean;
  readonly payload?: Uint8Array;
}

const mask = [0x11, 0x22, 0x33, 0x44];

/** Encodes one masked frame. */
export function rawFrame({ opcode, isFinal = true, payload = new Uint8Array() }: RawFrame): Buffer {
  const size = payload.byteLength;
  const extended = size < 126 ? 0 : size < 65_536 ? 2 : 8;
  const head = Buffer.alloc(2 + extended + 4);
  head[0] = (isFinal ? 0x80 : 0) | opcode;
  head[1] = 0x80 | (extended === 0 ? size : extended === 2 ? 126 : 127);
  if (extended === 2) head.writeUInt16BE(size, 2);
  if (extended === 8) head.writeBigUInt64BE(BigInt(size), 2);
  head.set(mask, 2 + extended);
  return Buffer.concat([head, payload.map((byte, at) => byte ^ mask[at % 4]!)]);
}

/** Encodes a message in fragments of `size` bytes. */
export function fragmented(message: Uint8Array, size: number, opcode: 1 | 2): Buffer {
  const frames: Buffer[] = [];
  for (let at = 0; at < message.byteLength; at += size) {
    const payload = message.subarray(at, at + size);
    const isFinal = at + size >= message.byteLength;
    frames.push(rawFrame({ opcode: at === 0 ? opcode : 0, isFinal, payload }));
  }
  return Buffer.concat(frames);
}
