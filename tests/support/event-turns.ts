// Counts what happens in each turn of the event loop.
export interface EventTurns {
  /** Counts one thing in the current turn. */
  count(): void;
  /** Stops counting. @returns The most in one turn, and all together. */
  end(): { readonly most: number; readonly all: number };
}

/** Call it before what is counted schedules its own work. */
export function countTurns(): EventTurns {
  let [current, most, all, isOver] = [0, 0, 0, false];
  const turn = (): void => {
    most = Math.max(most, current);
    current = 0;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  return {
    count: () => {
      current += 1;
      all += 1;
    },
    end: () => {
      isOver = true;
      return { most: Math.max(most, current), all };
    },
  };
}
