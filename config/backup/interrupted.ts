// Recognises a restore that was killed between its last two steps.
import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** The folder in which a restore prepares a home. Only the holder of its lock has it. */
export const stagingOf = (home: string): string =>
  join(dirname(home), `.${basename(home)}.restoring`);

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/**
 * A start would create an empty home, which looks as if everything was lost.
 *
 * @returns A sentence if there is no home, and a restore has not finished.
 */
export async function interruptedRestore(home: string): Promise<string | undefined> {
  if ((await isThere(home)) || !(await isThere(stagingOf(home)))) return undefined;
  return (
    "A restore of this home was interrupted. Run it again: doorward restore FILE. A former home " +
    `is next to ${home}, with ".before-restore" in its name. To start with an empty home ` +
    `instead, remove ${stagingOf(home)}.`
  );
}
