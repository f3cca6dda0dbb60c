// Open-loop load: messages are sent at a fixed rate, whether or not earlier ones were answered. The
// latency of a message counts from the time at which it was due, not from the time at which it was
// written, so a stall of the server delays all messages that were due in it (no coordinated omission).
import { createWriter } from "./echo.mjs";
import { stopwatch } from "./processor.mjs";
import { protocols } from "./protocols.mjs";

/** @typedef {import("./echo.mjs").Target} Target */

/** Share of the messages that precede the measurement. */
const warmUp = 0.2;
/** Messages of one connection in flight. A server that cannot keep up delays those that are due later. */
const maxInFlight = 4_096;
/** Messages of one connection that are due together share a write. */
const maxPerWrite = 16;

/**
 * Measures latencies at a fixed rate over all connections.
 * @param {Target & { perSecond: number, seconds: number }} load
 * @returns {Promise<import("./processor.mjs").Usage & { done: number,
 *   delay: number, latencies: number[] }>} `latencies`: the 50th, 99th and 99.9th percentile and the maximum in ms;
 *   `delay`: 99th percentile of the delay of the load generator, which is part of the latencies, in ms
 */
export async function latency({ protocol, pid, clients, perSecond, seconds }) {
  const { answers } = protocols[protocol];
  const total = Math.ceil(perSecond * seconds * (1 + warmUp));
  const skipped = Math.ceil(perSecond * seconds * warmUp);
  const measured = new Float64Array(total - skipped);
  const delays = new Float64Array(total);
  let done = 0;
  let count = 0;
  /** @type {() => void} */
  let onIdle = () => undefined;
  const idle = new Promise((resolve) => (onIdle = () => resolve(undefined)));

  const writers = clients.map((client) => {
    // Echoes of one connection arrive in the order of its messages.
    const due = new Float64Array(maxInFlight);
    const numbers = new Uint32Array(maxInFlight);
    let [first, next, frames] = [0, 0, 0];
    let waiting = 0;
    const write = createWriter(protocol, client, maxPerWrite);
    client.onFrames = (received) => {
      const now = performance.now();
      for (frames += received; frames >= answers; frames -= answers) {
        const place = first++ % maxInFlight;
        if ((numbers[place] ?? 0) >= skipped) measured[count++] = now - (due[place] ?? 0);
        if (++done === total) onIdle();
      }
    };
    const flush = () => {
      if (waiting > 0) write(waiting);
      waiting = 0;
    };
    const send = (/** @type {number} */ at, /** @type {number} */ number) => {
      due[next % maxInFlight] = at;
      numbers[next++ % maxInFlight] = number;
      if ((waiting += 1) === maxPerWrite) flush();
    };
    const isFull = () => next - first === maxInFlight;
    return { isFull, send, flush };
  });

  const { usage } = stopwatch(pid);
  const began = performance.now();
  await new Promise((resolve) => {
    let sent = 0;
    const sendDue = () => {
      const now = performance.now();
      for (; sent < total; sent += 1) {
        const at = began + (sent * 1_000) / perSecond;
        const writer = writers[sent % writers.length];
        if (at > now || !writer || writer.isFull()) break;
        writer.send(at, sent);
        delays[sent] = now - at;
      }
      for (const { flush } of writers) flush();
      // A timer would be up to 1 ms late.
      if (sent < total) setImmediate(sendDue);
      else resolve(undefined);
    };
    sendDue();
  });
  await idle;
  const sorted = measured.subarray(0, count).sort();
  return {
    done,
    delay: percentile(delays.subarray(skipped).sort(), 0.99),
    latencies: [0.5, 0.99, 0.999, 1].map((share) => percentile(sorted, share)),
    ...usage(),
  };
}

/** @param {Float64Array} sorted @param {number} share */
const percentile = (sorted, share) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
