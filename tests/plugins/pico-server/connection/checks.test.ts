import { describe, expect, test } from "vitest";
import { SimulatedClock } from "xstate";
import {
  ConnectionChecks,
  unscheduled,
  type CheckedPeer,
} from "../../../../plugins/pico-server/connection/liveness.ts";

const passMs = 250;

function startChecks() {
  const clock = new SimulatedClock();
  let setBack = 0;
  let timers = 0;
  const peers = new Map<string, CheckedPeer>();
  const checks = new ConnectionChecks(
    {
      now: () => clock.now() - setBack,
      monotonic: () => clock.now(),
      setTimeout: (run, ms) => clock.setTimeout(run, ms),
      clearTimeout: (id) => clock.clearTimeout(id as number),
    },
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
    peers,
  );
  return {
    clock,
    checks,
    timers: () => timers,
    setBack: (ms: number) => void (setBack += ms),
    add(check: () => number, name = `${peers.size}`): CheckedPeer {
      const peer = { dueAt: unscheduled, check };
      peers.set(name, peer);
      checks.reschedule(peer);
      checks.startOrStop();
      return peer;
    },
    remove(name: string) {
      peers.delete(name);
      checks.startOrStop();
    },
    pass(seconds: number) {
      for (let pass = 0; pass < seconds * 4; pass++) clock.increment(passMs);
    },
  };
}

describe("ConnectionChecks", () => {
  test("checks each peer when due, and spreads new ones over a second", () => {
    const { clock, add } = startChecks();
    const seen = new Map<number, number>();
    const perPass: number[] = [];
    let now = 0;
    for (let n = 0; n < 1_000; n++)
      add(() => {
        seen.set(n, (seen.get(n) ?? 0) + 1);
        now += 1;
        return 1_000;
      });
    for (let pass = 0; pass < 12; pass++) {
      now = 0;
      clock.increment(passMs);
      perPass.push(now);
    }
    expect(new Set(seen.values())).toEqual(new Set([3]));
    expect(Math.max(...perPass)).toBeLessThan(255);
  });

  test("skips peers that are not due", () => {
    const { pass, add, checks } = startChecks();
    const at: number[] = [];
    add(() => (at.push(checks.now()), 30_000));
    pass(95);
    expect(at).toEqual([250, 30_250, 60_250, 90_250]);
  });

  test("checks a rescheduled peer within a second", () => {
    const { pass, add, checks } = startChecks();
    const seen: string[] = [];
    const [, other] = ["one", "other"].map((name) => add(() => (seen.push(name), 30_000), name));
    pass(5);
    checks.reschedule(other!);
    pass(1);
    expect(seen).toEqual(["one", "other", "other"]);
  });

  test("skips a peer that another peer of the same pass removed", () => {
    const { pass, add, remove } = startChecks();
    add(() => (remove("last"), 1_000));
    add(() => expect.unreachable(), "last");
    pass(2);
  });

  test("excludes suspensions beyond a second", () => {
    const { clock, add, checks } = startChecks();
    const at: number[] = [];
    add(() => (at.push(checks.now()), 1_000));
    for (const ms of [1_000, 10_000, 900, 1_100]) clock.increment(ms);
    expect([at, checks.now(), checks.wokeAt()]).toEqual([[1_000, 2_000, 3_900], 3_900, 2_900]);
  });

  test("tells the longest delay of a pass in the last minute", () => {
    const { clock, add, checks, pass } = startChecks();
    add(() => 1_000);
    clock.increment(900);
    pass(25);
    expect(checks.lateMs()).toBe(650);
    pass(40);
    expect(checks.lateMs()).toBe(0);
  });

  test("continues after the clock was set back", () => {
    const { pass, add, setBack } = startChecks();
    let checked = 0;
    add(() => ((checked += 1), 1_000));
    setBack(86_400_000);
    pass(5);
    expect(checked).toBeGreaterThanOrEqual(4);
  });

  test("uses one system timer, and none without peers", () => {
    const { add, remove, timers, clock } = startChecks();
    expect(timers()).toBe(0);
    for (const name of ["a", "b", "c"]) add(() => 1_000, name);
    clock.increment(500);
    expect(timers()).toBe(1);
    for (const name of ["a", "b", "c"]) remove(name);
    expect(timers()).toBe(0);
  });
});
