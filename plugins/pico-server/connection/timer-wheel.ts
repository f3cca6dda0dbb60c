import type { Clock, Release } from "../../../kernel/index.ts";

/** Time in which this process ran, in milliseconds: it stands while the process sleeps, and no clock that is set moves
 *  it. */
export interface WheelClock {
  /** As of the last step of the wheel. */
  now(): number;
  /** When it slept last; before anybody came when it never did. */
  wokeAt(): number;
}

export const unscheduled = -1;
export interface Timer {
  /** The step of the wheel at which it is due, `unscheduled` while it is in none; the wheel's own. */
  slot: number;
  /** Looks after itself. Answers how many milliseconds may pass until the next time. */
  check(): number;
}

/** Calls everybody when they are due, and touches nobody else. Its steps are short: a thousand pings in one go would
 *  hold up the rest. */
export interface TimerWheel extends WheelClock {
  add(one: Timer): void;
  /** Its turn comes within a second. */
  reschedule(one: Timer): void;
  remove(one: Timer): void;
  /** How late a step was at worst, in the last minute or a little less. */
  lateMs(): number;
}

const stepMs = 50;
/** A second: what is due at once is spread over as many steps, and so many are made up for when one came late. */
const slotsPerSecond = 20;
/** Steps of a whole turn; who may wait longer is looked at once on the way. */
const slotCount = 1_024;
const latenessWindowMs = 30_000;

export function createTimerWheel(
  clock: Clock,
  after: (ms: number, run: () => void) => Release,
): TimerWheel {
  const slots: Set<Timer>[] = Array.from({ length: slotCount });
  let count = 0;
  let spread = 0;
  /** Steps since the beginning. */
  let at = 0;
  let wokeAt = Number.NEGATIVE_INFINITY;
  let steppedAt = 0;
  let stopTimer: Release | undefined;
  /** The worst of this half minute and of the one before. */
  let worst = { since: 0, now: 0, before: 0 };

  function turnWorst(now: number): void {
    const passed = now - worst.since;
    if (passed >= 0 && passed < latenessWindowMs) return;
    worst = { since: now, now: 0, before: passed < 2 * latenessWindowMs ? worst.now : 0 };
  }

  function place(one: Timer, steps: number): void {
    one.slot = at + Math.min(Math.max(1, steps), slotCount - 1);
    (slots[one.slot % slotCount] ??= new Set()).add(one);
  }

  function take(one: Timer): void {
    slots[one.slot % slotCount]?.delete(one);
    one.slot = unscheduled;
  }

  function placeSoon(one: Timer): void {
    place(one, 1 + (spread++ % slotsPerSecond));
  }

  function stepLater(): void {
    stopTimer = after(stepMs, () => {
      stepLater();
      step();
    });
  }

  /** A late timer makes up for the steps it missed, a second at most; what is beyond, this process slept. */
  function step(): void {
    const now = clock.now();
    const passed = now - steppedAt;
    const steps = Math.min(slotsPerSecond, Math.floor(passed / stepMs));
    if (steps <= 0) return void (steppedAt = Math.min(steppedAt, now)); // the clock was set back
    turnWorst(now);
    worst.now = Math.max(worst.now, passed - stepMs);
    if (passed > slotsPerSecond * stepMs) wokeAt = at * stepMs;
    steppedAt += passed - (passed % stepMs);
    for (let n = 0; n < steps; n++) {
      at += 1;
      const slot = slots[at % slotCount];
      if (slot && slot.size > 0) turn(slot);
    }
  }

  function turn(slot: Set<Timer>): void {
    for (const one of [...slot]) {
      if (one.slot !== at) continue; // one before it removed it
      const waitMs = one.check();
      if (one.slot !== at) continue; // it has gone, or moved itself
      slot.delete(one);
      place(one, Math.ceil(waitMs / stepMs));
    }
  }

  function stop(): void {
    stopTimer?.();
    stopTimer = undefined;
  }

  return {
    now: () => at * stepMs,
    wokeAt: () => wokeAt,
    lateMs() {
      turnWorst(clock.now());
      return Math.max(worst.now, worst.before);
    },
    add(one) {
      count += 1;
      placeSoon(one);
      if (stopTimer) return;
      steppedAt = clock.now();
      stepLater();
    },
    reschedule(one) {
      if (one.slot <= at + slotsPerSecond) return; // soon anyway, or not here
      take(one);
      placeSoon(one);
    },
    remove(one) {
      if (one.slot === unscheduled) return;
      take(one);
      count -= 1;
      if (count === 0) stop();
    },
  };
}
