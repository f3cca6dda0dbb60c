import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createBudget, type Holder } from "../../../plugins/pico-server/budget.ts";

const holder = (): Holder & { held: boolean } => {
  const one = { held: false, bytes: 0, hold: (isHeld: boolean) => void (one.held = isHeld) };
  return one;
};

describe("the budget of all connections", () => {
  test("holds up whoever holds most, and lets go when there is room", () => {
    const budget = createBudget(100);
    const [small, large, other] = [holder(), holder(), holder()];
    budget.grow(small, 10);
    budget.grow(large, 80);
    budget.grow(other, 10);
    expect([small.held, large.held, other.held]).toEqual([false, false, false]);
    budget.grow(small, 1);
    expect([small.held, large.held, other.held]).toEqual([false, true, false]);
    budget.shrink(large, 1);
    expect(large.held).toBe(false);
  });

  test("holds nobody once all is accepted, whatever happened before", () => {
    const steps = fc.array(fc.tuple(fc.nat(4), fc.integer({ min: 1, max: 60 })), { maxLength: 60 });
    fc.assert(
      fc.property(steps, (all) => {
        const budget = createBudget(100);
        const holders = Array.from({ length: 5 }, holder);
        const open: [number, number][] = [];
        for (const [who, bytes] of all) {
          if (holders[who]!.held) continue;
          budget.grow(holders[who]!, bytes);
          open.push([who, bytes]);
          const used = open.reduce((sum, [, size]) => sum + size, 0);
          expect(holders.some(({ held }) => held)).toBe(used > 100);
        }
        for (const [who, bytes] of open) budget.shrink(holders[who]!, bytes);
        expect(holders.map(({ held }) => held)).toEqual([false, false, false, false, false]);
      }),
    );
  });
});
