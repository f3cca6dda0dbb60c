import { describe, expect, test } from "vitest";
import type { AnyPlugin } from "../../kernel/index.ts";
import { Deadline, shareOf } from "../../kernel/deadline.ts";
import type { StoppedClock } from "../../kernel/testing.ts";
import { createTestKernel, codeFrom, gate, plugin, turn } from "../support/sample-plugins.ts";

type AnyListener = (type: string, handler: () => void) => void;
type AnyEmitter = (type: string, payload: object) => void;

const hanging = (name: string): AnyPlugin =>
  plugin(name, ({ onStop }) => onStop(() => new Promise(() => undefined)));

/** Advances the clock in steps of 10 ms and runs everything that is due in between. */
async function advance(clock: StoppedClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 10) {
    clock.increment(Math.min(10, ms - passed));
    await turn();
  }
}

describe("Kernel.stop", () => {
  test("joins the present stop when a cleanup step or listener calls it", async () => {
    const steps: string[] = [];
    const { kernel } = createTestKernel([
      plugin("one", ({ onStop, on }) => {
        on("kernel:stop-begun", () => void kernel.stop().then(() => steps.push("listener")));
        onStop(() => {
          steps.push("cleanup");
          void kernel.stop().then(() => steps.push("step"));
        });
      }),
    ]);
    await kernel.start();
    await kernel.stop();
    await turn();
    expect(steps.toSorted()).toEqual(["cleanup", "listener", "step"]);
    expect(kernel.health().process).toBe("stopped");
  });

  test("joins the stop under way when an abort signal calls it", async () => {
    const abort = new AbortController();
    const { kernel } = createTestKernel([plugin("one", ({ onStop }) => onStop(abort.abort))], {
      signal: abort.signal,
    });
    abort.signal.addEventListener("abort", () => void kernel.stop());
    await kernel.start();
    abort.abort();
    await kernel.stop();
    expect(kernel.health().process).toBe("stopped");
  });

  test("ends at its deadline if a cleanup step awaits it", async () => {
    const { kernel, clock, logged } = createTestKernel([
      plugin("one", ({ onStop }) => onStop(() => kernel.stop())),
    ]);
    await kernel.start();
    const stopping = kernel.stop({ timeoutMs: 50 });
    await advance(clock, 50);
    await stopping;
    expect(logged("error")).toEqual(['"one" did not stop in time and is left as it is']);
  });

  test("lets others finish and names only the plugins that hang", async () => {
    const steps: string[] = [];
    const slow = (name: string): AnyPlugin =>
      plugin(name, ({ onStop, after }) =>
        onStop(async () => {
          await new Promise<void>((done) => void after(20, done));
          steps.push(name);
        }),
      );
    const { kernel, clock, logged } = createTestKernel([
      slow("store"),
      hanging("first"),
      slow("writer"),
      hanging("second"),
    ]);
    await kernel.start();
    const stopping = kernel.stop({ timeoutMs: 500 });
    await advance(clock, 500);
    await stopping;
    expect(steps).toEqual(["writer", "store"]);
    expect(logged("error").toSorted()).toEqual([
      '"first" did not stop in time and is left as it is',
      '"second" did not stop in time and is left as it is',
    ]);
  });

  test("waits for a plugin that exceeds its share until the deadline", async () => {
    const late = gate();
    const { kernel, clock, logged } = createTestKernel([
      plugin("one"),
      plugin("two", ({ onStop }) => onStop(() => late.promise)),
    ]);
    await kernel.start();
    let isStopped = false;
    const stopping = kernel.stop({ timeoutMs: 1_000 }).then(() => {
      isStopped = true;
    });
    await advance(clock, 950);
    expect(isStopped).toBe(false);
    late.open();
    await stopping;
    expect(logged("error")).toEqual([]);
  });

  test("distinguishes plugins that had no time after the clock jumped", async () => {
    const { kernel, clock, logged } = createTestKernel([hanging("one"), hanging("two")]);
    await kernel.start();
    const stopping = kernel.stop({ timeoutMs: 1_000 });
    await turn();
    clock.increment(60_000);
    await stopping;
    expect(logged("error")).toEqual([
      '"one" had no time left to stop and is left as it is',
      '"two" did not stop in time and is left as it is',
    ]);
  });

  test("ends at the nearest deadline of all calls", async () => {
    const { kernel, clock, logged } = createTestKernel([hanging("one")]);
    await kernel.start();
    const all = Promise.all([
      kernel.stop({ timeoutMs: 3_000 }),
      kernel.stop({ timeoutMs: 100 }),
      kernel.stop({ timeoutMs: Infinity }),
    ]);
    await advance(clock, 100);
    await all;
    expect(logged("error")).toHaveLength(1);
  });

  test("shortens the time of a cleanup that is under way", async () => {
    const { kernel, clock } = createTestKernel([hanging("one"), hanging("two")]);
    await kernel.start();
    const first = kernel.stop();
    await advance(clock, 100);
    const second = kernel.stop({ timeoutMs: 200 });
    await advance(clock, 200);
    await Promise.all([first, second]);
    expect(kernel.health().process).toBe("stopped");
  });

  test("cleans up next what a cleanup step registers", async () => {
    const steps: string[] = [];
    const one = plugin("one", ({ onStop }) => {
      onStop(() => void steps.push("first"));
      onStop(() => {
        steps.push("second");
        onStop(() => void steps.push("third"));
      });
    });
    const { kernel } = createTestKernel([one]);
    await kernel.start();
    await kernel.stop();
    expect(steps).toEqual(["second", "third", "first"]);
  });

  test("begins no further ready step and ends as stopped", async () => {
    const steps: string[] = [];
    const first = gate();
    const one = plugin("one", ({ onReady }) => {
      onReady(() => first.promise);
      onReady(() => void steps.push("second"));
    });
    const { kernel } = createTestKernel([one]);
    const starting = codeFrom(kernel.start());
    await turn();
    const stopping = kernel.stop();
    await turn();
    first.open();
    await stopping;
    expect([steps, await starting]).toEqual([[], "KERNEL_START_ABORTED"]);
    expect(kernel.health().process).toBe("stopped");
  });

  test("cleans up immediately what a stopped plugin registers", async () => {
    const steps: string[] = [];
    let registerLate = (): void => undefined;
    const { kernel, clock } = createTestKernel([
      plugin("first", ({ onStop }) => onStop(() => registerLate())),
      plugin("last", ({ onStop, after, on, emit }) => {
        registerLate = () => {
          onStop(() => void steps.push("cleanup"));
          after(1, () => void steps.push("timer"));
          (on as AnyListener)("last:rang", () => void steps.push("listener"));
          (emit as AnyEmitter)("last:rang", {});
        };
      }),
    ]);
    await kernel.start();
    await kernel.stop();
    clock.increment(10);
    expect(steps).toEqual(["cleanup"]);
  });

  test("completes although every line of the log throws", async () => {
    const fail = (): never => {
      throw new Error("the disk is full");
    };
    const log = { debug: fail, info: fail, warn: fail, error: fail };
    const one = plugin("one", ({ onStop, log: own }) => {
      own.info({}, "hello");
      onStop(fail);
    });
    const { kernel } = createTestKernel([one], { log });
    await kernel.start();
    await kernel.stop();
    expect(kernel.health().process).toBe("stopped");
  });
});

describe("Deadline", () => {
  test("gives all the time but a reserve, then equal parts", () => {
    expect([
      shareOf(10_000, 20, 1_500),
      shareOf(1_500, 15, 1_500),
      shareOf(900, 1, 1_500),
      shareOf(0, 3, 100),
      shareOf(-5, 3, 100),
    ]).toEqual([8_500, 100, 900, 0, 0]);
  });

  test("holds one timer and none after it is cancelled", () => {
    const timers = new Set<number>();
    let id = 0;
    const clock = {
      now: () => 0,
      monotonic: () => 0,
      setTimeout: () => timers.add((id += 1)) && id,
      clearTimeout: (timer: unknown) => void timers.delete(timer as number),
    };
    const deadline = new Deadline(clock, 1_000);
    deadline.nextShare(3);
    deadline.nextShare(2);
    deadline.shorten(500);
    expect(timers.size).toBe(1);
    deadline.cancel();
    expect([timers.size, deadline.nextShare(1).ms]).toEqual([0, Infinity]);
    expect(timers.size).toBe(0);
  });
});
