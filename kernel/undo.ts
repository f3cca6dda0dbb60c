import type { Clock } from "./plugin.ts";
import type { Stage, Undo } from "./scope.ts";

export type Deadline = ReturnType<typeof createDeadline>;
export function createDeadline(clock: Clock, ms: number) {
  let id: unknown;
  const passed = new Promise<void>((resolve) => {
    id = clock.setTimeout(resolve, ms);
  });
  return { passed, cancel: () => clock.clearTimeout(id) };
}

/** Runs every undo step, last in first out, each awaited and guarded. Once the deadline has passed the rest is still
 *  begun, but no longer waited for; who did not finish is named in the log. `only`: those of one plugin. */
export async function undoSteps(
  { undo, log, late, fault }: Stage,
  limit: Deadline,
  only?: string,
): Promise<void> {
  const newest = (): Undo | undefined =>
    [...undo].filter(({ plugin }) => (only ?? plugin) === plugin).at(-1);
  const attempt = async (entry: Undo): Promise<void> => {
    try {
      await entry.step();
    } catch (error) {
      fault(entry.plugin, "stop", error);
    }
    undo.delete(entry);
  };
  for (let last = newest(); last; last = newest()) {
    const { plugin } = last;
    await Promise.race([attempt(last), limit.passed, late]);
    if (undo.delete(last))
      log.error({ plugin }, `"${plugin}" did not stop in time and is left as it is`);
  }
  limit.cancel();
}
