import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { getShortestPaths, getSimplePaths } from "xstate/graph";
import { createKernel } from "../../kernel/index.ts";
import type {
  AnyPlugin,
  Clock,
  LauncherCommand,
  LauncherState,
  Scope,
} from "../../kernel/index.ts";
import { kernelMachine } from "../../kernel/lifecycle.ts";
import { createCapturedLog, createStoppedClock } from "../../kernel/testing.ts";
import { codeFrom, plugin, turn } from "../support/sample-plugins.ts";
import { runs } from "../support/runs.ts";

const commands: readonly LauncherCommand[] = [
  "accept-credentials",
  "begin-setup",
  "finish-setup",
  "begin-rotation",
  "finish-rotation",
  "abandon-rotation",
];
const transitions: readonly string[] = [
  "unconfigured>running",
  "unconfigured>setup",
  "setup>running",
  "running>rotating",
  "rotating>running",
];

type Value = string | { live: { launcher: LauncherState; process: unknown } };
interface Path {
  readonly state: { readonly value: Value };
  readonly steps: readonly {
    readonly event: { readonly type: string };
    readonly state: { readonly value: Value };
  }[];
}
const toText = (value: unknown): string => JSON.stringify(value).replaceAll('"', "");
const launcherOf = (value: Value): LauncherState =>
  typeof value === "string" ? "unconfigured" : value.live.launcher;
const processOf = (value: Value): string =>
  toText(typeof value === "string" ? value : value.live.process);

const graphOptions = (events: readonly object[]) => ({
  input: { clock: createStoppedClock() },
  events: [{ type: "process.start", runs: [] }, ...events],
});
const resultOf = (state: string, outcome: "done" | "error"): object => ({
  type: `xstate.${outcome}.actor.0.kernel.live.process.${state}`,
});
const processEvents = [
  { type: "process.stop", timeoutMs: 5 },
  resultOf("starting", "done"),
  resultOf("starting", "error"),
  resultOf("stopping", "done"),
];

describe("kernelMachine", () => {
  test("reaches exactly its documented states", () => {
    const paths = getShortestPaths(kernelMachine, {
      ...graphOptions([...processEvents, ...commands.map((type) => ({ type }))]),
      serializeState: ({ value, context }: { value: Value; context: { failure?: object } }) =>
        toText([value, context.failure]),
    } as never) as unknown as Path[];
    expect([...new Set(paths.map(({ state }) => processOf(state.value)))].toSorted()).toEqual([
      "failed",
      "ready",
      "starting",
      "stopped",
      "stopping",
    ]);
    expect(paths.length).toBeGreaterThan(20);
    for (const { steps } of paths) {
      let last: Value = "stopped";
      for (const { event, state } of steps) {
        const [from, to] = [launcherOf(last), launcherOf(state.value)];
        const isOver = typeof state.value === "string";
        if (from !== to && !isOver) expect(transitions).toContain(`${from}>${to}`);
        const before = processOf(last);
        if (event.type === "process.stop" && ["ready", "starting"].includes(before))
          expect(processOf(state.value)).toBe("stopping");
        if (event.type.startsWith("xstate.error") && before === "starting")
          expect(processOf(state.value)).toBe("stopping");
        last = state.value;
      }
    }
  });

  test("describes what a whole kernel does with launcher commands", async () => {
    const paths = getSimplePaths(kernelMachine, {
      ...graphOptions(commands.map((type) => ({ type }))),
      serializeState: ({ value }: { value: Value }) => toText(value),
    } as never) as unknown as Path[];
    expect(paths.length).toBeGreaterThan(4);
    for (const { state, steps } of paths) {
      let send = (_: string): boolean => false;
      const driver = plugin(
        "driver",
        ({ lifecycle }) => {
          ({ send } = lifecycle as unknown as { send: typeof send });
        },
        { drives: true },
      );
      const kernel = createKernel([], { plugins: [driver], log: createCapturedLog().log });
      await kernel.start();
      for (const { event } of steps) {
        if (commands.some((command) => command === event.type)) expect(send(event.type)).toBe(true);
      }
      expect(kernel.state()).toBe(launcherOf(state.value));
      await kernel.stop();
      expect(send("accept-credentials")).toBe(false);
      expect(kernel.state()).toBe("unconfigured");
    }
  });
});

