import { describe, expect, test } from "vitest";
import { createBus } from "../../kernel/bus.ts";

const nobody = (): void => undefined;

describe("Bus", () => {
  test("delivers nested events after the present one, in one order", () => {
    const bus = createBus();
    const first: string[] = [];
    const second: string[] = [];
    bus.on(
      "a:went",
      () => {
        first.push("went");
        bus.emit("a:came", {});
      },
      nobody,
    );
    bus.on("a:came", () => void first.push("came"), nobody);
    bus.on("a:went", () => void second.push("went"), nobody);
    bus.on("a:came", () => void second.push("came"), nobody);
    bus.emit("a:went", {});
    expect(first).toEqual(["went", "came"]);
    expect(second).toEqual(["went", "came"]);
  });

  test("reports failing listeners and still calls the others", async () => {
    const bus = createBus();
    const faults: unknown[] = [];
    const heard: object[] = [];
    bus.on(
      "a:went",
      () => {
        throw new Error("thrown");
      },
      (error) => void faults.push(error),
    );
    bus.on(
      "a:went",
      () => Promise.reject(new Error("rejected")),
      (error) => void faults.push(error),
    );
    bus.on("a:went", (fact) => void heard.push(fact), nobody);
    bus.emit("a:went", { n: 1 });
    bus.emit("a:went", { n: 2 });
    await Promise.resolve();
    expect(heard).toEqual([{ n: 1 }, { n: 2 }]);
    expect(faults.map((error) => (error as Error).message).sort()).toEqual([
      "rejected",
      "rejected",
      "thrown",
      "thrown",
    ]);
  });

  test("skips a listener that is released during the delivery", () => {
    const bus = createBus();
    const heard: string[] = [];
    bus.on("a:went", () => release(), nobody);
    const release = bus.on("a:went", () => void heard.push("late"), nobody);
    bus.emit("a:went", {});
    expect(heard).toEqual([]);
  });

  test("releases one registration of a handler that is registered twice", () => {
    const bus = createBus();
    let calls = 0;
    const handler = (): void => {
      calls += 1;
    };
    const release = bus.on("a:went", handler, nobody);
    bus.on("a:went", handler, nobody);
    release();
    release();
    bus.emit("a:went", {});
    expect(calls).toBe(1);
  });

  test("calls a payload function once, and only if listeners exist", () => {
    const bus = createBus();
    let built = 0;
    const build = (): object => ({ n: ++built });
    bus.emit("a:went", build);
    expect(built).toBe(0);
    const heard: object[] = [];
    bus.on("a:went", (fact) => void heard.push(fact), nobody);
    bus.on("a:went", (fact) => void heard.push(fact), nobody);
    bus.emit("a:went", build);
    expect(heard).toEqual([{ n: 1 }, { n: 1 }]);
  });

  test("delivers again after the fault report has thrown", () => {
    const bus = createBus();
    const heard: object[] = [];
    const release = bus.on(
      "a:went",
      () => {
        throw new Error("first");
      },
      () => {
        throw new Error("the log is broken");
      },
    );
    expect(() => bus.emit("a:went", {})).toThrow("the log is broken");
    release();
    bus.on("a:went", (fact) => void heard.push(fact), nobody);
    bus.emit("a:went", { n: 1 });
    expect(heard).toEqual([{ n: 1 }]);
  });
});
