import { describe, expect, test } from "vitest";
import { forwardOnlyClock } from "../../../lib/pico-link/link.ts";

describe("forwardOnlyClock", () => {
  test("continues from the latest time each time the clock is set back", () => {
    let wall = 1_000;
    const now = forwardOnlyClock({
      now: () => wall,
      setTimeout: () => undefined,
      clearTimeout: () => undefined,
    });
    const seen: number[] = [];
    for (const next of [1_000, 1_010, 400, 405, 100, 110, 200, 5_000]) {
      wall = next;
      seen.push(now());
    }
    expect(seen).toEqual([1_000, 1_010, 1_010, 1_015, 1_015, 1_025, 1_115, 5_915]);
    wall = 100;
    expect([now(6_000), now(5_000), now()]).toEqual([6_000, 6_000, 6_000]);
  });
});
