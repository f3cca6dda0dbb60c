import { describe, expect, test } from "vitest";
import { withKernel } from "../../kernel/testing.ts";
import { plugin } from "../support/sample-plugins.ts";

const undoing = (undone: string[]) =>
  plugin("one", ({ onStop, log, after }) => {
    onStop(() => void undone.push("undone"));
    log.warn({ n: 1 }, "careful");
    after(60_000, () => log.info({}, "a minute"));
  });

describe("withKernel", () => {
  test("passes a running kernel, its log and a stopped clock, then stops", async () => {
    const undone: string[] = [];
    let stopped = (): boolean => false;
    await withKernel([undoing(undone)], ({ kernel, clock, lines }) => {
      stopped = () => !kernel.health().live;
      expect(kernel.state()).toBe("running");
      expect(lines).toEqual([{ level: "warn", plugin: "one", n: 1, text: "careful" }]);
      clock.increment(60_000);
      expect(lines.at(-1)).toMatchObject({ level: "info", text: "a minute" });
      expect(undone).toEqual([]);
    });
    expect(undone).toEqual(["undone"]);
    expect(stopped()).toBe(true);
  });

  test("stops the kernel and rethrows if the visit fails", async () => {
    const undone: string[] = [];
    await expect(
      withKernel([undoing(undone)], () => Promise.reject(new Error("the visit failed"))),
    ).rejects.toThrow("the visit failed");
    expect(undone).toEqual(["undone"]);
  });

  test("rejects with the error of the start, without a visit", async () => {
    let visited = false;
    await expect(
      withKernel(
        [
          plugin("one", () => {
            throw new Error("no");
          }),
        ],
        () => {
          visited = true;
        },
      ),
    ).rejects.toThrow("no");
    expect(visited).toBe(false);
  });
});
