import { assign, createActor, setup } from "xstate";
import type { Clock } from "../../kernel/index.ts";
import type { Core, Driver, Effect, LinkEvent, LinkState } from "../../lib/pico-link/index.ts";

/* The life of the link as a machine. What an event means is decided by the link's step; the chart says which moves
 * there are at all. A stopped link stays stopped. */

interface Context {
  readonly core: Core;
  readonly effects: readonly Effect[];
}
type Step = Parameters<Driver>[0]["step"];

const to = (target: LinkState) => ({
  guard: ({ context }: { context: Context }) => context.core.state === target,
  target,
});

export const chart = (initial: Core, step: Step) =>
  setup({ types: { context: {} as Context, events: {} as LinkEvent } }).createMachine({
    id: "link",
    initial: "idle",
    context: { core: initial, effects: [] },
    on: {
      "*": {
        actions: assign(({ context, event }) => {
          const [core, effects] = step(context.core, event);
          return { core, effects };
        }),
      },
    },
    states: {
      idle: { always: [to("connecting"), to("stopped")] },
      connecting: { always: [to("open"), to("waiting"), to("blocked"), to("stopped")] },
      open: { always: [to("waiting"), to("blocked"), to("stopped")] },
      waiting: { always: [to("connecting"), to("stopped")] },
      blocked: { always: [to("connecting"), to("stopped")] },
      stopped: {},
    },
  });

/** Drives a link with an actor: its mailbox keeps events in order, its clock is the kernel's. */
export const actorDriver =
  (clock: Clock): Driver =>
  ({ initial, step, perform }) => {
    const actor = createActor(chart(initial, step), { clock });
    actor.start();
    actor.subscribe(({ context }) => perform(context.effects, context.core));
    return { send: (event) => actor.send(event), core: () => actor.getSnapshot().context.core };
  };
