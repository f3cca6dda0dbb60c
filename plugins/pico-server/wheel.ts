import type { Clock, Release } from "../../kernel/index.ts";

export interface Ticking {
  /** `lateMs`: this process slept for so long, the others did not. `isSpared`: so short a while ago that nobody has had
   *  the time to be asked and to answer since. */
  tick(lateMs: number, isSpared: boolean): void;
}

/** Looks at everybody once a second, at a part of them each time: a thousand pings in one go would hold up the rest. */
export interface Wheel {
  add(one: Ticking): void;
  remove(one: Ticking): void;
  /** How late a step was at worst, in the last minute or a little less. */
  lateMs(): number;
  stop(): void;
}

const turnMs = 1_000;
const parts = 20;
const stepMs = turnMs / parts;
/** After this process slept: five turns. */
const sparedSteps = 5 * parts;
const halfMs = 30_000;

export function createWheel(clock: Clock, after: (ms: number, run: () => void) => Release): Wheel {
  const slots = Array.from({ length: parts }, () => new Set<Ticking>());
  const places = new Map<Ticking, Set<Ticking>>();
  let added = 0;
  let at = 0;
  let steppedAt = 0;
  let spared = 0;
  let stopTimer: Release | undefined;
  /** The worst of this half minute and of the one before. */
  let worst = { since: 0, now: 0, before: 0 };

  function turnWorst(now: number): void {
    const passed = now - worst.since;
    if (passed >= 0 && passed < halfMs) return;
    worst = { since: now, now: 0, before: passed < 2 * halfMs ? worst.now : 0 };
  }

  function stepLater(): void {
    stopTimer = after(stepMs, () => {
      stepLater();
      step();
    });
  }

  /** A late timer makes up for the steps it missed, a whole turn at most; what is beyond a turn, this process slept. */
  function step(): void {
    const now = clock.now();
    const passed = now - steppedAt;
    const steps = Math.min(parts, Math.floor(passed / stepMs));
    if (steps <= 0) return void (steppedAt = Math.min(steppedAt, now)); // the clock was set back
    turnWorst(now);
    worst.now = Math.max(worst.now, passed - stepMs);
    const late = Math.max(0, passed - turnMs);
    steppedAt += passed - (passed % stepMs);
    if (late > 0) spared = sparedSteps;
    for (let n = 0; n < steps; n++, spared--) {
      for (const one of [...slots[at]!]) one.tick(late, spared > 0);
      at = (at + 1) % parts;
    }
  }

  function stop(): void {
    stopTimer?.();
    stopTimer = undefined;
  }

  return {
    stop,
    lateMs() {
      turnWorst(clock.now());
      return Math.max(worst.now, worst.before);
    },
    add(one) {
      const slot = slots[added++ % parts]!;
      slot.add(one);
      places.set(one, slot);
      if (stopTimer) return;
      steppedAt = clock.now();
      stepLater();
    },
    remove(one) {
      places.get(one)?.delete(one);
      places.delete(one);
      if (places.size === 0) stop();
    },
  };
}
