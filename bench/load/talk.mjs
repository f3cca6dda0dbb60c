import { watch } from "./processor.mjs";
import { wires } from "./wires.mjs";

/** @typedef {import("./sockets.mjs").Client} Client */
/** @typedef {import("./processor.mjs").Spent & { done: number }} Result */
/**
 * @typedef {object} Target what is measured
 * @property {keyof typeof wires} wire
 * @property {number} pid
 * @property {readonly Client[]} clients
 */

const content = "hello, is anybody there?";
/** Of the time that is measured. */
const warmUp = 0.15;

/**
 * Messages that are answered, with so many of each connection on their way; for a time or a number.
 * @param {Target & { inFlight: number, seconds?: number, messages?: number }} load @returns {Promise<Result>}
 */
export async function talk({ wire: name, pid, clients, inFlight, seconds, messages }) {
  const { answers, message, unique } = wires[name];
  let left = messages ?? Number.POSITIVE_INFINITY;
  let waiting = 0;
  let done = 0;
  /** @type {() => void} */
  let quiet = () => undefined;
  const answered = new Promise((resolve) => (quiet = () => resolve(undefined)));

  for (const client of clients) {
    const one = message(content, client.session);
    const many = Buffer.concat(Array.from({ length: inFlight }, () => one));
    const write =
      unique === undefined
        ? (/** @type {number} */ count) => client.socket.write(many.subarray(0, count * one.length))
        : numbered(client, many, one.length, one.indexOf(unique), unique.length);
    const say = (/** @type {number} */ wanted) => {
      const count = Math.min(wanted, left);
      if (count <= 0) return;
      left -= count;
      waiting += count;
      write(count);
    };
    let frames = 0;
    client.heard = (heard) => {
      frames += heard;
      const whole = Math.floor(frames / answers);
      frames -= whole * answers;
      done += whole;
      waiting -= whole;
      say(whole);
      if (waiting === 0) quiet();
    };
    queueMicrotask(() => say(inFlight));
  }

  if (seconds === undefined) {
    const { spent } = watch(pid);
    await answered;
    return { done, ...spent() };
  }
  await watch(pid, seconds * warmUp).over;
  const before = done;
  const { spent, over } = watch(pid, seconds);
  await over;
  const result = { done: done - before, ...spent() };
  left = 0;
  await answered;
  return result;
}

let numbers = 0;

/** Each message with a number of its own, written into the bytes of one that was answered.
 * @param {Client} client @param {Buffer} many @param {number} size @param {number} at @param {number} digits */
function numbered(client, many, size, at, digits) {
  const places = many.length / size;
  let next = 0;
  return (/** @type {number} */ count) => {
    while (count > 0) {
      const first = next % places;
      const length = Math.min(count, places - first);
      for (let place = first; place < first + length; place += 1)
        many.write(String((numbers += 1)).padStart(digits, "0"), place * size + at, "latin1");
      client.socket.write(many.subarray(first * size, (first + length) * size));
      next += length;
      count -= length;
    }
  };
}
