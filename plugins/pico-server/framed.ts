/* WebSocket messages of a server, header included, written once for all who hear them. */

/** A whole message. A short one is text of which each character is a byte (Latin-1): Node copies such text in one step
 *  to where the system takes it from, while each buffer has to be made, filled and swept up again. */
export type EncodedFrame = string | Buffer;

/** Bytes of the longest that is text: what Node writes without memory of its own for it. */
const maxLatin1Bytes = 16 * 1024;
const textOpcode = 0x81; // the last fragment of a text message
/** A ping that says nothing: the same bytes for everybody. */
export const pingFrame: EncodedFrame = "\x89\0";

const pong = 0x8a;
/** `payload`: at most 125 bytes. */
export const pongFrame = (payload: Buffer): EncodedFrame =>
  String.fromCharCode(pong, payload.byteLength) + payload.toString("latin1");

/** Where the payload begins. */
const headerLength = (framed: EncodedFrame): number => {
  const size = typeof framed === "string" ? framed.charCodeAt(1) : framed[1]!;
  return size < 126 ? 2 : size === 126 ? 4 : 10;
};

const shortHeader = (size: number): string =>
  size < 126
    ? String.fromCharCode(textOpcode, size)
    : String.fromCharCode(textOpcode, 126, size >> 8, size & 0xff);

/** Whose last `size` bytes, the payload, are to be written. */
function longFrame(size: number): Buffer {
  const lead = size < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(lead + size);
  frame[0] = textOpcode;
  frame[1] = lead === 4 ? 126 : 127;
  if (lead === 4) frame.writeUInt16BE(size, 2);
  else frame.writeBigUInt64BE(BigInt(size), 2);
  return frame;
}

/** `size`: of the text as UTF-8. */
export function frameText(text: string, size = Buffer.byteLength(text)): EncodedFrame {
  const isAscii = text.length === size;
  if (size <= maxLatin1Bytes)
    return shortHeader(size) + (isAscii ? text : Buffer.from(text).toString("latin1"));
  const frame = longFrame(size);
  frame.write(text, frame.byteLength - size, isAscii ? "latin1" : "utf8");
  return frame;
}

export function frameBytes(payload: Uint8Array): EncodedFrame {
  const size = payload.byteLength;
  if (size <= maxLatin1Bytes) return shortHeader(size) + Buffer.from(payload).toString("latin1");
  const frame = longFrame(size);
  frame.set(payload, frame.byteLength - size);
  return frame;
}

/** Text that was put together keeps all its parts until it is read as a whole, which takes twice the room. */
export const flattenFrame = (framed: EncodedFrame): EncodedFrame =>
  typeof framed === "string" ? Buffer.from(framed, "latin1").toString("latin1") : framed;

export const payloadOf = (framed: EncodedFrame): Buffer =>
  typeof framed === "string"
    ? Buffer.from(framed.slice(headerLength(framed)), "latin1")
    : framed.subarray(headerLength(framed));

/** The same message, its payload without the last byte and with more ASCII behind it. */
export function appendToObject(framed: EncodedFrame, tail: string): EncodedFrame {
  const lead = headerLength(framed);
  const size = framed.length - lead - 1 + tail.length;
  if (typeof framed === "string") {
    const text = framed.slice(lead, -1) + tail;
    return size <= maxLatin1Bytes
      ? shortHeader(size) + text
      : frameBytes(Buffer.from(text, "latin1"));
  }
  const frame = longFrame(size);
  framed.copy(frame, frame.length - size, lead, framed.length - 1);
  frame.write(tail, frame.length - tail.length, "latin1");
  return frame;
}
