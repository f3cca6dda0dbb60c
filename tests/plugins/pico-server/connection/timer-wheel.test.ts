import { describe, expect, test } from "vitest";
import { SimulatedClock } from "xstate";
import {
  createTimerWheel,
  unscheduled,
  type Timer,
} from "../../../../plugins/pico-server/connection/liveness.ts";

const timersOf = (clock: SimulatedClock) => ({
  setTimeout: (run: () => void, ms: number) => clock.setTimeout(run, ms),
  clearTimeout: (id: unknown) => clock.clearTimeout(id as number),
});

function wheel() {
  const clock = new SimulatedClock();
  let setBack = 0;
  let timers = 0;
  const made = createTimerWheel(
    { ...timersOf(clock), now: () => clock.now() - setBack, monotonic: () => clock.now() },
    (ms, run) => {
      timers += 1;
      const timer = clock.setTimeout(() => {
        timers -= 1;
        run();
      }, ms);
      return () => {
        timers -= 1;
        clock.clearTimeout(timer);
      };
    },
  );
  return {
    add: (timer: Timer) => made.add(timer),
    reschedule: (timer: Timer) => made.reschedule(timer),
    remove: (timer: Timer) => made.remove(timer),
    now: () => made.now(),
    wokeAt: () => made.wokeAt(),
    lateMs: () => made.lateMs(),
    clock,
    timers: () => timers,
    setBack: (ms: number) => void (setBack += ms),
  };
}

const always = (tick: () => void, everyMs = 1_000) => ({
  slot: unscheduled,
  check: () => (tick(), everyMs),
});

describe("createTimerWheel", () => {
  test("checks each timer when due, at most a twentieth per step", () => {
    const { clock, add } = wheel();
    const seen = new Map<number, number>();
    let maxPerStep = 0;
    let now = 0;
    for (let n = 0; n < 1_000; n++) {
      add(
        always(() => {
          seen.set(n, (seen.get(n) ?? 0) + 1);
          now += 1;
        }),
      );
    }
    for (let step = 0; step < 60; step++) {
      now = 0;
      clock.increment(50);
      maxPerStep = Math.max(maxPerStep, now);
    }
    expect([...seen.values()]).toEqual(Array.from({ length: 1_000 }, () => 3));
    expect(maxPerStep).toBe(50);
  });

  test("skips timers that are not due", () => {
    const { clock, add, now } = wheel();
    const at: number[] = [];
    add(always(() => at.push(now()), 30_000));
    for (let step = 0; step < 20 * 95; step++) clock.increment(50);
    expect(at).toEqual([50, 30_050, 60_050, 90_050]);
  });

  test("checks a rescheduled timer within a second", () => {
    const { clock, add, reschedule } = wheel();
    const seen: string[] = [];
    const [one, other] = ["one", "other"].map((name) => always(() => seen.push(name), 30_000));
    add(one!);
    add(other!);
    for (let step = 0; step < 100; step++) clock.increment(50);
    reschedule(other!);
    for (let step = 0; step < 20; step++) clock.increment(50);
    expect(seen).toEqual(["one", "other", "other"]);
  });

  test("skips a timer that another timer of the same step removed", () => {
    const { clock, add, remove } = wheel();
    const last = always(() => expect.unreachable());
    for (let n = 0; n < 20; n++) add(always(() => remove(last)));
    add(last);
    for (let step = 0; step < 40; step++) clock.increment(50);
  });

  test("catches up missed steps and excludes suspensions beyond a second", () => {
    const { clock, add, now, wokeAt } = wheel();
    const at: number[] = [];
    add(always(() => at.push(now())));
    for (const ms of [1_000, 10_000, 900, 1_100]) clock.increment(ms);
    expect([at, now(), wokeAt()]).toEqual([[50, 1_050, 2_050, 3_050], 3_900, 2_900]);
  });

  test("continues after the clock was set back", () => {
    const { clock, add, setBack } = wheel();
    let ticks = 0;
    add(always(() => (ticks += 1)));
    setBack(86_400_000);
    for (let second = 0; second < 5; second++) clock.increment(1_000);
    expect(ticks).toBeGreaterThanOrEqual(4);
  });

  test("uses one system timer, and none without timers", () => {
    const { add, remove, timers, clock } = wheel();
    const all = [1, 2, 3].map(() => always(() => undefined));
    expect(timers()).toBe(0);
    all.forEach(add);
    clock.increment(500);
    expect(timers()).toBe(1);
    all.forEach(remove);
    expect(timers()).toBe(0);
  });
});
