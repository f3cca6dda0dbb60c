import { expect, describe, test } from "vitest";
import { SteadyClock } from "../../lib/steady-clock.ts";

describe("SteadyClock.read", () => {
  test("advances while reads follow each other within a millisecond", () => {
    let passed = 0;
    const clock = new SteadyClock({ now: () => 0, monotonic: () => passed }, 0, 0);
    for (; passed < 100; passed += 0.25) clock.read();
    expect(clock.read()).toBe(100);
  });
});
