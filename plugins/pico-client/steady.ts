import type { Clock } from "../../kernel/index.ts";

/** The same clock, but for its steps back: else what is to be done at some time, as the next try to connect, would wait
 *  until a clock that was set back is there again. */
export function steady(clock: Clock): Clock {
  let latest = Number.NEGATIVE_INFINITY;
  let setBack = 0;
  return {
    now() {
      const time = clock.now();
      setBack = Math.max(setBack, latest - time);
      latest = time + setBack;
      return latest;
    },
    setTimeout: (run, ms) => clock.setTimeout(run, ms),
    clearTimeout: (id) => clock.clearTimeout(id),
  };
}
