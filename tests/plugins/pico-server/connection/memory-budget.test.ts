import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  createMemoryBudget,
  type BudgetMember,
} from "../../../../plugins/pico-server/connection/memory-budget.ts";

interface Recorded extends BudgetMember {
  held: boolean;
  hurried: boolean;
}

const holder = (): Recorded => {
  const one: Recorded = {
    held: false,
    hurried: false,
    bytes: 0,
    arriving: 0,
    hold: (isHeld: boolean) => void (one.held = isHeld),
    hurry: (isHurried: boolean) => void (one.hurried = isHurried),
  };
  return one;
};

describe("the budget of all connections", () => {
  test("holds up whoever holds most, and lets go when there is room", () => {
    const budget = createMemoryBudget(() => 100);
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
        const budget = createMemoryBudget(() => 100);
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

  test("lets the largest unfinished message go on alone, then the next", () => {
    const budget = createMemoryBudget(() => 100);
    const [one, two, whole] = [holder(), holder(), holder()];
    budget.arrive(one, 60);
    budget.arrive(two, 50);
    expect([one.hurried, one.held, two.hurried, two.held]).toEqual([true, false, false, true]);
    budget.arrive(one, 0);
    budget.grow(one, 60);
    expect([one.hurried, one.held, two.hurried, two.held]).toEqual([false, true, false, false]);
    budget.arrive(two, 60);
    expect([two.hurried, two.held]).toEqual([false, true]);
    budget.shrink(one, 60);
    expect([one.held, two.held, two.hurried]).toEqual([false, false, false]);
    budget.grow(whole, 20);
    budget.arrive(two, 90);
    expect([two.hurried, two.held, whole.held]).toEqual([true, false, true]);
    budget.leave(two);
    expect(two.hurried).toBe(false);
    budget.arrive(two, 0);
    expect(whole.held).toBe(false);
  });

  test("leaves no connection paused once every message has arrived and is accepted", () => {
    const step = fc.tuple(fc.nat(4), fc.integer({ min: 1, max: 60 }), fc.boolean());
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const budget = createMemoryBudget(() => 100);
        const holders = Array.from({ length: 5 }, holder);
        const whole = [0, 0, 0, 0, 0];
        for (const [who, bytes, ends] of steps) {
          const one = holders[who]!;
          if (one.held) continue;
          budget.arrive(one, one.arriving + bytes);
          if (!ends) continue;
          const size = one.arriving;
          budget.arrive(one, 0);
          budget.grow(one, size);
          whole[who]! += size;
        }
        // The application accepts everything; then each message that may go on ends and is accepted.
        holders.forEach((one, who) => budget.shrink(one, whole[who]!));
        for (let n = 0; n < holders.length; n++) {
          const next = holders.find(({ held, arriving }) => !held && arriving > 0);
          if (next) budget.arrive(next, 0);
        }
        for (const one of holders) {
          expect(one).toMatchObject({ held: false, hurried: false, bytes: 0, arriving: 0 });
        }
      }),
    );
  });
});
