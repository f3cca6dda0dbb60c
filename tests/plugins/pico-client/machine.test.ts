import fc from "fast-check";
import { expect, test } from "vitest";
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

/** As if each event came ten seconds after the one before, and to the socket there is. */
const stepper = () => {
  let now = 0;
  return (core: LinkData, received: LinkEvent) => {
    now += 10_000;
    const own =
      "generation" in received && received.generation > 0
        ? { ...received, generation: core.generation }
        : received;
    return step(core, own, { now, random: 0.5 });
  };
};

test("the chart knows every move the link makes", () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), (events) => {
      const actor = createActor(linkMachine(initialData, stepper()), {
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

test("what an event causes is carried out before the next event, also when that one comes from within", () => {
  const seen: string[] = [];
  const { send, core } = createActorDriver({ now: () => 0, setTimeout, clearTimeout } as never)({
    initial: initialData,
    step: stepper(),
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
