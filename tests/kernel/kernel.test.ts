import { describe, expect, test } from "vitest";
import { createKernel, type AnyPlugin, type Plugin } from "../../kernel/index.ts";
import { createCapturedLog } from "../../kernel/testing.ts";
import { codeFrom, gate, plugin, rejection } from "../support/sample-plugins.ts";

const { log } = createCapturedLog();
const kernelOf = (plugins: readonly AnyPlugin[], options: object = {}) =>
  createKernel([], { plugins, log, ...options });
const phases = (kernel: ReturnType<typeof kernelOf>) =>
  kernel.health().plugins.map(({ name, phase }) => `${name} ${phase}`);

/** Records each step of its life. */
const diary = (name: string, steps: string[], more: object = {}): AnyPlugin =>
  plugin(
    name,
    ({ onReady, onStop }) => {
      steps.push(`${name} starts`);
      onStop(() => void steps.push(`${name} undoes its start`));
      onReady(() => {
        steps.push(`${name} is ready`);
        return () => void steps.push(`${name} undoes its ready step`);
      });
      onStop(() => void steps.push(`${name} undoes its last step`));
    },
    more,
  );

describe("Kernel", () => {
  test("starts in list order and cleans up in reverse order", async () => {
    const steps: string[] = [];
    const kernel = kernelOf([diary("one", steps), diary("two", steps)]);
    await kernel.start();
    await kernel.stop();
    expect(steps).toEqual([
      "one starts",
      "two starts",
      "one is ready",
      "two is ready",
      "two undoes its ready step",
      "one undoes its ready step",
      "two undoes its last step",
      "two undoes its start",
      "one undoes its last step",
      "one undoes its start",
    ]);
  });

  test("awaits a slow start and a slow cleanup", async () => {
    const steps: string[] = [];
    const slow = (name: string): AnyPlugin =>
      plugin(name, async ({ onStop }) => {
        await new Promise((done) => setImmediate(done));
        steps.push(`${name} started`);
        onStop(async () => {
          await new Promise((done) => setImmediate(done));
          steps.push(`${name} undone`);
        });
      });
    const kernel = kernelOf([slow("one"), slow("two")]);
    await kernel.start();
    await kernel.stop();
    expect(steps).toEqual(["one started", "two started", "two undone", "one undone"]);
  });

  test("reports the phase of each plugin in its health", async () => {
    const second = gate();
    const kernel = kernelOf([plugin("one"), plugin("two", () => second.promise)]);
    expect(kernel.health()).toMatchObject({ live: false, ready: false });
    const started = kernel.start();
    await Promise.resolve();
    await new Promise((done) => setImmediate(done));
    expect(kernel.health()).toMatchObject({ live: true, ready: false });
    expect(phases(kernel)).toEqual(["one started", "two starting"]);
    second.open();
    await started;
    expect(kernel.health()).toMatchObject({ live: true, ready: true });
    expect(phases(kernel)).toEqual(["one ready", "two ready"]);
    await kernel.stop();
    expect(kernel.health()).toMatchObject({ live: false, ready: false });
    expect(phases(kernel)).toEqual(["one stopped", "two stopped"]);
  });

  test("announces running once when it is ready without a driver", async () => {
    const changes: object[] = [];
    const states: string[] = [];
    const kernel = kernelOf([
      plugin("one", ({ lifecycle, onReady }) => {
        states.push(lifecycle.state());
        onReady(() => void states.push(lifecycle.state()));
      }),
    ]);
    kernel.on("kernel:state-changed", (change) => void changes.push(change));
    expect(kernel.state()).toBe("unconfigured");
    await kernel.start();
    expect(states).toEqual(["unconfigured", "running"]);
    expect(changes).toEqual([{ from: null, to: "running" }]);
    await kernel.stop();
    expect(kernel.state()).toBe("unconfigured");
  });

  test("announces later transitions with their previous state", async () => {
    let send = (_command: string): boolean => false;
    const kernel = kernelOf([
      plugin(
        "driver",
        ({ lifecycle }) => {
          send = (lifecycle as unknown as { send: typeof send }).send;
          send("begin-setup");
        },
        { drives: true },
      ),
    ]);
    const changes: object[] = [];
    kernel.on("kernel:state-changed", (change) => void changes.push(change));
    await kernel.start();
    expect(send("begin-rotation")).toBe(false);
    expect(send("finish-setup")).toBe(true);
    await kernel.stop();
    expect(send("begin-rotation")).toBe(false);
    expect(changes).toEqual([
      { from: null, to: "setup" },
      { from: "setup", to: "running" },
    ]);
  });

  test("cleans up after a failed start and reports the reason", async () => {
    const steps: string[] = [];
    const kernel = kernelOf([
      diary("one", steps),
      plugin("two", ({ onStop }) => {
        onStop(() => void steps.push("two undoes its half"));
        throw new Error("no disk");
      }),
      diary("three", steps),
    ]);
    await expect(kernel.start()).rejects.toThrow("no disk");
    expect(steps).toEqual([
      "one starts",
      "two undoes its half",
      "one undoes its last step",
      "one undoes its start",
    ]);
    expect(phases(kernel)).toEqual(["one stopped", "two failed", "three stopped"]);
    expect(kernel.health().live).toBe(false);
  });

  test("fails the start if a ready step fails, and cleans up", async () => {
    const steps: string[] = [];
    const kernel = kernelOf([
      diary("one", steps),
      plugin("two", ({ onReady }) => onReady(() => Promise.reject(new Error("port taken")))),
    ]);
    await expect(kernel.start()).rejects.toThrow("port taken");
    expect(steps.slice(2)).toEqual([
      "one undoes its ready step",
      "one undoes its last step",
      "one undoes its start",
    ]);
    expect(phases(kernel)).toEqual(["one stopped", "two failed"]);
  });

  test("starts again after a stop and after a failed start", async () => {
    let fails = true;
    let starts = 0;
    const kernel = kernelOf([
      plugin("one", () => {
        starts += 1;
        if (fails) throw new Error("not yet");
        return { bread: starts };
      }),
    ]);
    await expect(kernel.start()).rejects.toThrow("not yet");
    fails = false;
    for (const round of [2, 3]) {
      await kernel.start();
      expect(kernel.services).toEqual({ bread: round });
      await kernel.stop();
      expect(kernel.services).toEqual({});
    }
  });

  test("calls a listener of the host in every run until released", async () => {
    const heard: string[] = [];
    const kernel = kernelOf([plugin("one")]);
    const release = kernel.on("kernel:state-changed", ({ to }) => void heard.push(to));
    await kernel.start();
    await kernel.stop();
    await kernel.start();
    release();
    await kernel.stop();
    await kernel.start();
    await kernel.stop();
    expect(heard).toEqual(["running", "running"]);
  });

  test("rejects a second start, but accepts any stop", async () => {
    const kernel = kernelOf([plugin("one")]);
    await kernel.stop();
    const first = kernel.start();
    expect(await codeFrom(kernel.start())).toBe("KERNEL_BUSY");
    await first;
    expect(await codeFrom(kernel.start())).toBe("KERNEL_BUSY");
    const stopping = [kernel.stop(), kernel.stop()];
    expect(await codeFrom(kernel.start())).toBe("KERNEL_BUSY");
    await Promise.all(stopping);
    await kernel.start();
    await kernel.stop();
  });

  test("shares nothing with another kernel of the process", async () => {
    const list = (): AnyPlugin[] => [plugin("one", ({ random }) => ({ id: random(4) }))];
    const [first, second] = [kernelOf(list()), kernelOf(list())];
    await Promise.all([first.start(), second.start()]);
    expect(first.services).not.toEqual(second.services);
    await first.stop();
    expect(second.health().ready).toBe(true);
    expect(Object.keys(second.services)).toEqual(["id"]);
    await second.stop();
  });

  test("stops at the end of an `await using` block", async () => {
    const steps: string[] = [];
    {
      await using kernel = kernelOf([diary("one", steps)]);
      await kernel.start();
    }
    expect(steps.at(-1)).toBe("one undoes its start");
  });

  test("reports a failing cleanup step as a fault and continues", async () => {
    const steps: string[] = [];
    const faults: string[] = [];
    const kernel = kernelOf([
      plugin("one", ({ onStop }) => {
        onStop(() => void steps.push("first"));
        onStop(() => {
          throw new Error("thrown");
        });
        onStop(() => Promise.reject(new Error("rejected")));
        onStop(() => void steps.push("last"));
      }),
    ]);
    kernel.on("kernel:fault", ({ plugin: name, during }) => void faults.push(`${name} ${during}`));
    await kernel.start();
    await kernel.stop();
    expect(steps).toEqual(["last", "first"]);
    expect(faults).toEqual(["one stop", "one stop"]);
  });

  test("starts run-time plugins last, with the services of the list", async () => {
    const order: string[] = [];
    const shop: Plugin<{ offers: { bread: string } }> = {
      name: "shop",
      api: 1,
      start() {
        order.push("shop");
        return { bread: "rye" };
      },
    };
    const guest = plugin(
      "guest",
      ({ needs }) => void order.push(`guest ${JSON.stringify(needs)}`),
      {
        needs: { bread: true },
      },
    );
    const kernel = createKernel([shop], { log, plugins: [guest] });
    await kernel.start();
    await kernel.stop();
    expect(order).toEqual(["shop", 'guest {"bread":"rye"}']);
  });

  test.each<[string, AnyPlugin[], string]>([
    [
      "KERNEL_NEED_UNMET",
      [plugin("guest", undefined, { needs: { bread: true } })],
      'Plugin "guest" needs the service "bread", which no earlier plugin offers.',
    ],
    [
      "KERNEL_NEED_UNMET",
      [plugin("guest", undefined, { needs: { toString: true } })],
      'needs the service "toString"',
    ],
    [
      "KERNEL_NEED_UNMET",
      [
        plugin("guest", undefined, { needs: { bread: true } }),
        plugin("shop", () => ({ bread: 1 })),
      ],
      '"guest"',
    ],
    [
      "KERNEL_SERVICE_TAKEN",
      [plugin("shop", () => ({ bread: 1 })), plugin("rival", () => ({ bread: 2 }))],
      'Plugin "rival" offers the service "bread"',
    ],
    [
      "KERNEL_DUPLICATE_PLUGIN",
      [plugin("shop"), plugin("shop")],
      'Two plugins are named "shop". Only one can be used',
    ],
    ["KERNEL_PLUGIN_NAME", [plugin("Shop")], '"Shop" is not a plugin name'],
    ["KERNEL_PLUGIN_NAME", [plugin("a:b")], '"a:b"'],
    ["KERNEL_PLUGIN_NAME", [plugin("kernel")], '"kernel"'],
    ["KERNEL_PLUGIN_NAME", [plugin("host")], '"host"'],
    [
      "KERNEL_PLUGIN_API",
      [plugin("shop", undefined, { api: 2 })],
      'Plugin "shop" was made for version 2 of the plugin contract; this kernel takes "api: 1".',
    ],
  ])("%s %#: the start is refused with a sentence", async (code, plugins, sentence) => {
    const error = await rejection(kernelOf(plugins).start());
    expect(error.code).toBe(code);
    expect(error.message).toContain(sentence);
  });

  test("rejects a section that no plugin reads before any start", async () => {
    const steps: string[] = [];
    expect(
      await codeFrom(kernelOf([diary("one", steps)], { config: { nowhere: {} } }).start()),
    ).toBe("KERNEL_UNKNOWN_SECTION");
    expect(steps).toEqual([]);
  });

  test("writes only warnings and errors to the console by default", async () => {
    const original = { ...console };
    const said: string[] = [];
    for (const level of ["debug", "info", "log", "warn", "error"]) {
      Object.assign(console, { [level]: (text: string) => void said.push(`${level} ${text}`) });
    }
    try {
      const kernel = createKernel([
        plugin("one", ({ log: own }) => {
          for (const level of ["debug", "info", "warn", "error"] as const) own[level]({}, level);
        }),
      ]);
      await kernel.start();
      await kernel.stop();
    } finally {
      Object.assign(console, original);
    }
    expect(said).toEqual(["warn warn", "error error"]);
  });
});
