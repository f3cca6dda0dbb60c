import { expect, test } from "vitest";
import { createRunningTimer } from "../../lib/running-time.ts";

/** A clock and timers that a test moves. A suspension moves only the clock. */
function createTimers() {
  let now = 0;
  const waiting = new Set<{ readonly at: number; readonly run: () => void }>();
  const after = (ms: number, run: () => void) => {
    const timer = { at: now + ms, run };
    waiting.add(timer);
    return () => void waiting.delete(timer);
  };
  const fire = (): void => {
    for (const timer of [...waiting]) if (timer.at <= now && waiting.delete(timer)) timer.run();
  };
  return {
    runs: createRunningTimer({ clock: { monotonic: () => now }, after }),
    waiting,
    pass(ms: number) {
      for (const end = now + ms; now < end; fire()) now += 100;
    },
    suspend(ms: number) {
      now += ms;
      fire();
    },
  };
}
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

test.each([[[]], [[300_000]], [[2_000, 3_600_000, 5_000]]])(
  "counts no suspension: %j",
  async (suspensions) => {
    const timers = createTimers();
    let calls = 0;
    timers.runs(5_000, () => void (calls += 1));
    for (const ms of suspensions) {
      timers.pass(1_000);
      timers.suspend(ms);
      await turn();
    }
    expect(calls).toBe(0);
    timers.pass(5_000 - 1_000 * suspensions.length - 100);
    await turn();
    expect(calls).toBe(0);
    timers.pass(1_000);
    await turn();
    expect(calls).toBe(1);
  },
);

test("calls nothing after it was cancelled, at each moment", async () => {
  for (const ms of [0, 500, 1_500, 2_000]) {
    const timers = createTimers();
    let calls = 0;
    const cancel = timers.runs(2_000, () => void (calls += 1));
    timers.pass(ms);
    cancel();
    timers.pass(10_000);
    await turn();
    expect([calls, timers.waiting.size]).toEqual([0, 0]);
  }
});

test("calls after what has arrived was read", async () => {
  const timers = createTimers();
  const seen: string[] = [];
  timers.runs(1_000, () => void seen.push("due"));
  timers.pass(1_000);
  expect(seen).toEqual([]);
  await turn();
  expect(seen).toEqual(["due"]);
});
