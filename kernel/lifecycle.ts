// The statechart of the kernel: the process that starts and stops plugins, and the launcher while
// the process is live. Starts run in list order, stops in reverse order, each within its time.
import { assign, createActor, fromPromise, setup, waitFor, type InspectionEvent } from "xstate";
import { Deadline } from "./deadline.ts";
import { kernelErrors } from "./errors.ts";
import type { Clock, LauncherCommand, LauncherState, ProcessState } from "./plugin.ts";
import type { PluginRun } from "./plugin-run.ts";

/** Milliseconds to clean up after a start that failed. */
const failedStartTimeoutMs = 10_000;

interface MachineContext {
  readonly clock: Clock;
  readonly runs: readonly PluginRun[];
  /** When the stop under way ends. */
  readonly deadline: Deadline;
  /** Why the last start did not succeed. */
  readonly failure?: { readonly error: unknown; readonly isAborted: boolean } | undefined;
}
type MachineEvent =
  | { readonly type: "process.start"; readonly runs: readonly PluginRun[] }
  | { readonly type: "process.stop"; readonly timeoutMs: number }
  | { readonly type: LauncherCommand };

/**
 * No I/O and no timer: the driver does the work and reports with commands. A command that has no
 * meaning in the present state is ignored, so the first of two setups wins.
 */
const launcher = {
  initial: "unconfigured",
  states: {
    unconfigured: { on: { "accept-credentials": "running", "begin-setup": "setup" } },
    setup: { on: { "finish-setup": "running" } },
    running: { on: { "begin-rotation": "rotating" } },
    rotating: { on: { "finish-rotation": "running", "abandon-rotation": "running" } },
  },
} as const;
const commands = new Set(Object.values(launcher.states).flatMap(({ on }) => Object.keys(on)));

/**
 * The input of an invoked sequence of steps over all plugins. Leaving the state aborts its signal.
 */
interface SequenceInput extends MachineContext {
  readonly send: (event: MachineEvent) => void;
}
const sequence = (run: (input: SequenceInput, signal: AbortSignal) => Promise<void>) =>
  fromPromise<void, SequenceInput>(({ input, signal }) => run(input, signal));
type InvokeArgs = { context: MachineContext; self: { send: SequenceInput["send"] } };
const input = ({ context, self }: InvokeArgs): SequenceInput => ({
  ...context,
  send: (event) => self.send(event),
});
const errorOf = ({ event }: { event: { error: unknown } }): unknown => event.error;

export const kernelMachine = setup({
  types: {
    context: {} as MachineContext,
    input: {} as { readonly clock: Clock },
    events: {} as MachineEvent,
  },
  actors: { startPlugins: sequence(startPlugins), stopPlugins: sequence(stopPlugins) },
  guards: { hasFailed: ({ context: { failure } }) => failure?.isAborted === false },
  actions: {
    beginStart: assign(({ event }) =>
      event.type === "process.start" ? { runs: event.runs, failure: undefined } : {},
    ),
    recordAbort: assign(() => ({
      failure: { error: kernelErrors.KERNEL_START_ABORTED(), isAborted: true },
    })),
    recordFailure: assign((_, error: unknown) => ({ failure: { error, isAborted: false } })),
    beginStop: assign(({ event, context: { clock } }) => {
      const timeoutMs = event.type === "process.stop" ? event.timeoutMs : failedStartTimeoutMs;
      return { deadline: new Deadline(clock, timeoutMs) };
    }),
    shortenStop({ event, context: { deadline } }) {
      if (event.type === "process.stop") deadline.shorten(event.timeoutMs);
    },
  },
}).createMachine({
  id: "kernel",
  initial: "stopped",
  context: ({ input: { clock } }) => ({ clock, runs: [], deadline: new Deadline(clock, Infinity) }),
  states: {
    stopped: { on: { "process.start": { target: "live", actions: "beginStart" } } },
    failed: { on: { "process.start": { target: "live", actions: "beginStart" } } },
    live: {
      type: "parallel",
      states: {
        launcher,
        process: {
          initial: "starting",
          states: {
            starting: {
              on: { "process.stop": { target: "stopping", actions: ["recordAbort", "beginStop"] } },
              invoke: {
                src: "startPlugins",
                input,
                onDone: "ready",
                onError: {
                  target: "stopping",
                  actions: [{ type: "recordFailure", params: errorOf }, "beginStop"],
                },
              },
            },
            ready: { on: { "process.stop": { target: "stopping", actions: "beginStop" } } },
            stopping: {
              on: { "process.stop": { actions: "shortenStop" } },
              invoke: {
                src: "stopPlugins",
                input,
                onDone: [{ guard: "hasFailed", target: "#kernel.failed" }, "#kernel.stopped"],
              },
            },
          },
        },
      },
    },
  },
});

export interface Status {
  readonly process: ProcessState;
  readonly launcher: LauncherState;
}
export const isOver = ({ process }: Status): boolean =>
  process === "stopped" || process === "failed";

/**
 * Runs the statechart of one kernel. `onTransition` also receives the time of the stop in
 * milliseconds.
 */
