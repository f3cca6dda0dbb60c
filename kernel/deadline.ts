// A time limit on the injected clock that can be brought forward, and each plugin's share of it.
import type { Clock } from "./plugin.ts";

/** Node's timers accept no longer delay. */
const maxTimerMs = 2 ** 31 - 1;
const maxReserveMs = 1_500;

/**
 * One step may use all the time except the reserve, which belongs to the steps after it. Within the
 * reserve, the remaining steps get equal parts.
 */
export const shareOf = (leftMs: number, steps: number, reserveMs: number): number =>
  Math.max(0, leftMs - reserveMs, leftMs / steps);

export interface Share {
  readonly ms: number;
  /** Resolves when the share is used up, also if the deadline has been brought forward. */
  readonly expired: Promise<void>;
}

/** When a stop ends. It holds at most one timer: that of the current share. */
export class Deadline {
  /** The time between the last accepted `shorten` and the end. */
  timeoutMs = Infinity;
  private readonly clock: Clock;
  private endsAt = Infinity;
  private reserveMs = 0;
  private current: { readonly steps: number; readonly expire: () => void } | undefined;
  private timer: unknown;

  constructor(clock: Clock, timeoutMs: number) {
    this.clock = clock;
    this.shorten(timeoutMs);
  }

  /** Ends after `timeoutMs` from now. A later end than the present one is ignored. */
  shorten(timeoutMs: number): void {
    const endsAt = this.clock.monotonic() + timeoutMs;
    if (!(endsAt < this.endsAt)) return;
    this.endsAt = endsAt;
    this.timeoutMs = timeoutMs;
    this.reserveMs = Math.min(maxReserveMs, timeoutMs / 5);
    this.setTimer();
  }

  /** Begins the share of the first of `steps` steps that remain. */
  nextShare(steps: number): Share {
    const expired = new Promise<void>((expire) => {
      this.current = { steps, expire };
    });
    return { ms: this.setTimer(), expired };
  }

  /** Removes the limit: no share expires any more, and no timer is left. */
  cancel(): void {
    this.endsAt = Infinity;
    this.setTimer();
  }

  private setTimer(): number {
    const { clock, current } = this;
    if (this.timer !== undefined) clock.clearTimeout(this.timer);
    this.timer = undefined;
    if (!current) return 0;
    const leftMs = this.endsAt - clock.monotonic();
    const ms = shareOf(leftMs, current.steps, this.reserveMs);
    if (ms === 0) current.expire();
    else if (ms <= maxTimerMs) this.timer = clock.setTimeout(current.expire, ms);
    return ms;
  }
}
