import { createActor, setup, type Snapshot } from "xstate";
import type { Clock, LauncherCommand, LauncherState } from "./plugin.ts";

/**
 * The launcher's life and nothing else: no I/O, no timer. The driver does the work and reports back with commands.
 * A command that means nothing in the present state is ignored: that is what makes the first of two setups win.
 */
const launcherMachine = setup({ types: { events: {} as { type: LauncherCommand } } }).createMachine(
  {
    id: "launcher",
    initial: "unconfigured",
    states: {
      unconfigured: { on: { "accept-credentials": "running", "begin-setup": "setup" } },
      setup: { on: { "finish-setup": "running" } },
      running: { on: { "begin-rotation": "rotating" } },
      rotating: { on: { "finish-rotation": "running", "abandon-rotation": "running" } },
    },
  },
);

export interface Lifecycle {
  state(): LauncherState;
  /** `false`: ignored in the present state. */
  send(command: LauncherCommand): boolean;
  /** Until `stop`. */
  onChange(changed: (from: LauncherState, to: LauncherState) => void): void;
  stop(): void;
}

export function createLifecycle(clock: Clock): Lifecycle {
  const actor = createActor(launcherMachine, { clock: clock as never });
  actor.start();
  const state = (): LauncherState => actor.getSnapshot().value;
  return {
    state,
    send(command) {
      const snapshot = actor.getSnapshot();
      if (snapshot.status !== "active" || !snapshot.can({ type: command })) return false;
      actor.send({ type: command });
      return true;
    },
    onChange(changed) {
      let from = state();
      actor.subscribe(({ value }: Snapshot<unknown> & { value: LauncherState }) => {
        const before = from;
        from = value;
        if (from !== before) changed(before, from);
      });
    },
    stop: () => void actor.stop(),
  };
}
