// The clock of retention: the age of a conversation, without trust in one reading of a clock.
import type { Clock } from "../../../kernel/index.ts";

/** How much faster than time the clock may run while it catches up: a day per hour of running. */
const catchUpPerMs = 24;
const dayMs = 86_400_000;

/**
 * It starts at the newest entry, advances with monotonic time, catches up with the system clock by
 * at most one day per hour of running, and never goes back. A system clock that is 400 days ahead
 * has to stay so for 400 hours before retention acts on it.
 */
export class RetentionClock {
  private readonly clock: Pick<Clock, "now" | "monotonic">;
  private time: number | undefined;
  private readAt: number;

  /** @param saved - Its last time, or that of the newest entry; undefined for an empty store. */
  constructor(clock: Pick<Clock, "now" | "monotonic">, saved: number | undefined) {
    this.clock = clock;
    this.time = saved;
    this.readAt = clock.monotonic();
  }

  /** @returns The time of the clock, in milliseconds. An empty store starts at the system clock. */
  read(): number {
    const at = this.clock.monotonic();
    const elapsed = Math.max(0, at - this.readAt);
    this.readAt = at;
    if (this.time === undefined) return (this.time = Math.round(this.clock.now()));
    const time = this.time + elapsed;
    const behind = Math.max(0, this.clock.now() - time);
    return (this.time = Math.round(time + Math.min(behind, elapsed * catchUpPerMs)));
  }

  /** @returns Full days by which the system clock is ahead. */
  daysBehind(): number {
    return this.time === undefined ? 0 : Math.floor((this.clock.now() - this.read()) / dayMs);
  }
}
