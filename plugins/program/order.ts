import type { Address } from "../channels/index.ts";

/** Sends that are not settled: reading pauses above the first, and goes on below the second. */
const pauseAbove = 256;
const resumeBelow = 64;

/** One thing after the other within a session, sessions side by side; `pause` when too much waits for channels. */
export function createSendQueue(pause: (isPaused: boolean) => void) {
  const lanes = new Map<string, Promise<unknown>>();
  let pending = 0;

  return function inOrder<T>({ channel, session }: Address, run: () => T | Promise<T>): Promise<T> {
    const lane = `${channel}\0${session}`;
    const mine = (lanes.get(lane) ?? Promise.resolve()).then(run);
    const settled = mine
      .catch(() => undefined)
      .then(() => {
        pending -= 1;
        if (lanes.get(lane) === settled) lanes.delete(lane);
        if (pending === resumeBelow) pause(false);
      });
    lanes.set(lane, settled);
    pending += 1;
    if (pending === pauseAbove) pause(true);
    return mine;
  };
}
