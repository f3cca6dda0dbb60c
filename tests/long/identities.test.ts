import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rounds } from "../support/runs.ts";
import { leaksOf, operation } from "../properties/identity-world.ts";

/** 100,000 operations. */
const runs = rounds(200);
const operationsPerRun = 500;

describe("identify", () => {
  test("leaks nothing in many operations of several people", async () => {
    const total = { received: 0, frames: 0, forbidden: 0, replaced: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.array(operation, { minLength: operationsPerRun, maxLength: operationsPerRun }),
        async (operations) => {
          const { leaks, counts } = await leaksOf(operations);
          expect(leaks).toEqual([]);
          for (const name of ["received", "frames", "forbidden", "replaced"] as const)
            total[name] += counts[name];
        },
      ),
      { numRuns: runs, endOnFailure: true },
    );
    console.log(`${runs * operationsPerRun} operations: ${JSON.stringify(total)}`);
    for (const count of Object.values(total)) expect(count).toBeGreaterThan(0);
  });
});
