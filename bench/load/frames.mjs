// WebSocket frames, prepared once to be written and counted as they arrive: nothing is parsed that
// need not be.

const ping = 9;
const close = 8;

/** A client's frame, masked with zeros, so that its payload stands in it as it is.
 * @param {string | Uint8Array} payload under 65,536 bytes @param {number} [opcode] 1: text, 2: binary */
export function frame(payload, opcode = 1) {
  const body = Buffer.from(payload);
  const first = 0x80 | opcode;
  const mask = [0, 0, 0, 0];
  const short = Buffer.from([first, 0x80 | body.length, ...mask]);
  const long = Buffer.from([first, 0x80 | 126, body.length >> 8, body.length & 255, ...mask]);
  return Buffer.concat([body.length < 126 ? short : long, body]);
}

export const farewell = frame(Uint8Array.of(0x03, 0xe8), close);
const pong = frame("", 10);
/** Engine.IO has pings of its own, in text. */
const textPing = "2".charCodeAt(0);
const textPong = frame("3");

/**
 * @typedef {object} Listener
 * @property {(frames: number) => void} heard whole messages
 * @property {(reply: Buffer) => void} reply to a ping
 * @property {() => void} closed the server has said goodbye
 */

/** Counts the frames of one server in what arrives, however it is cut. @param {Listener}
 *  listener */
export function createCounter({ heard, reply, closed }) {
  /** Bytes that are missing of the frame that has begun. */
  let left = 0;
  /** A beginning that is too short to say how long the frame is. */
  let rest = Buffer.alloc(0);

  /** @param {Buffer} bytes @param {number} end */
  return (bytes, end) => {
    let at = 0;
    let frames = 0;
    if (rest.length > 0) {
      bytes = Buffer.concat([rest, bytes.subarray(0, end)]);
      end = bytes.length;
      rest = Buffer.alloc(0);
    }
    while (at < end) {
      if (left > end - at) {
        left -= end - at;
        break;
      }
      at += left;
      if (left > 0) frames += 1;
      left = 0;
      if (at === end) break;
      const size = sizeAt(bytes, at, end);
      if (size === undefined) {
        rest = Buffer.from(bytes.subarray(at, end));
        break;
      }
      const opcode = (bytes[at] ?? 0) & 15;
      if (opcode === close) return closed();
      if (opcode === ping) reply(pong);
      if (isTextPing(bytes, at)) reply(textPong);
      // Those are small: they count when they are whole, and so they must be taken away.
      if (opcode === ping || isTextPing(bytes, at)) frames -= 1;
      left = size;
    }
    if (frames > 0) heard(frames);
  };
}

/** Bytes of the frame that begins there; undefined: too little of it is there. Three bytes are enough to know a ping.
 * @param {Buffer} bytes @param {number} at @param {number} end */
function sizeAt(bytes, at, end) {
  if (end - at < 3) return end - at === 2 && bytes[at + 1] === 0 ? 2 : undefined;
  const short = (bytes[at + 1] ?? 0) & 127;
  if (short < 126) return short + 2;
  const lead = short === 126 ? 4 : 10;
  if (end - at < lead) return undefined;
  return (
    lead + (short === 126 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2)))
  );
}

/** @param {Buffer} bytes @param {number} at */
const isTextPing = (bytes, at) =>
  bytes[at] === 0x81 && bytes[at + 1] === 1 && bytes[at + 2] === textPing;