const startOutcome = fc.constantFrom("immediate", "later", "throws", "rejects later", "never");
const cleanupOutcome = fc.constantFrom("immediate", "later", "throws", "never", "registers more");
const pluginPlan = fc.record({
  start: startOutcome,
  ready: startOutcome,
  startCleanup: fc.array(cleanupOutcome, { maxLength: 3 }),
  readyCleanup: fc.array(cleanupOutcome, { maxLength: 2 }),
  optional: fc.boolean(),
});
type PluginPlan = typeof pluginPlan extends fc.Arbitrary<infer T> ? T : never;
const action = fc.oneof(
  fc.constantFrom({ do: "start" as const }, { do: "abort" as const }, { do: "settle" as const }),
  fc.record({ do: fc.constant("stop" as const), timeoutMs: fc.constantFrom(0, 50, 1_000, 10_000) }),
  fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(1, 40, 900, 12_000) }),
  fc.record({ do: fc.constant("send" as const), command: fc.constantFrom(...commands) }),
);
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

/** A clock that knows its pending timers. */
function createCountingClock() {
  const clock = createStoppedClock();
  const pending = new Set<unknown>();
  const counting: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.now(),
    setTimeout(run, ms) {
      const id = clock.setTimeout(() => {
        pending.delete(id);
        run();
      }, ms);
      pending.add(id);
      return id;
    },
    clearTimeout(id) {
      pending.delete(id);
      clock.clearTimeout(id as number);
    },
  };
  return { clock, counting, pending };
}

/** Plugins that follow their plans and record what they register, clean up, and call too late. */
class PlannedPlugins {
  run = 0;
  registered = 0;
  lateCalls = 0;
  readonly begun: number[] = [];
  readonly settle: (() => void)[] = [];
  send = (_: string): boolean => false;
  isLive = (): boolean => false;

  create(plans: readonly PluginPlan[]): AnyPlugin[] {
    return plans.map((plan, index) =>
      plugin(
        `p${index}`,
        async (scope) => {
          const { run } = this;
          if (index === 0) ({ send: this.send } = scope.lifecycle as unknown as this);
          this.register(scope, run, plan.startCleanup);
          scope.onReady(async () => {
            this.register(scope, run, plan.readyCleanup);
            await this.perform(plan.ready);
            this.register(scope, run, ["immediate"]);
          });
          await this.perform(plan.start);
          this.register(scope, run, ["immediate"]);
          return { [`s${index}`]: run };
        },
        { optional: plan.optional, ...(index === 0 && { drives: true }) },
      ),
    );
  }

  private register(scope: Scope<any>, run: number, outcomes: readonly string[]): void {
    const detectLate = (): void => {
      if (run !== this.run || !this.isLive()) this.lateCalls += 1;
    };
    for (const outcome of outcomes) {
      const id = this.registered++;
      scope.onStop(() => {
        this.begun.push(id);
        if (outcome === "registers more") this.register(scope, run, ["immediate"]);
        return this.perform(outcome) as Promise<void>;
      });
    }
    scope.after(500_000, detectLate);
    scope.on("kernel:fault", detectLate);
  }

  private perform(outcome: string): unknown {
    if (outcome === "throws") throw new Error("no");
    if (outcome === "never") return new Promise(() => undefined);
    if (outcome === "immediate" || outcome === "registers more") return undefined;
    return new Promise<void>((resolve, reject) => {
      this.settle.push(outcome === "later" ? resolve : () => reject(new Error("no")));
    });
  }
}

