import type { Clock } from "./types.ts";

/** The time of a clock, but for its steps back: else what is to be done at some time, as the next try to connect, would
 *  wait until a clock that was set back is there again. Steps forward count: the process may have slept. `least`: what
 *  it is at least, as whoever set a timer for then knows. */
export function forwardOnlyClock(clock: Clock): (least?: number) => number {
  let latest = 0;
  let setBack = 0;
  return (least = 0) => {
    const time = clock.now();
    setBack = Math.max(setBack, latest - time, least - time);
    return (latest = time + setBack);
  };
}
