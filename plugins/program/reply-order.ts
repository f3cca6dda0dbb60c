// Keeps the sends of one session in order, and pauses the program while too many wait.
import type { Address } from "../channels/index.ts";

/** Unsettled sends: reading pauses at the first number and continues at the second. */
const pauseAbove = 256;
const resumeBelow = 64;

export type SendQueue = <T>(address: Address, run: () => T | Promise<T>) => Promise<T>;

/**
 * Creates a queue that runs the sends of one session in order and those of several sessions in
 * parallel. Calls `pause` when too many sends wait for channels.
 */
export function createSendQueue(pause: (isPaused: boolean) => void): SendQueue {
  const lastSends = new Map<string, Promise<unknown>>();
  let pending = 0;

  return function enqueue<T>({ channel, session }: Address, run: () => T | Promise<T>): Promise<T> {
    const key = `${channel}\0${session}`;
    const sent = (lastSends.get(key) ?? Promise.resolve()).then(run);
    const settled = sent
      .catch(() => undefined)
      .then(() => {
        pending -= 1;
        if (lastSends.get(key) === settled) lastSends.delete(key);
        if (pending === resumeBelow) pause(false);
      });
    lastSends.set(key, settled);
    pending += 1;
    if (pending === pauseAbove) pause(true);
    return sent;
  };
}