/** Runs the actions on a kernel and checks its guarantees after each. */
async function checkKernel(plans: PluginPlan[], actions: readonly Action[]): Promise<void> {
  const { clock, counting, pending } = createCountingClock();
  const planned = new PlannedPlugins();
  const kernel = createKernel([], {
    plugins: planned.create(plans),
    clock: counting,
    log: createCapturedLog().log,
    startTimeoutMs: 30_000,
  });
  planned.isLive = () => kernel.health().live;
  const changes: { from: LauncherState | null; to: LauncherState }[] = [];
  kernel.on("kernel:state-changed", (change) => void changes.push(change));
  let abort = new AbortController();
  let starts = 0;
  let settledStarts = 0;
  const stops: { endsAt: number; isOver: boolean }[] = [];

  const check = async (): Promise<void> => {
    await turn();
    const { live, process, plugins } = kernel.health();
    expect(live).toBe(!["stopped", "failed"].includes(process));
    for (const { endsAt, isOver } of stops) if (!isOver) expect(clock.now()).toBeLessThan(endsAt);
    if (live) return;
    expect(settledStarts).toBe(starts);
    // Every registered cleanup step was begun exactly once.
    const all = Array.from({ length: planned.registered }, (_, id) => id);
    expect(planned.begun.toSorted((a, b) => a - b)).toEqual(all);
    expect(pending.size).toBe(0);
    expect(kernel.services).toEqual({});
    for (const { phase } of plugins) expect(["waiting", "stopped", "failed"]).toContain(phase);
  };
  const wait = async (ms: number): Promise<void> => {
    for (let part = 0; part < 4; part += 1) {
      clock.increment(ms / 4);
      await turn();
    }
  };
  const perform = async (each: Action): Promise<void> => {
    if (each.do === "start" && kernel.health().live) {
      expect(await codeFrom(kernel.start())).toBe("KERNEL_BUSY");
    } else if (each.do === "start") {
      planned.run += 1;
      starts += 1;
      abort = new AbortController();
      const count = (): void => void (settledStarts += 1);
      void kernel.start({ signal: abort.signal }).then(count, count);
    } else if (each.do === "stop") {
      const stop = { endsAt: clock.now() + each.timeoutMs + 1, isOver: false };
      stops.push(stop);
      void kernel.stop({ timeoutMs: each.timeoutMs }).then(() => {
        stop.isOver = true;
      });
    } else if (each.do === "abort") abort.abort();
    else if (each.do === "settle") planned.settle.shift()?.();
    else if (each.do === "wait") await wait(each.ms);
    else planned.send(each.command);
  };

  for (const each of [{ do: "start" as const }, ...actions]) {
    await perform(each);
    await check();
  }
  const end = kernel.stop({ timeoutMs: 100 });
  for (let ms = 0; ms <= 100; ms += 1) {
    clock.increment(1);
    await turn();
  }
  await end;
  await check();
  planned.run += 1;
  for (const settle of planned.settle.splice(0)) settle();
  await turn();
  clock.increment(1_000_000);
  await check();
  expect(planned.lateCalls).toBe(0);
  for (const [index, { from, to }] of changes.entries()) {
    if (from === null) continue;
    expect(from).toBe(changes[index - 1]!.to);
    expect(transitions).toContain(`${from}>${to}`);
  }
}

describe("Kernel", () => {
  test("keeps its guarantees under random plugins and commands", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(pluginPlan, { minLength: 1, maxLength: 4 }),
        fc.array(action, { maxLength: 14 }),
        checkKernel,
      ),
      { numRuns: runs(400) },
    );
  });

  test("cleans up last in first out if all steps are quick", async () => {
    const outcomes = fc.array(fc.constantFrom("immediate", "later"), { maxLength: 3 });
    const plan = fc.record({ start: outcomes, ready: outcomes });
    const check = async (plans: { start: string[]; ready: string[] }[]): Promise<void> => {
      const acquired: string[] = [];
      const released: string[] = [];
      const acquire = (scope: Scope<any>, prefix: string, ways: readonly string[]): void => {
        for (const [index, way] of ways.entries()) {
          const name = `${prefix} ${index}`;
          acquired.push(name);
          scope.onStop(async () => {
            released.push(name);
            if (way === "later") await turn();
          });
        }
      };
      const plugins = plans.map(({ start, ready }, index) =>
        plugin(`p${index}`, (scope) => {
          acquire(scope, `p${index} start`, start);
          scope.onReady(() => acquire(scope, `p${index} ready`, ready));
        }),
      );
      const clock = createStoppedClock();
      const kernel = createKernel([], { plugins, clock, log: createCapturedLog().log });
      await kernel.start();
      await kernel.stop();
      expect(released).toEqual(acquired.toReversed());
    };
    await fc.assert(fc.asyncProperty(fc.array(plan, { minLength: 1, maxLength: 5 }), check), {
      numRuns: runs(150),
    });
  });
});
