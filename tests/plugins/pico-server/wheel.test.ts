import { describe, expect, test } from "vitest";
import { SimulatedClock } from "xstate";
import { createWheel } from "../../../plugins/pico-server/wheel.ts";

const timersOf = (clock: SimulatedClock) => ({
  setTimeout: (run: () => void, ms: number) => clock.setTimeout(run, ms),
  clearTimeout: (id: unknown) => clock.clearTimeout(id as number),
});

function wheel() {
  const clock = new SimulatedClock();
  let setBack = 0;
  let timers = 0;
  const made = createWheel({ ...timersOf(clock), now: () => clock.now() - setBack }, (ms, run) => {
    timers += 1;
    const timer = clock.setTimeout(() => {
      timers -= 1;
      run();
    }, ms);
    return () => {
      timers -= 1;
      clock.clearTimeout(timer);
    };
  });
  return { ...made, clock, timers: () => timers, setBack: (ms: number) => void (setBack += ms) };
}

describe("the wheel", () => {
  test("looks at each once a second, and at no more than a twentieth of them at a time", () => {
    const { clock, add } = wheel();
    const seen = new Map<number, number>();
    let most = 0;
    let now = 0;
    for (let n = 0; n < 1_000; n++) {
      add({ tick: () => {
        seen.set(n, (seen.get(n) ?? 0) + 1);
        now += 1;
      } });
    }
    for (let step = 0; step < 60; step++) {
      now = 0;
      clock.increment(50);
      most = Math.max(most, now);
    }
    expect([...seen.values()]).toEqual(Array.from({ length: 1_000 }, () => 3));
    expect(most).toBe(50);
  });

  test("makes up for steps it missed, once, and says how long the process slept", () => {
    const { clock, add } = wheel();
    const late: number[] = [];
    add({ tick: (lateMs) => void late.push(lateMs) });
    clock.increment(1_000);
    clock.increment(10_000);
    clock.increment(1_000);
    expect(late).toEqual([0, 9_000, 0]);
  });

  test("spares everybody for five turns after the process slept", () => {
    const { clock, add } = wheel();
    const spared: boolean[] = [];
    add({ tick: (_, isSpared) => void spared.push(isSpared) });
    clock.increment(1_000);
    clock.increment(10_000);
    for (let step = 0; step < 120; step++) clock.increment(50);
    expect(spared).toEqual([false, true, true, true, true, true, false, false]);
  });

  test("goes on when the clock is set back", () => {
    const { clock, add, setBack } = wheel();
    let ticks = 0;
    add({ tick: () => void (ticks += 1) });
    setBack(86_400_000);
    for (let second = 0; second < 5; second++) clock.increment(1_000);
    expect(ticks).toBeGreaterThanOrEqual(4);
  });

  test("has one timer for all, and none for nobody", () => {
    const { add, remove, timers, clock } = wheel();
    const all = [1, 2, 3].map(() => ({ tick: () => undefined }));
    expect(timers()).toBe(0);
    all.forEach(add);
    clock.increment(500);
    expect(timers()).toBe(1);
    all.forEach(remove);
    expect(timers()).toBe(0);
  });
});
