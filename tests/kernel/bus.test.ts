import { expect, test } from "vitest";
import { createBus } from "../../kernel/bus.ts";

const nobody = (): void => undefined;

test("a fact announced by a handler is delivered after the present one, to everybody in the same order", () => {
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

test("a throwing and a rejecting handler are reported and starve neither neighbours nor the emitter", async () => {
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

test("a listener released while a fact is delivered does not hear it any more", () => {
  const bus = createBus();
  const heard: string[] = [];
  bus.on("a:went", () => release(), nobody);
  const release = bus.on("a:went", () => void heard.push("late"), nobody);
  bus.emit("a:went", {});
  expect(heard).toEqual([]);
});

test("the same handler may listen twice and is released one listening at a time", () => {
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

test("a payload function runs only when somebody listens, and once for all listeners", () => {
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

test("the bus still delivers after a report of a fault has itself thrown", () => {
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
