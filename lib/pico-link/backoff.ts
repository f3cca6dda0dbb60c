import * as timing from "./timing.ts";
import type { LinkData } from "./types.ts";

/** Going away is said by servers that stop: the first tries after it are as rare as the fourth otherwise. */
export const minAttemptAfterRestart = 3;

/** Milliseconds to the next try. Full jitter between the least wait and a bound that doubles with every failure. A wait
 *  the server named (milliseconds) is kept to, and spread a little so that not everybody returns at once. `floor`: the
 *  failures to assume when there were fewer. */
export function retryDelay(
  { attempt, hello }: LinkData,
  random: number,
  named?: number,
  floor = 0,
): number {
  const least = hello?.retry.min || timing.minRetryMs;
  const most = Math.max(least, hello?.retry.max || timing.maxRetryMs);
  const bound = Math.min(most, least * 2 ** (Math.max(attempt, floor) + 1));
  const spread = named === undefined ? bound - least : least;
  return Math.round(
    Math.min(named ?? least, timing.maxServerDelayMs) +
      random * Math.min(spread, timing.maxServerDelayMs),
  );
}
