// Timers that count only the time in which this process runs.

/** The clock and the timers of a plugin. */
interface Timers {
  readonly clock: { monotonic(): number };
  after(ms: number, run: () => void): () => void;
}

/** A clock with timers. */
interface RunningClock {
  monotonic(): number;
  setTimeout(run: () => void, ms: number): unknown;
  clearTimeout(id: unknown): void;
}

const sliceMs = 1_000;
/** A timer that is later proves that the process was suspended or busy: it has read nothing. */
const maxLateMs = 500;

/**
 * Returns a function that calls another one after this many milliseconds of running, and after
 * everything that has arrived by then was read. A suspension (SIGSTOP, a closed laptop) of any
 * length adds no time.
 *
 * @returns A function like `after`: its result cancels the call.
 */
export function createRunningTimer({ clock, after }: Timers): Timers["after"] {
  return (ms, run) => {
    let left = ms;
    let cancel = (): void => undefined;
    const next = (): void => {
      const slice = Math.min(left, sliceMs);
      const dueAt = clock.monotonic() + slice;
      cancel = after(slice, () => {
        if (clock.monotonic() - dueAt <= maxLateMs) left -= slice;
        if (left > 0) return next();
        const immediate = setImmediate(run);
        cancel = () => clearImmediate(immediate);
      });
    };
    next();
    return () => cancel();
  };
}

/** As {@link createRunningTimer}, with the timers of a clock. */
export const runningTimerOf = (clock: RunningClock): Timers["after"] =>
  createRunningTimer({
    clock,
    after: (ms, run) => {
      const id = clock.setTimeout(run, ms);
      return () => clock.clearTimeout(id);
    },
  });
