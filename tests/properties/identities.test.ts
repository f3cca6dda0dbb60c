import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { leaksOf, operation } from "./identity-world.ts";
import { runs } from "../support/runs.ts";

describe("identify", () => {
  test("keeps the sessions of several people apart", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(operation, { minLength: 300, maxLength: 300 }),
        async (operations) => {
          const { leaks, counts } = await leaksOf(operations);
          expect(leaks).toEqual([]);
          expect(counts.received).toBeGreaterThan(0);
        },
      ),
      { numRuns: runs(10), interruptAfterTimeLimit: 30_000, markInterruptAsFailure: true },
    ));
});
