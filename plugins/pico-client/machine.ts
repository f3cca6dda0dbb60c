// The link as a state machine. The pure function `step` of the link decides what an event means;
// the machine limits which transitions exist. A closed link stays closed.
import { assign, createActor, setup } from "xstate";
import type { Clock } from "../../kernel/index.ts";
import type { LinkData, Driver, Effect, LinkEvent, LinkState } from "../../lib/pico-link/index.ts";

interface Context {
  readonly core: LinkData;
  readonly effects: readonly Effect[];
}
type Step = Parameters<Driver>[0]["step"];

const transitionTo = (target: LinkState) => ({
  guard: ({ context }: { context: Context }) => context.core.state === target,
  target,
});

export const linkMachine = (initial: LinkData, step: Step) =>
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
      idle: { always: [transitionTo("connecting"), transitionTo("closed")] },
      connecting: {
        always: [
          transitionTo("open"),
          transitionTo("waiting"),
          transitionTo("blocked"),
          transitionTo("closed"),
        ],
      },
      open: { always: [transitionTo("waiting"), transitionTo("blocked"), transitionTo("closed")] },
      waiting: { always: [transitionTo("connecting"), transitionTo("closed")] },
      blocked: { always: [transitionTo("connecting"), transitionTo("closed")] },
      closed: {},
    },
  });

/** Runs a link as an actor. Its mailbox keeps events in order; it uses the clock of the kernel. */
export const createActorDriver =
  (clock: Clock): Driver =>
  ({ initial, step, perform }) => {
    const actor = createActor(linkMachine(initial, step), { clock });
    actor.start();
    actor.subscribe(({ context }) => perform(context.effects, context.core));
    return { send: (event) => actor.send(event), core: () => actor.getSnapshot().context.core };
  };
