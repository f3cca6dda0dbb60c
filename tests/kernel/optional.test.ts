import { describe, expect, test } from "vitest";
import { checkPlugins, createKernel, type AnyPlugin } from "../../kernel/index.ts";
import { createCapturedLog, createStoppedClock } from "../../kernel/testing.ts";
import { codeFrom, gate, plugin, rejection, turn } from "../support/sample-plugins.ts";

const optional = { optional: true };
const fails = (): never => {
  throw new Error("no broker");
};

async function started(plugins: readonly AnyPlugin[], clock = createStoppedClock()) {
  const { log, lines } = createCapturedLog();
  const kernel = createKernel([], { plugins, log, clock });
  const faults: object[] = [];
  kernel.on("kernel:fault", (fact) => void faults.push(fact));
  const starting = kernel.start();
  return {
    kernel,
    lines,
    faults,
    starting,
    phases: () => kernel.health().plugins.map(({ phase }) => phase),
  };
}

describe("optional plugins", () => {
  test("stop alone if they fail, while the others run", async () => {
    const steps: string[] = [];
    const one = plugin("one", ({ onStop }) => onStop(() => void steps.push("one stops")));
    const two = plugin(
      "two",
      ({ onStop }) => {
        onStop(() => void steps.push("two stops"));
        fails();
      },
      optional,
    );
    const three = plugin(
      "three",
      ({ onReady, onStop }) => {
        onStop(() => void steps.push("three stops"));
        onReady(fails);
      },
      optional,
    );
    const { kernel, starting, phases, faults } = await started([one, two, three, plugin("four")]);
    await starting;
    expect([steps, phases()]).toEqual([
      ["two stops", "three stops"],
      ["ready", "failed", "failed", "ready"],
    ]);
    expect(kernel.health()).toMatchObject({ ready: true });
    expect(kernel.health().plugins[1]).toEqual({
      name: "two",
      phase: "failed",
      reason: "no broker",
    });
    expect(faults).toEqual(
      ["two", "three"].map((name) => ({
        plugin: name,
        during: "start",
        code: "internal",
        message: "internal error",
      })),
    );
    await kernel.stop();
    expect([steps.at(-1), phases()]).toEqual([
      "one stops",
      ["stopped", "stopped", "stopped", "stopped"],
    ]);
  });

  test("fail with the name of a missing service", async () => {
    const { kernel, starting } = await started([
      plugin("one", undefined, { ...optional, needs: { tea: true } }),
    ]);
    await starting;
    expect(kernel.health().plugins[0]).toMatchObject({
      phase: "failed",
      reason: expect.stringContaining('"tea"'),
    });
    await kernel.stop();
  });

  test("time out after ten seconds; later registrations are cleaned up", async () => {
    const clock = createStoppedClock();
    const late = gate();
    const steps: string[] = [];
    const slow = plugin(
      "slow",
      async ({ onStop, on, after }) => {
        await late.promise;
        onStop(() => void steps.push("undone"));
        on("kernel:state-changed" as never, () => void steps.push("heard"));
        after(1, () => void steps.push("rang"));
        return { tea: 1 };
      },
      optional,
    );
    const { kernel, starting, phases } = await started([slow], clock);
    await turn();
    clock.increment(9_999);
    await turn();
    expect(phases()).toEqual(["starting"]);
    clock.increment(1);
    await starting;
    expect(kernel.health().plugins[0]).toMatchObject({
      phase: "failed",
      reason: expect.stringContaining("10 s"),
    });
    late.open();
    await turn();
    clock.increment(10);
    expect([steps, Object.keys(kernel.services), phases()]).toEqual([["undone"], [], ["failed"]]);
    await kernel.stop();
  });

  test("may succeed at the next start", async () => {
    let count = 0;
    const { kernel, starting, phases } = await started([
      plugin("one", () => (count += 1) === 1 && fails(), optional),
    ]);
    await starting;
    await kernel.stop();
    await kernel.start();
    expect(phases()).toEqual(["ready"]);
    await kernel.stop();
  });

  test("do not delay the stop of the kernel while starting", async () => {
    const clock = createStoppedClock();
    const { kernel, starting } = await started(
      [plugin("one", () => gate().promise, optional)],
      clock,
    );
    const refused = codeFrom(starting);
    await turn();
    const stopped = kernel.stop({ timeoutMs: 5 });
    clock.increment(5);
    await stopped;
    expect([await refused, kernel.health().live]).toEqual(["KERNEL_START_ABORTED", false]);
  });
});

describe("checkPlugins", () => {
  test("checks plugins and settings without starting them", async () => {
    expect(await codeFrom(() => checkPlugins([plugin("one", fails, { api: 2 })]))).toBe(
      "KERNEL_PLUGIN_API",
    );
    expect(await codeFrom(() => checkPlugins([plugin("one")], { tea: {} }))).toBe(
      "KERNEL_UNKNOWN_SECTION",
    );
    expect((await rejection(() => checkPlugins([plugin("Tea Cup")]))).message).toContain(
      '"Tea Cup"',
    );
    checkPlugins([plugin("one", fails)]);
  });
});
