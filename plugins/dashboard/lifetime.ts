import type { Clock } from "../../kernel/index.ts";

/** Until when something opens a door: in Unix milliseconds, and in milliseconds that pass. */
export interface Expiry {
  readonly until: number;
  readonly untilPassed: number;
}

const monotonicNow = (clock: Clock): number => clock.monotonic?.() ?? clock.now();

export const expiresIn = (clock: Clock, ms: number): Expiry => ({
  until: clock.now() + ms,
  untilPassed: monotonicNow(clock) + ms,
});

/** By both: a clock that is set back lengthens no life, and a sleep of the machine, which many systems do not count as
 *  time that passes, does not either. */
export const isUnexpired = (clock: Clock, { until, untilPassed }: Expiry): boolean =>
  clock.now() < until && monotonicNow(clock) < untilPassed;
