import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { keyLeaksOf, keyOperation } from "../properties/key-world.ts";
import { rounds } from "../support/runs.ts";

/** 100,000 operations, in 3 to 15 minutes. */
const runs = rounds(200);
const operationsPerRun = 500;

describe("keys", () => {
  test("leak nothing in many operations of ten keys", { timeout: 1_500_000 }, async () => {
    const total = { received: 0, read: 0, forbidden: 0, files: 0, answered: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.array(keyOperation, { minLength: operationsPerRun, maxLength: operationsPerRun }),
        async (operations) => {
          const { leaks, counts } = await keyLeaksOf(operations);
          expect(leaks).toEqual([]);
          for (const name of ["received", "read", "forbidden", "files", "answered"] as const)
            total[name] += counts[name];
        },
      ),
      { numRuns: runs, endOnFailure: true },
    );
    console.log(`${runs * operationsPerRun} operations: ${JSON.stringify(total)}`);
    for (const count of Object.values(total)) expect(count).toBeGreaterThan(0);
  });
});
