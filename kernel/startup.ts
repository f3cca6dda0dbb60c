// Starts plugins in list order, each within its time limit.
import { Deadline } from "./deadline.ts";
import { kernelErrors } from "./errors.ts";
import type { SequenceInput } from "./lifecycle.ts";
import type { PluginRun } from "./plugin-run.ts";
import { stopPlugins } from "./shutdown.ts";

const warningMs = 10_000;
/** For the start of an optional plugin, for its ready steps, and for its cleanup. */
const optionalTimeoutMs = 10_000;

/**
 * Runs all starts, then all ready steps. Rejects with the error of the first plugin that fails,
 * unless it is optional. An abort of `signal` means that a stop has begun: nothing more is started,
 * and the stop cleans up.
 */
export async function startPlugins(
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
