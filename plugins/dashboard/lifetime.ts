import type { Clock } from "../../kernel/index.ts";

/** Until when something opens a door: in Unix milliseconds, and in milliseconds that pass. */
export interface Lifetime {
  readonly until: number;
  readonly untilPassed: number;
}

const passed = (clock: Clock): number => clock.monotonic?.() ?? clock.now();

export const lifetime = (clock: Clock, ms: number): Lifetime => ({
  until: clock.now() + ms,
  untilPassed: passed(clock) + ms,
});

/** By both: a clock that is set back lengthens no life, and a sleep of the machine, which many systems do not count as
 *  time that passes, does not either. */
export const isAlive = (clock: Clock, { until, untilPassed }: Lifetime): boolean =>
  clock.now() < until && passed(clock) < untilPassed;
