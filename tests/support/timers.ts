// A stopped clock with the timer function of a scope.
import { createStoppedClock, type StoppedClock } from "../../kernel/testing.ts";
import type { Release } from "../../kernel/index.ts";

export interface Timers {
  readonly clock: StoppedClock;
  readonly after: (ms: number, run: () => void) => Release;
  /** Advances the clock, and lets everything that follows run. */
  pass(ms: number): Promise<void>;
}

/** Lets a process run for this long: one step of a stopped clock would be a suspension. */
export function runFor(clock: Pick<StoppedClock, "increment">, ms: number): void {
  for (let left = ms; left > 0; left -= 1_000) clock.increment(Math.min(1_000, left));
}

export const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

export function createTimers(): Timers {
  const clock = createStoppedClock();
  return {
    clock,
    after(ms, run) {
      const timer = clock.setTimeout(run, ms);
      return () => clock.clearTimeout(timer);
    },
    async pass(ms) {
      await settled();
      clock.increment(ms);
      await settled();
    },
  };
}
