import type { Driver } from "./service.ts";
import type { LinkEvent } from "./types.ts";

/** One event after the other; what an effect causes comes after the effects before it. */
export const sequentialDriver: Driver = ({ initial, step, perform }) => {
  let core = initial;
  let isRunning = false;
  const queue: LinkEvent[] = [];
  return {
    core: () => core,
    send(event) {
      queue.push(event);
      if (isRunning) return;
      isRunning = true;
      for (let next = queue.shift(); next; next = queue.shift()) {
        const [after, effects] = step(core, next);
        core = after;
        perform(effects, core);
      }
      isRunning = false;
    },
  };
};
