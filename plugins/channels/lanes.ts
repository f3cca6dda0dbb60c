/** Work in order within a lane, lanes side by side. A lane without work is forgotten. */
export interface Lanes {
  /** Runs when its turn comes; `run` never rejects. */
  add(lane: string, run: () => Promise<void>): void;
  /** Forgets all that waits. */
  clear(): void;
}

interface Lane {
  waiting: (() => Promise<void>)[];
  running: number;
}

/** `width`: how many of one lane run side by side. */
export function createLanes(width: () => number): Lanes {
  const lanes = new Map<string, Lane>();

  function next(name: string, lane: Lane): void {
    while (lane.running < width()) {
      const run = lane.waiting.shift();
      if (run === undefined) break;
      lane.running += 1;
      void run().finally(() => {
        lane.running -= 1;
        next(name, lane);
      });
    }
    if (lane.running === 0 && lane.waiting.length === 0 && lanes.get(name) === lane) lanes.delete(name);
  }

  return {
    add(name, run) {
      const lane = lanes.get(name) ?? { waiting: [], running: 0 };
      lanes.set(name, lane);
      lane.waiting.push(run);
      next(name, lane);
    },
    clear: () => lanes.forEach((lane) => void (lane.waiting = [])),
  };
}