export function createLifecycle(
  clock: Clock,
  onTransition: (from: Status, to: Status, timeoutMs: number) => void,
  inspect?: (event: InspectionEvent) => void,
) {
  // XState declares timer ids as numbers; it only passes them back to the clock.
  const options = { clock: clock as never, input: { clock }, ...(inspect && { inspect }) };
  const actor = createActor(kernelMachine, options);
  const status = ({ value } = actor.getSnapshot()): Status =>
    typeof value === "string" ? { process: value, launcher: "unconfigured" } : value.live;
  let last = status();
  actor.subscribe((snapshot) => {
    const from = last;
    last = status(snapshot);
    onTransition(from, last, snapshot.context.deadline.timeoutMs);
  });
  actor.start();

  return {
    status: () => status(),
    /** The plugins of the present start, or of the last one. */
    runs: () => actor.getSnapshot().context.runs,
    state: () => status().launcher,
    /** @returns False if the command has no meaning in the present state; it is ignored then. */
    send(command: LauncherCommand): boolean {
      if (!commands.has(command) || !actor.getSnapshot().can({ type: command })) return false;
      actor.send({ type: command });
      return true;
    },
    /** Rejects with the reason after everything that had started has been cleaned up. */
    async start(runs: readonly PluginRun[]): Promise<void> {
      actor.send({ type: "process.start", runs });
      const { context } = await waitFor(actor, (snapshot) => {
        const now = status(snapshot);
        return now.process === "ready" || isOver(now);
      });
      if (context.failure) throw context.failure.error;
    },
    /** Begins a stop, or brings the end of the present one forward. */
    requestStop: (timeoutMs: number) => actor.send({ type: "process.stop", timeoutMs }),
    untilStopped: () => waitFor(actor, (snapshot) => isOver(status(snapshot))),
  };
}
export type Lifecycle = ReturnType<typeof createLifecycle>;

const warningMs = 10_000;
/** For the start of an optional plugin, for its ready steps, and for its cleanup. */
const optionalTimeoutMs = 10_000;

/**
 * Runs all starts, then all ready steps. Rejects with the error of the first plugin that fails,
 * unless it is optional. An abort of `signal` means that a stop has begun: nothing more is started,
 * and the stop cleans up.
 */
async function startPlugins(
  { runs, send }: Pick<SequenceInput, "runs" | "send">,
  signal: AbortSignal,
): Promise<void> {
  for (const run of runs) await attempt(run, () => run.start(), signal);
  // A plugin that drives the launcher does this itself.
  if (!signal.aborted && !runs.some(({ plugin }) => plugin.drives))
    send({ type: "accept-credentials" });
  const started = runs.filter(({ phase }) => phase === "started");
  for (const run of started) await attempt(run, () => run.runReadySteps(), signal);
}

/** If an optional plugin fails, only that plugin is cleaned up. */
async function attempt(
  run: PluginRun,
  work: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  await Promise.resolve(); // No code of a plugin runs inside a transition.
  if (signal.aborted) return;
  const { clock, log, reportFault, startTimeoutMs } = run.context;
  const { name, optional = false } = run.plugin;
  const timeoutMs = optional ? optionalTimeoutMs : startTimeoutMs;
  let deadline = new Deadline(clock, timeoutMs);
  const warn = (): void => log.warn({ plugin: name }, `"${name}" has been starting for 10 s`);
  const warning = timeoutMs > warningMs && clock.setTimeout(warn, warningMs);
  const cancel = (): void => {
    deadline.cancel();
    if (warning !== false) clock.clearTimeout(warning);
  };
  signal.addEventListener("abort", cancel);
  const slow = deadline.nextShare(1).expired.then(() => {
    throw kernelErrors.KERNEL_START_SLOW(name, timeoutMs / 1_000);
  });
  try {
    await Promise.race([work(), slow]);
  } catch (error) {
    if (signal.aborted) return;
    run.fail(error);
    if (!optional) throw error;
    reportFault(name, "start", error);
    cancel();
    deadline = new Deadline(clock, optionalTimeoutMs);
    await stopPlugins({ runs: [run], deadline });
  } finally {
    cancel();
    signal.removeEventListener("abort", cancel);
  }
}

/** Turns of the promise queue after the deadline: a step that ends without waiting is not late. */
const graceTurns = 8;

/**
 * Cleans up every plugin: first all stop accepting, then all undo their starts; the last one
 * started is the first. Every step is begun, also after the deadline. Resolves at the deadline at
 * the latest and never rejects; a plugin that is still busy then is named in the log.
 */
async function stopPlugins({
  runs,
  deadline,
}: Pick<SequenceInput, "runs" | "deadline">): Promise<void> {
  await Promise.resolve(); // No code of a plugin runs inside a transition.
  const newestFirst = [...runs].reverse();
  const parts = (["ready", "start"] as const).flatMap((part) =>
    newestFirst.map((run) => ({ run, part })),
  );
  for (const [done, { run, part }] of parts.entries())
    await run.cleanUp(part, deadline.nextShare(parts.length - done));
  const settled = Promise.all(runs.map((run) => run.settled()));
  await Promise.race([settled, deadline.nextShare(1).expired]);
  deadline.cancel();
  for (let turn = 0; turn < graceTurns; turn += 1) await Promise.resolve();
  for (const run of runs) run.leave();
}
