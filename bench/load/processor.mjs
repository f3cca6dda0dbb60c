import { readdirSync, readFileSync } from "node:fs";

/** Returns the processor time of all threads of the processes in seconds, or 0 without `/proc`.
 * @param {number | readonly number[]} pids */
export const processorSeconds = (pids) =>
  [pids].flat().reduce((sum, pid) => sum + secondsOf(pid), 0);

/** @param {number} pid */
function secondsOf(pid) {
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

/** A thread that has ended since the folder was read counts as 0. @param {string} file */
function nanoseconds(file) {
  try {
    return Number(readFileSync(file, "latin1").split(" ", 1)[0]);
  } catch {
    return 0;
  }
}

/**
 * @typedef {object} Usage
 * @property {number} seconds Elapsed time
 * @property {number} server Processor seconds of the server
 * @property {number} own Processor seconds of the load generator
 */

/**
 * Starts measuring the server and this process.
 *
 * `expired` resolves when the server has used `seconds` of processor time, but no later than after
 * four times as many seconds: on a busy machine a round takes longer instead of measuring less.
 * @param {number | readonly number[]} pid The process or processes of the server
 * @param {number} [seconds] Undefined: `expired` never resolves
 */
export function stopwatch(pid, seconds) {
  const began = performance.now();
  const server = processorSeconds(pid);
  const own = process.cpuUsage();
  /** @returns {Usage} */
  const usage = () => {
    const { user, system } = process.cpuUsage(own);
    return {
      seconds: (performance.now() - began) / 1_000,
      server: processorSeconds(pid) - server,
      own: (user + system) / 1e6,
    };
  };
  let isOver = false;
  const expired = new Promise((resolve) => {
    if (seconds === undefined) return;
    const timer = setInterval(() => {
      const { server: used, seconds: elapsed } = usage();
      if (used < seconds * 0.9 && elapsed < seconds * (server > 0 ? 4 : 1)) return;
      clearInterval(timer);
      isOver = true;
      resolve(undefined);
    }, seconds * 25);
  });
  return { usage, expired, isOver: () => isOver };
}
