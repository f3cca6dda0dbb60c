// The law of limits that count running time: a suspension of any length adds none.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRunningTimer } from "../../lib/running-time.ts";
import { runs } from "../support/runs.ts";

const limitMs = 5_000;
/** The part of the time that the timer counts in one piece. */
const sliceMs = 1_000;
const stepMs = 100;

type Step = { readonly kind: "run" | "suspend"; readonly ms: number } | { readonly kind: "cancel" };
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("run" as const),
      ms: fc.integer({ min: 100, max: 3_000 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("suspend" as const),
      ms: fc.integer({ min: 2_000, max: 86_400_000 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "cancel" as const }) },
);

/** Turns of the loop in which the process runs move the clock a little, a suspension far. */
function createProcess() {
  let now = 0;
  const timers = new Set<{ readonly at: number; readonly run: () => void }>();
  const fire = (): void => {
    for (const timer of [...timers]) if (timer.at <= now && timers.delete(timer)) timer.run();
  };
  const after = (ms: number, run: () => void) => {
    const timer = { at: now + ms, run };
    timers.add(timer);
    return () => void timers.delete(timer);
  };
  return {
    start: createRunningTimer({ clock: { monotonic: () => now }, after }),
    async run(ms: number): Promise<void> {
      for (const end = now + ms; now < end; fire()) now += Math.min(stepMs, end - now);
      await new Promise((resolve) => void setImmediate(resolve));
    },
    async suspend(ms: number): Promise<void> {
      now += ms;
      fire();
      await new Promise((resolve) => void setImmediate(resolve));
    },
  };
}

describe("createRunningTimer", () => {
  test("ends after its time of running, whatever suspends the process", () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
        const process = createProcess();
        let calls = 0;
        const cancel = process.start(limitMs, () => void (calls += 1));
        let ran = 0;
        let suspensions = 0;
        let isCanceled = false;
        for (const each of steps) {
          const before = calls;
          if (each.kind === "cancel") {
            cancel();
            isCanceled = true;
          } else {
            await process[each.kind](each.ms);
            if (each.kind === "run") ran += each.ms;
            else suspensions += 1;
          }
          if (isCanceled) expect(calls).toBe(before);
          if (ran < limitMs) expect(calls).toBe(0);
        }
        // Each suspension costs at most the slice in which it came.
        if (!isCanceled && ran >= limitMs + (suspensions + 1) * sliceMs) expect(calls).toBe(1);
        expect(calls).toBeLessThanOrEqual(1);
      }),
      { numRuns: runs(500) },
    ));
});
