// Recognises a restore that was killed between its last two steps.
import { basename, dirname, join, resolve } from "node:path";
import { exists, realPath } from "./paths.ts";

/** The folder in which a restore prepares a home. Only the holder of its lock has it. */
export const stagingOf = (home: string): string =>
  join(dirname(home), `.${basename(home)}.restoring`);

/**
 * A start would create an empty home, which looks as if everything was lost.
 *
 * @returns A sentence if there is no home, and a restore has not finished.
 */
export async function interruptedRestore(home: string): Promise<string | undefined> {
  if (await exists(home).catch(() => true)) return undefined; // else, the start says why
  const real = await realPath(resolve(home));
  if (!(await exists(stagingOf(real)))) return undefined;
  return (
    "A restore of this home was interrupted. Run it again: doorward restore FILE. A former home " +
    `is next to ${real}, with ".before-restore" in its name. To start with an empty home ` +
    `instead, remove ${stagingOf(real)}.`
  );
}
