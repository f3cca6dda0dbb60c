// Encodes WebSocket frames, and decodes them and bodies into lines of text.

const crlf = "\r\n";

/** Writes the complete lines or frames of received bytes. Returns the rest. */
export type Decoder = (bytes: Buffer, write: (line: string) => void) => Buffer;

/** Writes the lines of a text, each when its end has arrived. */
export const decodeText: Decoder = (bytes, write) => {
  const end = bytes.lastIndexOf("\n") + 1;
  if (end > 0)
    bytes
      .toString("utf8", 0, end - 1)
      .split("\n")
      .forEach(write);
  return bytes.subarray(end);
};

/** Leaves out the sizes of chunks: the place of a cut depends on the time of each write. */
export function createChunkDecoder(): Decoder {
  let text = Buffer.alloc(0);
  return (bytes, write) => {
    for (;;) {
      const line = bytes.indexOf(crlf);
      if (line === -1) return bytes;
      const size = Number.parseInt(bytes.toString("latin1", 0, line), 16);
      const end = line + 2 + size + 2;
      if (bytes.length < end) return bytes;
      text = Buffer.concat([text, bytes.subarray(line + 2, end - 2)]);
      text = Buffer.from(decodeText(text, write));
      bytes = bytes.subarray(end);
      if (size > 0) continue;
      if (text.length > 0) write(text.toString());
      return bytes;
    }
  };
}

const opcodes: Readonly<{ [opcode: number]: string }> = {
  0x0: "continuation",
  0x1: "text",
  0x2: "binary",
  0x8: "close",
  0x9: "ping",
  0xa: "pong",
};

/** Writes one line per frame, which names everything that is unusual: flags, mask, length. */
export const decodeFrames: Decoder = (bytes, write) => {
  for (;;) {
    if (bytes.length < 2) return bytes;
    const [first = 0, second = 0] = bytes;
    const form = second & 0x7f;
    const isMasked = (second & 0x80) !== 0;
    const sizes = form === 127 ? 10 : form === 126 ? 4 : 2;
    const head = sizes + (isMasked ? 4 : 0);
    if (bytes.length < head) return bytes;
    const length =
      form === 127 ? Number(bytes.readBigUInt64BE(2)) : form === 126 ? bytes.readUInt16BE(2) : form;
    if (bytes.length < head + length) return bytes;
    const payload = Buffer.from(bytes.subarray(head, head + length));
    if (isMasked) for (let at = 0; at < length; at += 1) payload[at]! ^= bytes[sizes + (at % 4)]!;
    const opcode = opcodes[first & 0x0f] ?? `opcode ${first & 0x0f}`;
    const shortest = length > 65_535 ? 10 : length > 125 ? 4 : 2;
    const notes = [
      (first & 0x80) === 0 && "unfinished",
      (first & 0x70) !== 0 && `reserved ${first & 0x70}`,
      isMasked && "masked",
      sizes !== shortest && `length in ${sizes} bytes`,
    ].filter(Boolean);
    const content =
      opcode === "close" && length >= 2
        ? `${payload.readUInt16BE()} ${payload.toString("utf8", 2)}`
        : payload.toString();
    write([opcode, ...notes, content].join(" ").trimEnd());
    bytes = bytes.subarray(head + length);
  }
};

/** Encodes a frame of a client. Its mask is zero, which leaves the payload as it is. */
export function toFrame(content: string | Buffer, opcode = 0x1, isLast = true): Buffer {
  const [head, payload] = encodeFrame(content, opcode, isLast);
  head[1]! |= 0x80;
  return Buffer.concat([head, Buffer.alloc(4), payload]);
}

/** Encodes a frame of a server. */
export const toServerFrame = (content: string | Buffer, opcode = 0x1): Buffer =>
  Buffer.concat(encodeFrame(content, opcode, true));

function encodeFrame(
  content: string | Buffer,
  opcode: number,
  isLast: boolean,
): readonly [head: Buffer, payload: Buffer] {
  const payload = Buffer.from(content as string);
  const head = Buffer.alloc(payload.length > 65_535 ? 10 : payload.length > 125 ? 4 : 2);
  head[0] = (isLast ? 0x80 : 0) | opcode;
  head[1] = head.length === 10 ? 127 : head.length === 4 ? 126 : payload.length;
  if (head.length === 4) head.writeUInt16BE(payload.length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(payload.length), 2);
  return [head, payload];
}

/** Encodes the payload of a close frame. */
export function toClosePayload(code: number, reason = ""): Buffer {
  const payload = Buffer.concat([Buffer.alloc(2), Buffer.from(reason)]);
  payload.writeUInt16BE(code);
  return payload;
}
