// A clock for the age of stored data, without trust in one reading of the system clock.

interface Clocks {
  /** Unix milliseconds of the system clock. */
  now(): number;
  /** Milliseconds that are never set. */
  monotonic(): number;
}

/** How much faster than time a clock may run while it catches up: a day per hour of running. */
const dayPerHour = 24;
const dayMs = 86_400_000;

/**
 * It starts at a stored time, advances with monotonic time, catches up with the system clock by at
 * most one day per hour of running, and never goes back. A system clock that is 400 days ahead has
 * to stay so for 400 hours before it makes anything 400 days older.
 */
export class SteadyClock {
  private readonly clocks: Clocks;
  private readonly catchUpPerMs: number;
  private time: number | undefined;
  private readAt: number;

  /**
   * @param saved - Its last time, or that of the newest data; undefined if there is no data.
   * @param catchUpPerMs - 0 for a clock that never catches up: it measures the time of running.
   */
  constructor(clocks: Clocks, saved: number | undefined, catchUpPerMs = dayPerHour) {
    this.clocks = clocks;
    this.catchUpPerMs = catchUpPerMs;
    this.time = saved;
    this.readAt = clocks.monotonic();
  }

  /** @returns The time in milliseconds. Without data, it starts at the system clock. */
  read(): number {
    const at = this.clocks.monotonic();
    const elapsed = Math.max(0, at - this.readAt);
    this.readAt = at;
    // The fraction is kept: reads may follow each other within a millisecond.
    const time = this.time === undefined ? this.clocks.now() : this.time + elapsed;
    const behind = Math.max(0, this.clocks.now() - time);
    this.time = time + Math.min(behind, elapsed * this.catchUpPerMs);
    return Math.round(this.time);
  }

  /** @returns Full days by which the system clock is ahead. */
  daysBehind(): number {
    return this.time === undefined ? 0 : Math.floor((this.clocks.now() - this.read()) / dayMs);
  }
}
