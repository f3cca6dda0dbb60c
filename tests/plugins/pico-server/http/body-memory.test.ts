import { describe, expect, test } from "vitest";
import { MemoryBudget } from "../../../../plugins/pico-server/connection/memory-budget.ts";
import { createBodyMemory } from "../../../../plugins/pico-server/http/body-memory.ts";

const limit = 1_000_000;
const create = () => createBodyMemory(new MemoryBudget(() => limit), () => limit);

describe("createBodyMemory", () => {
  test("keeps room for short bodies while long ones are unfinished", () => {
    const open = create();
    expect(open().reserve(400_000)).toBe(true);
    const second = open();
    expect(second.reserve(350_000)).toBe(true);
    expect(second.reserve(1)).toBe(false);
    expect(open().reserve(100_000)).toBe(false);
    expect(open().reserve(64 * 1024)).toBe(true);
  });

  test("counts complete bodies against the whole budget", () => {
    const open = create();
    const first = open();
    expect(first.reserve(700_000)).toBe(true);
    first.arrived();
    const second = open();
    expect(second.reserve(300_000)).toBe(true);
    expect(open().reserve(1)).toBe(false);
    first.release();
    first.release();
    expect(open().reserve(700_000)).toBe(false);
    second.release();
    expect(open().reserve(700_000)).toBe(true);
  });

  test("lets a single body use the whole budget", () => {
    const only = create()();
    expect(only.reserve(900_000)).toBe(true);
    expect(only.reserve(100_000)).toBe(true);
  });
});
