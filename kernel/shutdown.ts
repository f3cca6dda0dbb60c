// Stops plugins in reverse order within a deadline.
import type { SequenceInput } from "./lifecycle.ts";

/** Turns of the promise queue after the deadline: a step that ends without waiting is not late. */
const graceTurns = 8;

/**
 * Cleans up every plugin: first all stop accepting, then all undo their starts; the last one
 * started is the first. Every step is begun, also after the deadline. Resolves at the deadline at
 * the latest and never rejects; a plugin that is still busy then is named in the log.
 */
export async function stopPlugins({
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
