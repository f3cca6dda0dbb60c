/* WebSocket messages of a server, header included, written once for all who hear them. */

/** A whole message. A short one is text of which each character is a byte (Latin-1): Node copies such text in one step
 *  to where the system takes it from, while each buffer has to be made, filled and swept up again. */
export type Framed = string | Buffer;

/** Bytes of the longest that is text: what Node writes without memory of its own for it. */
const longestText = 16 * 1024;
const textFrame = 0x81; // the last fragment of a text message
/** A ping that says nothing: the same bytes for everybody. */
export const pingFrame: Framed = "\x89\0";

const pong = 0x8a;
/** `payload`: at most 125 bytes. */
export const pongFrame = (payload: Buffer): Framed =>
  String.fromCharCode(pong, payload.byteLength) + payload.toString("latin1");

/** Where the payload begins. */
const leadOf = (framed: Framed): number => {
  const size = typeof framed === "string" ? framed.charCodeAt(1) : framed[1]!;
  return size < 126 ? 2 : size === 126 ? 4 : 10;
};

const shortHead = (size: number): string =>
  size < 126
    ? String.fromCharCode(textFrame, size)
    : String.fromCharCode(textFrame, 126, size >> 8, size & 0xff);

/** Whose last `size` bytes, the payload, are to be written. */
function longFrame(size: number): Buffer {
  const lead = size < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(lead + size);
  frame[0] = textFrame;
  frame[1] = lead === 4 ? 126 : 127;
  if (lead === 4) frame.writeUInt16BE(size, 2);
  else frame.writeBigUInt64BE(BigInt(size), 2);
  return frame;
}

/** `size`: of the text as UTF-8. */
export function framedText(text: string, size = Buffer.byteLength(text)): Framed {
  const isAscii = text.length === size;
  if (size <= longestText)
    return shortHead(size) + (isAscii ? text : Buffer.from(text).toString("latin1"));
  const frame = longFrame(size);
  frame.write(text, frame.byteLength - size, isAscii ? "latin1" : "utf8");
  return frame;
}

export function framedBytes(payload: Uint8Array): Framed {
  const size = payload.byteLength;
  if (size <= longestText) return shortHead(size) + Buffer.from(payload).toString("latin1");
  const frame = longFrame(size);
  frame.set(payload, frame.byteLength - size);
  return frame;
}

/** Text that was put together keeps all its parts until it is read as a whole, which takes twice the room. */
export const inOnePiece = (framed: Framed): Framed =>
  typeof framed === "string" ? Buffer.from(framed, "latin1").toString("latin1") : framed;

export const payloadOf = (framed: Framed): Buffer =>
  typeof framed === "string"
    ? Buffer.from(framed.slice(leadOf(framed)), "latin1")
    : framed.subarray(leadOf(framed));

/** The same message, its payload without the last byte and with more ASCII behind it. */
export function replaceEnd(framed: Framed, tail: string): Framed {
  const lead = leadOf(framed);
  const size = framed.length - lead - 1 + tail.length;
  if (typeof framed === "string") {
    const text = framed.slice(lead, -1) + tail;
    return size <= longestText ? shortHead(size) + text : framedBytes(Buffer.from(text, "latin1"));
  }
  const frame = longFrame(size);
  framed.copy(frame, frame.length - size, lead, framed.length - 1);
  frame.write(tail, frame.length - tail.length, "latin1");
  return frame;
}
