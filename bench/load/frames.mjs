// Prepares WebSocket frames and counts received ones, without parsing their payload.

const ping = 9;
const close = 8;

/** Encodes a frame of a client. The mask is zero, so the payload is not changed.
 * @param {string | Uint8Array} payload under 65,536 bytes @param {number} [opcode] 1: text, 2: binary */
export function frame(payload, opcode = 1) {
  const body = Buffer.from(payload);
  const first = 0x80 | opcode;
  const mask = [0, 0, 0, 0];
  const short = Buffer.from([first, 0x80 | body.length, ...mask]);
  const long = Buffer.from([first, 0x80 | 126, body.length >> 8, body.length & 255, ...mask]);
  return Buffer.concat([body.length < 126 ? short : long, body]);
}

export const closeFrame = frame(Uint8Array.of(0x03, 0xe8), close);
const pong = frame("", 10);
/** Engine.IO sends pings as text messages. */
const textPing = "2".charCodeAt(0);
const textPong = frame("3");

/**
 * @typedef {object} Listener
 * @property {(frames: number) => void} onFrames Called with the number of complete messages
 * @property {(pong: Buffer) => void} onPing Called with the frame that answers a ping
 * @property {(outcome: string) => void} onClose Called for a close frame, with its code and reason
 */

/** Returns a function that counts the frames in a byte stream, in chunks of any size.
 * @param {Listener} listener */
export function createCounter({ onFrames, onPing, onClose }) {
  /** Bytes of the current frame that have not arrived yet. */
  let left = 0;
  /** The start of a frame, too short to know its length. */
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
      if (opcode === close) return onClose(outcomeAt(bytes, at, end));
      if (opcode === ping) onPing(pong);
      if (isTextPing(bytes, at)) onPing(textPong);
      // A ping is counted like a message when it is complete. Subtract it here.
      if (opcode === ping || isTextPing(bytes, at)) frames -= 1;
      left = size;
    }
    if (frames > 0) onFrames(frames);
  };
}

/** Returns the length of the frame at `at`, or undefined if too few bytes have arrived. Three bytes are
 * needed to recognize a ping.
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

/** Formats the code and the reason of a close frame, as far as they have arrived.
 * @param {Buffer} bytes @param {number} at @param {number} end */
function outcomeAt(bytes, at, end) {
  const payload = bytes.subarray(at + 2, Math.min(end, at + 2 + ((bytes[at + 1] ?? 0) & 127)));
  if (payload.length < 2) return "no code";
  return `code ${payload.readUInt16BE(0)}, reason "${payload.toString("utf8", 2)}"`;
}

/** @param {Buffer} bytes @param {number} at */
const isTextPing = (bytes, at) =>
  bytes[at] === 0x81 && bytes[at + 1] === 1 && bytes[at + 2] === textPing;
