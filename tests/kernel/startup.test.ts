import { describe, expect, test } from "vitest";
import { createKernel, type AnyPlugin } from "../../kernel/index.ts";
import { createStoppedClock } from "../../kernel/testing.ts";
import { createTestKernel, gate, plugin, rejection, turn } from "../support/sample-plugins.ts";

describe("Kernel.start", () => {
  test("warns about a slow plugin, then fails with its name", async () => {
    const steps: string[] = [];
    const never = plugin("never", ({ onStop }) => {
      onStop(() => void steps.push("never"));
      return gate().promise;
    });
    const one = plugin("one", ({ onStop }) => onStop(() => void steps.push("one")));
    const { kernel, clock, logged } = createTestKernel([one, never]);
    const failed = rejection(kernel.start());
    await turn();
    clock.increment(10_000);
    expect(logged("warn")).toEqual(['"never" has been starting for 10 s']);
    clock.increment(49_999);
    await turn();
    expect(kernel.health().process).toBe("starting");
    clock.increment(1);
    const { code, message } = await failed;
    expect([code, message]).toEqual([
      "KERNEL_START_SLOW",
      'Plugin "never" did not start within 60 s.',
    ]);
    expect(steps).toEqual(["never", "one"]);
    expect(kernel.health()).toMatchObject({
      process: "failed",
      plugins: [{ phase: "stopped" }, { phase: "failed", reason: message }],
    });
  });

  test("limits ready steps by startTimeoutMs as well", async () => {
    const one = plugin("one", ({ onReady }) => onReady(() => gate().promise));
    const { kernel, clock } = createTestKernel([one], { startTimeoutMs: 2_000 });
    const failed = rejection(kernel.start());
    await turn();
    clock.increment(2_000);
    expect((await failed).message).toContain('"one" did not start within 2 s');
  });

  test("adds no abort listener per plugin", async () => {
    const warnings: Error[] = [];
    const note = (warning: Error): void => void warnings.push(warning);
    process.on("warning", note);
    const many = Array.from({ length: 20 }, (_, index) => plugin(`p${index}`));
    const { kernel } = createTestKernel(many);
    await kernel.start();
    await kernel.stop();
    await turn();
    process.off("warning", note);
    expect(warnings).toEqual([]);
  });

  test("removes the services of an optional plugin that fails", async () => {
    const fails = (): never => {
      throw new Error("no broker");
    };
    const one = plugin(
      "one",
      ({ onReady }) => {
        onReady(fails);
        return { tea: 1 };
      },
      { optional: true },
    );
    const { kernel } = createTestKernel([one]);
    await kernel.start();
    expect(Object.keys(kernel.services)).toEqual([]);
    await kernel.stop();
  });

  test.each<[unknown, string]>([
    [
      function channels() {
        return {};
      },
      "the function channels, which isn't a plugin: call it: channels().",
    ],
    [undefined, "undefined, which isn't a plugin: remove it, or check where it is imported from."],
    [Promise.resolve(), "a promise, which isn't a plugin: await it."],
    [[plugin("one")], "an array, which isn't a plugin: spread it: ...list."],
    [{ api: 1 }, "an object without a name"],
    [{ name: "one", api: 1 }, '"one" without start()'],
  ])("names the place of an entry that is not a plugin %#", async (entry, sentence) => {
    const { kernel } = createTestKernel([plugin("first"), entry as AnyPlugin]);
    expect(kernel.health().plugins).toHaveLength(2);
    const { code, message } = await rejection(kernel.start());
    expect(code).toBe("KERNEL_NOT_A_PLUGIN");
    expect(message).toContain(`Place 2 of the plugin list holds ${sentence}`);
  });

  test("rejects a clock without a member", () => {
    const clock = Object.assign(createStoppedClock(), { monotonic: undefined }) as never;
    expect(() => createKernel([], { clock })).toThrow('no function "monotonic"');
  });

  test("asks for the contract version if a plugin has none", async () => {
    const one = plugin("one", undefined, { api: undefined });
    const { message } = await rejection(createTestKernel([one]).kernel.start());
    expect(message).toContain('add "api: 1"');
  });

  test("suggests the nearest service when an unknown one is read", async () => {
    const guest = plugin("guest", ({ needs }) => void (needs as { tokns: unknown }).tokns);
    const shop = plugin("shop", () => ({ tokens: 1 }));
    const { code, message } = await rejection(createTestKernel([shop, guest]).kernel.start());
    expect([code, message]).toEqual([
      "KERNEL_NEED_UNMET",
      'Plugin "guest" needs the service "tokns", which no earlier plugin offers. ' +
        'Did you mean "tokens"?',
    ]);
  });
});

