import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createKernel, type AnyPlugin, type Scope } from "../../kernel/index.ts";
import { createCapturedLog, createStoppedClock } from "../../kernel/testing.ts";
import { plugin } from "../support/sample-plugins.ts";
import { runs } from "../support/runs.ts";

const registrations = [
  "listener",
  "timer",
  "cancelled timer",
  "undo",
  "slow undo",
  "failing undo",
  "ready",
  "ready with undo",
] as const;
type Registration = (typeof registrations)[number];
const registration = fc.constantFrom(...registrations);
const roster = fc.array(fc.array(registration, { maxLength: 6 }), { minLength: 1, maxLength: 5 });
/** The number of registrations and ready steps before the start fails; undefined if it succeeds. */
const breaks = fc.option(fc.nat(40), { nil: undefined });

describe("Scope cleanup", () => {
  test("leaves nothing registered after a stop or a failed start", async () => {
    await fc.assert(
      fc.asyncProperty(roster, breaks, fc.boolean(), async (plans, breakAt, slow) => {
        const clock = createStoppedClock();
        const { log } = createCapturedLog();
        const open: number[] = [];
        const undone: number[] = [];
        let late = 0;
        let run = 1;
        let count = 0;
        const tick = (): void => {
          if (count++ === breakAt) throw new Error("broken here");
        };
        const acquire = (): number => {
          open.push(open.length);
          return open.length - 1;
        };
        const release = (id: number) => (): void => void undone.push(id);

        const register = (scope: Scope<any>, kind: Registration): void => {
          tick();
          const own = run;
          const heard = (): void => {
            if (own !== run) late += 1;
          };
          if (kind === "listener") scope.on("kernel:fault", heard);
          if (kind === "timer") scope.after(1_000, heard);
          if (kind === "cancelled timer") scope.after(1_000, heard)();
          if (kind === "undo") scope.onStop(release(acquire()));
          if (kind === "slow undo") {
            const id = acquire();
            scope.onStop(async () => {
              await Promise.resolve();
              release(id)();
            });
          }
          if (kind === "failing undo") {
            const id = acquire();
            scope.onStop(() => {
              release(id)();
              throw new Error("cannot be undone");
            });
          }
          if (kind === "ready") scope.onReady(() => tick());
          if (kind === "ready with undo") {
            scope.onReady(() => {
              tick();
              return release(acquire());
            });
          }
        };
        const plugins: AnyPlugin[] = plans.map((kinds, index) =>
          plugin(`p${index}`, async (scope) => {
            for (const kind of kinds) {
              if (slow) await Promise.resolve();
              register(scope, kind);
            }
            return { [`service${index}`]: index };
          }),
        );
        const kernel = createKernel([], { plugins, clock, log });
        const started = await kernel.start().then(
          () => true,
          () => false,
        );
        expect(started).toBe(breakAt === undefined || count <= breakAt);
        await kernel.stop();
        run = 2;
        expect(undone.toSorted((a, b) => a - b)).toEqual(open);
        if (started) expect(undone).toEqual(open.toReversed());
        expect(kernel.services).toEqual({});
        expect(kernel.health().live).toBe(false);
        clock.increment(1_000_000);
        // A fault of the next run reaches the host, and no listener of the first run.
        let host = 0;
        kernel.on("kernel:fault", () => {
          host += 1;
        });
        kernel.on("kernel:state-changed", () => {
          throw new Error("a fault");
        });
        count = -1_000;
        await kernel.start();
        clock.increment(1_000_000);
        await kernel.stop();
        expect(host).toBeGreaterThan(0);
        expect(late).toBe(0);
      }),
      { numRuns: runs(150) },
    );
  });
});
