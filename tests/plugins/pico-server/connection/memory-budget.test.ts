import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  MemoryBudget,
  type BudgetMember,
} from "../../../../plugins/pico-server/connection/memory-budget.ts";

interface Recorded extends BudgetMember {
  isPaused: boolean;
  hasDeadline: boolean;
}

const createMember = (): Recorded => {
  const member: Recorded = {
    isPaused: false,
    hasDeadline: false,
    bytes: 0,
    arriving: 0,
    setBudgetPause: (isPaused) => void (member.isPaused = isPaused),
    setDeadline: (hasDeadline) => void (member.hasDeadline = hasDeadline),
  };
  return member;
};

describe("MemoryBudget", () => {
  test("pauses the largest member until there is room", () => {
    const budget = new MemoryBudget(() => 100);
    const [small, large, other] = [createMember(), createMember(), createMember()];
    budget.grow(small, 10);
    budget.grow(large, 80);
    budget.grow(other, 10);
    expect([small.isPaused, large.isPaused, other.isPaused]).toEqual([false, false, false]);
    budget.grow(small, 1);
    expect([small.isPaused, large.isPaused, other.isPaused]).toEqual([false, true, false]);
    budget.shrink(large, 1);
    expect(large.isPaused).toBe(false);
  });

  test("pauses no member after all messages were accepted", () => {
    const steps = fc.array(fc.tuple(fc.nat(4), fc.integer({ min: 1, max: 60 })), { maxLength: 60 });
    fc.assert(
      fc.property(steps, (all) => {
        const budget = new MemoryBudget(() => 100);
        const members = Array.from({ length: 5 }, createMember);
        const open: [number, number][] = [];
        for (const [index, bytes] of all) {
          if (members[index]!.isPaused) continue;
          budget.grow(members[index]!, bytes);
          open.push([index, bytes]);
          const used = open.reduce((sum, [, size]) => sum + size, 0);
          expect(members.some(({ isPaused }) => isPaused)).toBe(used > 100);
        }
        for (const [index, bytes] of open) budget.shrink(members[index]!, bytes);
        expect(members.map(({ isPaused }) => isPaused)).toEqual([
          false,
          false,
          false,
          false,
          false,
        ]);
      }),
    );
  });

  test("lets only the largest unfinished message continue, then the next", () => {
    const budget = new MemoryBudget(() => 100);
    const [one, two, whole] = [createMember(), createMember(), createMember()];
    budget.arrive(one, 60);
    budget.arrive(two, 50);
    expect([one.hasDeadline, one.isPaused, two.hasDeadline, two.isPaused]).toEqual([
      true,
      false,
      false,
      true,
    ]);
    budget.arrive(one, 0);
    budget.grow(one, 60);
    expect([one.hasDeadline, one.isPaused, two.hasDeadline, two.isPaused]).toEqual([
      false,
      true,
      false,
      false,
    ]);
    budget.arrive(two, 60);
    expect([two.hasDeadline, two.isPaused]).toEqual([false, true]);
    budget.shrink(one, 60);
    expect([one.isPaused, two.isPaused, two.hasDeadline]).toEqual([false, false, false]);
    budget.grow(whole, 20);
    budget.arrive(two, 90);
    expect([two.hasDeadline, two.isPaused, whole.isPaused]).toEqual([true, false, true]);
    budget.leave(two);
    expect(two.hasDeadline).toBe(false);
    budget.arrive(two, 0);
    expect(whole.isPaused).toBe(false);
  });

  test("resumes all connections after every message arrived and was accepted", () => {
    const step = fc.tuple(fc.nat(4), fc.integer({ min: 1, max: 60 }), fc.boolean());
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const budget = new MemoryBudget(() => 100);
        const members = Array.from({ length: 5 }, createMember);
        const whole = [0, 0, 0, 0, 0];
        for (const [index, bytes, ends] of steps) {
          const one = members[index]!;
          if (one.isPaused) continue;
          budget.arrive(one, one.arriving + bytes);
          if (!ends) continue;
          const size = one.arriving;
          budget.arrive(one, 0);
          budget.grow(one, size);
          whole[index]! += size;
        }
        // The application accepts everything. Then each message that may continue ends and is
        // accepted.
        members.forEach((one, index) => budget.shrink(one, whole[index]!));
        for (let n = 0; n < members.length; n++) {
          const next = members.find(({ isPaused, arriving }) => !isPaused && arriving > 0);
          if (next) budget.arrive(next, 0);
        }
        for (const one of members) {
          expect(one).toMatchObject({ isPaused: false, hasDeadline: false, bytes: 0, arriving: 0 });
        }
      }),
    );
  });
});
