import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createActor, SimulatedClock } from "xstate";
import { createActorDriver, linkMachine } from "../../../plugins/pico-client/machine.ts";
import { initialData, step, type LinkData, type LinkEvent } from "../../../lib/pico-link/index.ts";

const generation = fc.nat(3);
const event: fc.Arbitrary<LinkEvent> = fc.oneof(
  fc.record({ type: fc.constantFrom("start", "stop", "tick", "retry") }),
  fc.record({ type: fc.constantFrom("opened", "heard", "flushed"), generation }),
  fc.record({
    type: fc.constant("failed"),
    generation,
    status: fc.constantFrom(undefined, 401, 403, 404, 426, 429, 503),
  }),
  fc.record({
    type: fc.constant("closed"),
    generation,
    code: fc.constantFrom(1000, 1001, 1006, 1012, 4401, 4409),
    reason: fc.constant(""),
  }),
  fc.record({
    type: fc.constant("send"),
    id: fc.string(),
    text: fc.constant("x"),
    bytes: fc.nat(10),
  }),
) as fc.Arbitrary<LinkEvent>;

/** A step function with 10 s between events, which addresses events to the current socket. */
const createStep = () => {
  let now = 0;
  return (core: LinkData, received: LinkEvent) => {
    now += 10_000;
    const addressed =
      "generation" in received && received.generation > 0
        ? { ...received, generation: core.generation }
        : received;
    return step(core, addressed, { now, random: 0.5 });
  };
};

describe("linkMachine", () => {
  test("allows every transition of the link", () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        const actor = createActor(linkMachine(initialData, createStep()), {
          clock: new SimulatedClock(),
        }).start();
        for (const received of events) {
          actor.send(received);
          expect(actor.getSnapshot().value).toBe(actor.getSnapshot().context.core.state);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("createActorDriver", () => {
  test("performs the effects of an event before the next event", () => {
    const seen: string[] = [];
    const { send, core } = createActorDriver({ now: () => 0, setTimeout, clearTimeout } as never)({
      initial: initialData,
      step: createStep(),
      perform(effects) {
        for (const { type } of effects) {
          seen.push(type);
          if (type === "connect") send({ type: "opened", generation: core().generation });
        }
        seen.push("done");
      },
    });
    send({ type: "start" });
    expect(seen).toEqual(["notify", "connect", "done", "notify", "done"]);
    expect(core().state).toBe("open");
  });
});
