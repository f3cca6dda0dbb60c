import { readdirSync, readFileSync } from "node:fs";

/** Seconds of processor time that the threads of a process have used; 0 where the system does not tell (`/proc`).
 * @param {number} pid */
export function processorSeconds(pid) {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return (
      threads.reduce(
        (sum, thread) => sum + nanoseconds(`/proc/${pid}/task/${thread}/schedstat`),
        0,
      ) / 1e9
    );
  } catch {
    return 0;
  }
}

/** A thread that has ended meanwhile counts nothing. @param {string} file */
function nanoseconds(file) {
  try {
    return Number(readFileSync(file, "latin1").split(" ", 1)[0]);
  } catch {
    return 0;
  }
}

/**
 * @typedef {object} Spent
 * @property {number} seconds
 * @property {number} server seconds of processor time of the server
 * @property {number} own and of the load generator
 */

/**
 * A stopwatch for two processes.
 * @param {number} pid of the server
 * @param {number} [seconds] that the server shall work: where others work too, it takes longer until it has, up to four
 *   times; `over` resolves then
 */
export function watch(pid, seconds) {
  const began = performance.now();
  const server = processorSeconds(pid);
  const own = process.cpuUsage();
  /** @returns {Spent} */
  const spent = () => {
    const { user, system } = process.cpuUsage(own);
    return {
      seconds: (performance.now() - began) / 1_000,
      server: processorSeconds(pid) - server,
      own: (user + system) / 1e6,
    };
  };
  let isOver = false;
  const over = new Promise((resolve) => {
    if (seconds === undefined) return;
    const timer = setInterval(() => {
      const so = spent();
      if (so.server < seconds * 0.9 && so.seconds < seconds * (server > 0 ? 4 : 1)) return;
      clearInterval(timer);
      isOver = true;
      resolve(undefined);
    }, seconds * 25);
  });
  return { spent, over, isOver: () => isOver };
}
