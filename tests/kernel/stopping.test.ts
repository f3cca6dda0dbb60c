import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { createKernel, type AnyPlugin } from "../../kernel/index.ts";
import { createCapturedLog, createStoppedClock } from "../../kernel/testing.ts";
import { codeFrom, gate, plugin, turn } from "../support/sample-plugins.ts";

function server(plugins: readonly AnyPlugin[], options: object = {}) {
  const clock = createStoppedClock();
  const { log, lines } = createCapturedLog();
  const kernel = createKernel([], { plugins, clock, log, ...options });
  const errors = (): string[] =>
    lines.filter(({ level }) => level === "error").map(({ text }) => text);
  return { kernel, clock, errors };
}

describe("Kernel.stop", () => {
  test("names only the pending cleanup step at the timeout", async () => {
    const steps: string[] = [];
    const { kernel, clock, errors } = server([
      plugin("one", ({ onStop }) => onStop(() => void steps.push("one"))),
      plugin("two", ({ onStop }) =>
        onStop(async () => {
          steps.push("two");
        }),
      ),
      plugin("three", ({ onStop }) => onStop(() => new Promise(() => undefined))),
    ]);
    await kernel.start();
    let stopped = false;
    const stopping = kernel.stop({ timeoutMs: 500 }).then(() => {
      stopped = true;
    });
    await turn();
    clock.increment(499);
    await turn();
    expect(stopped).toBe(false);
    clock.increment(1);
    await stopping;
    expect(errors()).toEqual(['"three" did not stop in time and is left as it is']);
    expect(steps).toEqual(["two", "one"]);
  });

  test("leaves no timer after a stop or a failed start", async () => {
    const pending = new Set<unknown>();
    const clock = {
      now: Date.now,
      monotonic: () => performance.now(),
      setTimeout(run: () => void, ms: number) {
        const id = setTimeout(run, ms);
        pending.add(id);
        return id;
      },
      clearTimeout(id: unknown) {
        clearTimeout(id as NodeJS.Timeout);
        pending.delete(id);
      },
    };
    let fails = false;
    const kernel = createKernel([], {
      clock,
      log: createCapturedLog().log,
      plugins: [
        plugin("one", ({ after }) => void after(60_000, () => undefined)),
        plugin("two", () => {
          if (fails) throw new Error("no");
        }),
      ],
    });
    await kernel.start();
    expect(pending.size).toBe(1);
    await kernel.stop();
    await kernel.stop();
    fails = true;
    await expect(kernel.start()).rejects.toThrow("no");
    expect(pending.size).toBe(0);
  });

  test("applies the timeout to all cleanup steps together", async () => {
    const hang = (name: string): AnyPlugin =>
      plugin(name, ({ onStop }) => onStop(() => new Promise(() => undefined)));
    const { kernel, clock, errors } = server([hang("one"), hang("two")]);
    await kernel.start();
    const stopping = kernel.stop();
    await turn();
    clock.increment(10_000);
    await stopping;
    expect(errors()).toHaveLength(2);
    await kernel.start();
  });

  test("aborts a start in progress and cleans everything up", async () => {
    const steps: string[] = [];
    const door = gate();
    const { kernel } = server([
      plugin("one", ({ onStop }) => onStop(() => void steps.push("one undone"))),
      plugin("two", async ({ onStop }) => {
        await door.promise;
        onStop(() => void steps.push("two undone"));
      }),
      plugin("three", () => void steps.push("three started")),
    ]);
    const starting = codeFrom(kernel.start());
    await turn();
    const stopping = kernel.stop();
    await turn();
    door.open();
    await stopping;
    expect(await starting).toBe("KERNEL_START_ABORTED");
    expect(steps).toEqual(["two undone", "one undone"]);
    expect(kernel.health().plugins.map(({ phase }) => phase)).toEqual([
      "stopped",
      "stopped",
      "stopped",
    ]);
  });

  test("names a pending start at the timeout and undoes later steps", async () => {
    const door = gate();
    const steps: string[] = [];
    let again = false;
    const { kernel, clock, errors } = server([
      plugin("one", ({ onStop }) => onStop(() => void steps.push("one undone"))),
      plugin("two", async ({ onStop, onReady, after, on }) => {
        if (again) return undefined;
        await door.promise;
        onStop(() => void steps.push("two undone"));
        onReady(() => void steps.push("two ready"));
        after(1, () => void steps.push("two rang"));
        on("kernel:state-changed", () => void steps.push("two heard"));
        return { late: true };
      }),
    ]);
    const starting = codeFrom(kernel.start());
    await turn();
    const stopping = kernel.stop({ timeoutMs: 100 });
    await turn();
    clock.increment(100);
    await stopping;
    expect(await starting).toBe("KERNEL_START_ABORTED");
    expect(errors()).toEqual(['"two" did not finish starting in time and is left as it is']);
    again = true;
    await kernel.start();
    door.open();
    await turn();
    clock.increment(10);
    expect(kernel.services).toEqual({});
    await kernel.stop();
    expect(steps).toEqual(["one undone", "two undone", "one undone"]);
  });

  test("cleans up immediately after a ready step that ends late", async () => {
    const door = gate<() => void>();
    const steps: string[] = [];
    const { kernel, clock } = server([plugin("one", ({ onReady }) => onReady(() => door.promise))]);
    const starting = codeFrom(kernel.start());
    await turn();
    const stopping = kernel.stop({ timeoutMs: 100 });
    await turn();
    clock.increment(100);
    await stopping;
    expect(await starting).toBe("KERNEL_START_ABORTED");
    door.open(() => void steps.push("closed"));
    await turn();
    expect(steps).toEqual(["closed"]);
  });

  test("stops without a deadlock if a plugin stops it while starting", async () => {
    let stop = (): unknown => undefined;
    const { kernel, clock } = server([plugin("one"), plugin("two", () => stop())]);
    stop = () => kernel.stop({ timeoutMs: 50 });
    const starting = codeFrom(kernel.start());
    await turn();
    clock.increment(50);
    expect(await starting).toBe("KERNEL_START_ABORTED");
    expect(kernel.health().live).toBe(false);
  });

  test("aborts a start by its signal, which has no later effect", async () => {
    const door = gate();
    const abort = new AbortController();
    const { kernel } = server([plugin("one", () => door.promise), plugin("two")]);
    const starting = codeFrom(kernel.start({ signal: abort.signal }));
    await turn();
    abort.abort();
    door.open();
    expect(await starting).toBe("KERNEL_START_ABORTED");
    await turn();
    const later = new AbortController();
    await kernel.start({ signal: later.signal });
    later.abort();
    await turn();
    expect(kernel.health().ready).toBe(true);
    await kernel.stop();
  });

  test("starts nothing if the signal is aborted already", async () => {
    const steps: string[] = [];
    const one = plugin("one", () => void steps.push("started"));
    const { kernel } = server([one]);
    expect(await codeFrom(kernel.start({ signal: AbortSignal.abort() }))).toBe(
      "KERNEL_START_ABORTED",
    );
    const { kernel: other } = server([one], { signal: AbortSignal.abort() });
    expect(await codeFrom(other.start())).toBe("KERNEL_START_ABORTED");
    expect(steps).toEqual([]);
  });

  test("stops when the signal of the kernel aborts", async () => {
    const abort = new AbortController();
    const undone = gate();
    const { kernel } = server([plugin("one", ({ onStop }) => onStop(() => undone.open()))], {
      signal: abort.signal,
    });
    await kernel.start();
    abort.abort();
    await undone.promise;
    await kernel.stop();
    expect(kernel.health().live).toBe(false);
    expect(await codeFrom(kernel.start())).toBe("KERNEL_START_ABORTED");
  });

  test("cleans up steps that a cleanup step registers", async () => {
    const steps: string[] = [];
    const { kernel, clock } = server([
      plugin("one", ({ onStop, after }) =>
        onStop(() => {
          steps.push("undo");
          after(1, () => void steps.push("rang"));
          onStop(() => void steps.push("undo of the undo"));
        }),
      ),
    ]);
    await kernel.start();
    await kernel.stop();
    clock.increment(10);
    expect(steps).toEqual(["undo", "undo of the undo"]);
  });
  test("announces a stop with its timeout before any cleanup", async () => {
    const steps: string[] = [];
    const one = plugin("one", ({ on, onReady, onStop }) => {
      on("kernel:stop-begun", ({ timeoutMs }) => void steps.push(`one hears of ${timeoutMs}`));
      onStop(() => void steps.push("one stops"));
      onReady(() => () => void steps.push("one is not ready"));
    });
    const two = plugin("two", ({ onReady }) =>
      onReady(() => () => void steps.push("two is not ready")),
    );
    const kernel = createKernel([], { log: createCapturedLog().log, plugins: [one, two] });
    await kernel.start();
    await kernel.stop({ timeoutMs: 700 });
    await kernel.stop();
    expect(steps).toEqual([
      "one hears of 700",
      "two is not ready",
      "one is not ready",
      "one stops",
    ]);
  });

  test("leaves no listener on a signal that outlives it", async () => {
    const abort = new AbortController();
    const listeners = (): number => getEventListeners(abort.signal, "abort").length;
    let fails = true;
    const { kernel } = server(
      [
        plugin("one", () => {
          if (fails) throw new Error("no");
        }),
      ],
      { signal: abort.signal },
    );
    expect(await codeFrom(kernel.start())).toBe("internal");
    expect(listeners()).toBe(0);
    fails = false;
    await kernel.start({ signal: abort.signal });
    expect(listeners()).toBe(1);
    await kernel.stop();
    expect(listeners()).toBe(0);
    await kernel.start();
    abort.abort();
    await kernel.stop();
    expect(kernel.health().live).toBe(false);
  });

  test.each([
    ["a start that failed", {}],
    ["a plugin that timed out", { optional: true }],
  ])("has a timeout of its own while %s is cleaned up", async (_, more) => {
    const hangs = gate();
    const { kernel, clock, errors } = server([
      plugin(
        "one",
        ({ onStop }) => {
          onStop(() => hangs.promise);
          throw new Error("no");
        },
        more,
      ),
      plugin("two"),
    ]);
    const starting = codeFrom(kernel.start());
    await turn();
    let isStopped = false;
    const stopping = kernel.stop({ timeoutMs: 100 }).then(() => {
      isStopped = true;
    });
    clock.increment(100);
    await turn();
    expect(isStopped).toBe(true);
    hangs.open();
    await stopping;
    expect(await starting).toBe("optional" in more ? "KERNEL_START_ABORTED" : "internal");
    expect(errors()).toContain('"one" did not stop in time and is left as it is');
  });
});
