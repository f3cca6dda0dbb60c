import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../support/runs.ts";
import { keyLeaksOf, keyOperation } from "./key-world.ts";

describe("keys", () => {
  test("keep the sessions of ten keys apart in all protocols", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(keyOperation, { minLength: 300, maxLength: 300 }),
        async (operations) => {
          const { leaks, counts } = await keyLeaksOf(operations);
          expect(leaks).toEqual([]);
          for (const count of [counts.received, counts.read, counts.forbidden])
            expect(count).toBeGreaterThan(0);
        },
      ),
      {
        numRuns: runs(6),
        interruptAfterTimeLimit: 50_000,
        markInterruptAsFailure: true,
        endOnFailure: true,
      },
    ));
});
