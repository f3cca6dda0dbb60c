// Closed-loop echo load: each connection keeps a fixed number of messages in flight.
import { stopwatch } from "./processor.mjs";
import { protocols } from "./protocols.mjs";

/** @typedef {import("./connections.mjs").Client} Client */
/** @typedef {import("./processor.mjs").Usage & { done: number }} Result `done` counts operations */
/**
 * @typedef {object} Target The server and its open connections
 * @property {import("./protocols.mjs").ProtocolName} protocol
 * @property {number | readonly number[]} pid
 * @property {readonly Client[]} clients
 */

export const content = "hello, is this echoed?";
/** Share of the measured time that precedes it. */
const warmUp = 0.15;

/**
 * Sends messages and counts the echoes, for a time or for a number of messages.
 * @param {Target & { inFlight: number, seconds?: number, messages?: number }} load `inFlight` is per
 *   connection
 * @returns {Promise<Result>}
 */
export async function exchange({ protocol: name, pid, clients, inFlight, seconds, messages }) {
  const { answers } = protocols[name];
  let left = messages ?? Number.POSITIVE_INFINITY;
  let waiting = 0;
  let done = 0;
  /** @type {() => void} */
  let onIdle = () => undefined;
  const idle = new Promise((resolve) => (onIdle = () => resolve(undefined)));

  for (const client of clients) {
    const write = createWriter(name, client, inFlight);
    const send = (/** @type {number} */ wanted) => {
      const count = Math.min(wanted, left);
      if (count <= 0) return;
      left -= count;
      waiting += count;
      write(count);
    };
    let frames = 0;
    client.onFrames = (count) => {
      frames += count;
      const echoes = Math.floor(frames / answers);
      frames -= echoes * answers;
      done += echoes;
      waiting -= echoes;
      send(echoes);
      if (waiting === 0) onIdle();
    };
    queueMicrotask(() => send(inFlight));
  }

  if (seconds === undefined) {
    const { usage } = stopwatch(pid);
    await idle;
    return { done, ...usage() };
  }
  await stopwatch(pid, seconds * warmUp).expired;
  const before = done;
  const { usage, expired } = stopwatch(pid, seconds);
  await expired;
  const result = { done: done - before, ...usage() };
  left = 0;
  await idle;
  return result;
}

/** Returns a function that writes up to `most` prepared messages in one call.
 * @param {import("./protocols.mjs").ProtocolName} name @param {Client} client @param {number} most
 * @returns {(count: number) => void} */
export function createWriter(name, client, most) {
  const { message, unique } = protocols[name];
  const one = message(content, client.session);
  const many = Buffer.concat(Array.from({ length: most }, () => one));
  if (unique === undefined)
    return (count) => client.socket.write(many.subarray(0, count * one.length));
  return numbered(client, many, one.length, one.indexOf(unique), unique.length);
}

let numbers = 0;

/** Numbers each message by overwriting digits in the prepared bytes. Bytes that the operating system
 * has not accepted yet are left as they are, and a copy of them is used from then on.
 * @param {Client} client @param {Buffer} prepared @param {number} size @param {number} at
 * @param {number} digits */
function numbered({ socket }, prepared, size, at, digits) {
  let many = prepared;
  const places = many.length / size;
  let next = 0;
  return (/** @type {number} */ count) => {
    while (count > 0) {
      const first = next % places;
      const length = Math.min(count, places - first);
      for (let place = first; place < first + length; place += 1)
        many.write(String((numbers += 1)).padStart(digits, "0"), place * size + at, "latin1");
      socket.write(many.subarray(first * size, (first + length) * size));
      if (socket.writableLength > 0) many = Buffer.from(many);
      next += length;
      count -= length;
    }
  };
}
