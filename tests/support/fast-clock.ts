// A clock of the real time that a test can accelerate.
import type { Clock } from "../../kernel/index.ts";

export interface FastClock extends Clock {
  /** Lets the time pass this many times as fast, for timers that are set from now on. */
  setSpeed(speed: number): void;
}

export function createFastClock(): FastClock {
  let speed = 1;
  let realStart = performance.now();
  let passedMs = 0;
  const started = Date.now();
  const monotonic = (): number => passedMs + (performance.now() - realStart) * speed;
  return {
    monotonic,
    now: () => started + monotonic(),
    setTimeout: (run, ms) => setTimeout(run, ms / speed),
    clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
    setSpeed(next) {
      passedMs = monotonic();
      realStart = performance.now();
      speed = next;
    },
  };
}
