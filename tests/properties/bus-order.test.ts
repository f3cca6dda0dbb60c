import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createBus } from "../../kernel/bus.ts";
import { runs } from "../support/runs.ts";

// Random runs of the bus: events from outside, and listeners that emit more, throw or reject.
type Reaction =
  | { readonly kind: "quiet" }
  | { readonly kind: "throw" }
  | { readonly kind: "reject" }
  | { readonly kind: "emit"; readonly types: readonly string[] }
  | { readonly kind: "emit-then-throw"; readonly types: readonly string[] }
  | { readonly kind: "emit-then-reject"; readonly types: readonly string[] };

const type = fc.constantFrom("p:one", "p:two", "p:three");
const types = fc.array(type, { minLength: 1, maxLength: 3 });
const reaction: fc.Arbitrary<Reaction> = fc.oneof(
  fc.record({ kind: fc.constantFrom("quiet", "throw", "reject") }),
  fc.record({ kind: fc.constantFrom("emit", "emit-then-throw", "emit-then-reject"), types }),
) as fc.Arbitrary<Reaction>;
const listeners = fc.array(fc.record({ type, reactions: fc.array(reaction, { maxLength: 4 }) }), {
  minLength: 1,
  maxLength: 6,
});

describe("Bus", () => {
  test("delivers every event once and in order to every listener", async () => {
    await fc.assert(
      fc.asyncProperty(listeners, fc.array(type, { maxLength: 12 }), async (plan, outside) => {
        const bus = createBus();
        const announced: { type: string; n: number }[] = [];
        const heard = plan.map((): number[] => []);
        let faults = 0;
        let expected = 0;
        const emit = (name: string): void => {
          const n = announced.length;
          // Order is defined by the call of `emit`, though the event is delivered later.
          announced.push({ type: name, n });
          bus.emit(name, { n });
        };
        plan.forEach(({ type: name, reactions }, index) => {
          let calls = 0;
          bus.on(
            name,
            ({ n }: { n: number }) => {
              heard[index]!.push(n);
              const turn: Reaction = reactions[calls++] ?? { kind: "quiet" };
              if ("types" in turn) turn.types.forEach(emit);
              if (turn.kind.endsWith("throw")) {
                expected += 1;
                throw new Error("thrown");
              }
              if (turn.kind.endsWith("reject")) {
                expected += 1;
                return Promise.reject(new Error("rejected"));
              }
              return undefined;
            },
            () => {
              faults += 1;
            },
          );
        });
        outside.forEach(emit);
        await new Promise((done) => setImmediate(done));
        plan.forEach(({ type: name }, index) => {
          expect(heard[index]).toEqual(
            announced.filter((fact) => fact.type === name).map(({ n }) => n),
          );
        });
        expect(faults).toBe(expected);
      }),
      { numRuns: runs(300) },
    );
  });

  test("gives all listeners the same order of all events", () => {
    fc.assert(
      fc.property(
        fc.array(reaction, { maxLength: 20 }),
        fc.array(type, { maxLength: 8 }),
        (reactions, outside) => {
          const bus = createBus();
          const orders = [0, 1, 2].map((): string[] => []);
          let calls = 0;
          let serial = 0;
          const emit = (name: string): void => bus.emit(name, { id: `${name}#${serial++}` });
          for (const [index, order] of orders.entries()) {
            for (const name of ["p:one", "p:two", "p:three"]) {
              bus.on(
                name,
                ({ id }: { id: string }) => {
                  order.push(id);
                  const turn = index === 1 ? reactions[calls++] : undefined;
                  if (turn && "types" in turn) turn.types.forEach(emit);
                  if (turn?.kind.endsWith("throw")) throw new Error("thrown");
                },
                () => undefined,
              );
            }
          }
          outside.forEach(emit);
          expect(orders[1]).toEqual(orders[0]);
          expect(orders[2]).toEqual(orders[0]);
          expect(orders[0]).toHaveLength(serial);
        },
      ),
      { numRuns: runs(300) },
    );
  });
});
