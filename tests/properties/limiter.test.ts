import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createStoppedClock } from "../../kernel/testing.ts";
import { createLimiter } from "../../plugins/http/limiter.ts";
import { runs } from "../support/runs.ts";

interface Learned {
  readonly key: string;
  readonly value: string;
  /** Time of the result, in milliseconds. */
  readonly at: number;
}

const short = fc.nat(40).map((n) => `guess ${n}`);
const long = fc.nat(15).map((n) => `guess ${n}`.padEnd(43, "-"));
const right = fc.constantFrom("right", "right".padEnd(43, "-"));

const ask = fc.record({
  kind: fc.constant("ask" as const),
  key: fc.constantFrom("a", "b"),
  value: fc.oneof({ weight: 6, arbitrary: short }, long, right),
  /** The number of comparisons that settle before this one. */
  turns: fc.nat(3),
  fails: fc.nat(9).map((n) => n === 0),
});
const wait = fc.record({
  kind: fc.constant("wait" as const),
  ms: fc.oneof(fc.nat(5_000), fc.nat(70_000)),
});
const settle = fc.record({ kind: fc.constant("settle" as const) });
const step = fc.oneof(
  { weight: 6, arbitrary: ask },
  { weight: 3, arbitrary: wait },
  { weight: 2, arbitrary: settle },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
const steps = fc.array(step, { minLength: 20, maxLength: 200 });

/**
 * Runs attempts, waits and settled comparisons in any order.
 *
 * @returns The values that each key learned to be wrong, once per value.
 */
async function play(game: readonly Step[], attempts: number): Promise<Learned[]> {
  const clock = createStoppedClock();
  const limiter = createLimiter({ clock, secret: new Uint8Array(32), attempts: () => attempts });
  const learned: Learned[] = [];
  let open: { turns: number; finish: () => void }[] = [];
  const asked: Promise<void>[] = [];

  const settleSome = async (): Promise<void> => {
    open.forEach((one) => (one.turns -= 1));
    open.filter(({ turns }) => turns <= 0).forEach(({ finish }) => finish());
    open = open.filter(({ turns }) => turns > 0);
    await new Promise(setImmediate);
  };

  for (const one of game) {
    if (one.kind === "wait") clock.increment(one.ms);
    else if (one.kind === "settle") await settleSome();
    else {
      const { key, value, turns, fails } = one;
      const compare = async (): Promise<1 | false> => {
        if (turns > 0) await new Promise<void>((finish) => void open.push({ turns, finish }));
        if (fails) throw new Error("store");
        return value.startsWith("right") ? 1 : false;
      };
      asked.push(
        limiter.attempt(key, value, compare).then(
          ({ outcome }) => {
            if (
              outcome === "mismatch" &&
              !learned.some((known) => known.key === key && known.value === value)
            ) {
              learned.push({ key, value, at: clock.now() });
            }
            if (outcome === "match") expect(value).toMatch(/^right/);
          },
          (error: Error) => expect(error.message).toBe("store"),
        ),
      );
    }
  }
  while (open.length > 0) await settleSome();
  await Promise.all(asked);
  return learned;
}

describe("createLimiter", () => {
  test("limits different wrong values per key in any 60 seconds", () =>
    fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 10 }), async (game, attempts) => {
        const learned = await play(game, attempts);
        for (const { key, at } of learned) {
          const window = learned.filter(
            (one) => one.key === key && one.at >= at && one.at < at + 60_000,
          );
          expect(window.length).toBeLessThanOrEqual(attempts);
        }
      }),
      { numRuns: runs(150) },
    ));

  test("never limits a key without wrong values", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(right, fc.boolean(), fc.nat(3)), { maxLength: 60 }),
        async (asks) => {
          const limiter = createLimiter({
            clock: createStoppedClock(),
            secret: new Uint8Array(32),
            attempts: () => 2,
          });
          const outcomes = asks.map(([value, fails, turns]) =>
            limiter
              .attempt("a", value, async () => {
                for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
                if (fails) throw new Error("store");
                return 1;
              })
              .then(
                ({ outcome }) => outcome,
                () => "failed",
              ),
          );
          expect((await Promise.all(outcomes)).includes("limited")).toBe(false);
          expect(limiter.blockedFor("a")).toBe(0);
        },
      ),
      { numRuns: runs(100) },
    ));
});