describe("Scope.lifecycle.send", () => {
  type Send = (command: string) => boolean;
  const createDriver = () => {
    const sends: Send[] = [];
    const driver = plugin(
      "driver",
      ({ lifecycle }) => void sends.push((lifecycle as unknown as { send: Send }).send),
      { drives: true },
    );
    return { ...createTestKernel([driver]), sends };
  };

  test("ignores events that are not launcher commands", async () => {
    const { kernel, sends } = createDriver();
    await kernel.start();
    expect(["process.stop", "process.start", ""].map((event) => sends[0]!(event))).toEqual([
      false,
      false,
      false,
    ]);
    expect(kernel.health().process).toBe("ready");
    await kernel.stop();
  });

  test("ignores commands of a plugin from an earlier start", async () => {
    const { kernel, sends } = createDriver();
    const changes: object[] = [];
    kernel.on("kernel:state-changed", (change) => void changes.push(change));
    await kernel.start();
    sends[0]!("accept-credentials");
    await kernel.stop();
    await kernel.start();
    expect([sends[0]!("begin-setup"), sends[1]!("begin-setup")]).toEqual([false, true]);
    await kernel.stop();
    expect(changes).toEqual([
      { from: null, to: "unconfigured" },
      { from: "unconfigured", to: "running" },
      { from: null, to: "unconfigured" },
      { from: "unconfigured", to: "setup" },
    ]);
  });
});

describe("Kernel.on", () => {
  test("begins listeners in one order and does not await them", async () => {
    const order: string[] = [];
    const first = gate();
    const { kernel } = createTestKernel([
      plugin("aa", ({ emit, onReady }) =>
        onReady(() => {
          const emitAny = emit as (type: string, payload: object) => void;
          emitAny("aa:one", {});
          order.push("emit returned");
          emitAny("aa:two", {});
        }),
      ),
    ]);
    const on = kernel.on as (type: string, handler: () => unknown) => void;
    const faults: string[] = [];
    kernel.on("kernel:fault", ({ during }) => void faults.push(during));
    on("aa:one", async () => {
      order.push("one begins");
      await first.promise;
      order.push("one ends");
      throw new Error("no");
    });
    on("aa:two", () => void order.push("two"));
    await kernel.start();
    first.open();
    await turn();
    expect(order).toEqual(["one begins", "emit returned", "two", "one ends"]);
    expect(faults).toEqual(["aa:one"]);
    await kernel.stop();
  });
});

describe("KernelOptions.inspect", () => {
  test("receives every state of the process and the launcher", async () => {
    const states: string[] = [];
    const inspect = ({ type, snapshot }: { type: string; snapshot?: { value?: unknown } }) => {
      if (type !== "@xstate.snapshot" || snapshot?.value === undefined) return;
      const value = JSON.stringify(snapshot.value).replaceAll('"', "");
      if (states.at(-1) !== value) states.push(value);
    };
    const { kernel } = createTestKernel([plugin("one")], { inspect });
    await kernel.start();
    await kernel.stop();
    expect(states).toEqual([
      "stopped",
      "{live:{launcher:unconfigured,process:starting}}",
      "{live:{launcher:running,process:starting}}",
      "{live:{launcher:running,process:ready}}",
      "{live:{launcher:running,process:stopping}}",
      "stopped",
    ]);
  });
});
