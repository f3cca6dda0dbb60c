/** Messages per second for the charts of open pages. */

/**
 * Longest time between two `rate` events. They also serve as keep-alive, and tell pages to refresh
 * values that change without an event.
 */
const rateIntervalS = 15;

/** `in` and `out` count messages since startup. */
export interface Traffic {
  readonly in: number;
  readonly out: number;
  readonly connections: number;
  readonly queuedBytes: number;
}

/** Call `next` once per second. */
export class TrafficRate {
  private readonly traffic: () => Traffic;
  private last: Traffic;
  private lastRate = "";
  private seconds = 0;

  constructor(traffic: () => Traffic) {
    this.traffic = traffic;
    this.last = traffic();
  }

  /** Counts messages from now on. */
  restart(): void {
    this.last = this.traffic();
  }

  /** Makes `next` return the rate even if it has not changed. */
  repeat(): void {
    this.lastRate = "";
  }

  /** @returns The messages of the last second; undefined if there is nothing to report. */
  next(): Traffic | undefined {
    this.seconds += 1;
    const now = this.traffic();
    const rate = { ...now, in: now.in - this.last.in, out: now.out - this.last.out };
    this.last = now;
    const text = JSON.stringify(rate);
    const isDue =
      text !== this.lastRate || rate.in + rate.out > 0 || this.seconds % rateIntervalS === 0;
    this.lastRate = text;
    return isDue ? rate : undefined;
  }
}
