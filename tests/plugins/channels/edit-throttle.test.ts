import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createEditThrottle } from "../../../plugins/channels/index.ts";
import { createTimers } from "../../support/timers.ts";

function make(durationMs = 0) {
  const timers = createTimers();
  const { clock, after } = timers;
  const edits: [at: number, key: string, text: string][] = [];
  const failures: unknown[] = [];
  let error: Error | undefined;
  const throttle = createEditThrottle<string, string>({
    clock,
    after,
    async edit(key, text) {
      edits.push([clock.now(), key, text]);
      if (durationMs > 0) await new Promise<void>((resolve) => void after(durationMs, resolve));
      if (error) throw error;
      return text;
    },
    failed: (_, reason) => failures.push(reason),
  });
  return { ...timers, throttle, edits, failures, fail: (next: Error) => void (error = next) };
}

describe("createEditThrottle", () => {
  test("merges the updates within the interval, and sends the last", async () => {
    const { throttle, edits, pass } = make();
    expect(await throttle.update("m", "a")).toBe("a");
    expect(throttle.update("m", "ab")).toBeUndefined();
    expect(throttle.update("m", "abc")).toBeUndefined();
    await pass(999);
    expect(edits).toEqual([[0, "m", "a"]]);
    await pass(1);
    expect(edits).toEqual([
      [0, "m", "a"],
      [1_000, "m", "abc"],
    ]);
    await pass(1_000);
    expect(throttle.size).toBe(0);
  });

  test("sends the final text immediately and drops a stored update", async () => {
    const { throttle, edits, pass } = make();
    throttle.sent("m");
    expect(throttle.update("m", "a")).toBeUndefined();
    expect(await throttle.finish("m", "ab")).toBe("ab");
    await pass(5_000);
    expect(edits).toEqual([[0, "m", "ab"]]);
    expect(throttle.size).toBe(0);
  });

  test("drops the stored updates of a deleted conversation", async () => {
    const { throttle, edits, pass } = make();
    for (const key of ["s m", "other m"]) {
      throttle.sent(key);
      expect(throttle.update(key, "text")).toBeUndefined();
    }
    throttle.drop((key) => key.startsWith("s "));
    await pass(1_000);
    expect(edits).toEqual([[1_000, "other m", "text"]]);
    await pass(1_000);
    expect(throttle.size).toBe(0);
  });

  test("lets the final text follow an edit in progress", async () => {
    const { throttle, edits, pass } = make(400);
    void throttle.update("m", "a");
    const last = throttle.finish("m", "ab");
    expect(throttle.update("m", "a late update")).toBeUndefined();
    await pass(400);
    await pass(400);
    expect(await last).toBe("ab");
    expect(edits).toEqual([
      [0, "m", "a"],
      [400, "m", "ab"],
    ]);
  });

  test("separates messages", async () => {
    const { throttle, edits } = make();
    await Promise.all([throttle.update("m", "a"), throttle.update("n", "b")]);
    expect(edits).toHaveLength(2);
  });

  test("reports failed edits to the caller, or to failed()", async () => {
    const { throttle, failures, pass, fail } = make();
    fail(new Error("no such message"));
    await expect(throttle.update("m", "a")).rejects.toThrow("no such message");
    void throttle.update("m", "ab");
    await pass(1_000);
    expect(failures).toEqual([new Error("no such message")]);
    await expect(throttle.finish("m", "abc")).rejects.toThrow("no such message");
    expect(throttle.size).toBe(0);
  });

  test("edits nothing after close", async () => {
    const { throttle, edits, pass } = make();
    throttle.sent("m");
    void throttle.update("m", "a");
    throttle.close();
    await pass(5_000);
    expect([edits, throttle.size]).toEqual([[], 0]);
  });

  test("keeps the interval and always ends with the last text", async () => {
    const pauses = fc.array(fc.nat(1_500), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(pauses, fc.nat(800), async (all, durationMs) => {
        const { throttle, edits, pass } = make(durationMs);
        for (const [index, ms] of all.entries()) {
          void throttle.update("m", `text ${index}`);
          await pass(ms);
        }
        for (let guard = 0; throttle.size > 0 && guard < 20; guard += 1) await pass(1_000);
        expect(edits.at(-1)![2]).toBe(`text ${all.length - 1}`);
        for (const [index, [at]] of edits.entries())
          if (index > 0) expect(at - edits[index - 1]![0]).toBeGreaterThanOrEqual(1_000);
      }),
      { numRuns: 50 },
    );
  });
});
