import { resolve } from "node:path";
import type { Awaitable } from "../../kernel/index.ts";
import { codeOf } from "../../kernel/index.ts";
import { writeFileAtomic } from "./atomic-write.ts";
import { fileErrors, unwritableError } from "./errors.ts";
import { lockFile, type FileLock } from "./lock.ts";
import { readText } from "./text.ts";

export interface UpdateOptions {
  /** Default: the mode the file has, 0600 for a new one. */
  readonly mode?: number;
  /** Milliseconds to wait for another process that is writing; default 15,000. */
  readonly waitMs?: number;
}

/** The last edit of each path in this process; edits of one path run in the order they were asked for. By its name and
 *  not by what a link leads to, as that is known only later; two names of one file share its lock. */
const updateQueues = new Map<string, Promise<unknown>>();

/** Reads, edits and atomically writes a file while no other edit, of this or another process, does.
 *  `edit` gets the text (`undefined`: no file) and answers the new one (`undefined` or the same: nothing is written).
 *  Resolves to whether it wrote. Rejects `store_unavailable` when it cannot write, `FILE_UNREADABLE`, `FILE_CORRUPT`
 *  (not UTF-8), and with whatever `edit` throws; the file is then as before. */
export function updateFile(
  path: string,
  edit: (text: string | undefined) => Awaitable<string | undefined>,
  options: UpdateOptions = {},
): Promise<boolean> {
  const name = resolve(path);
  const before = updateQueues.get(name) ?? Promise.resolve();
  const mine = before.then(() => updateUnderLock(path, edit, options));
  const settled = mine
    .catch(() => {})
    .then(() => {
      if (updateQueues.get(name) === settled) updateQueues.delete(name);
    });
  updateQueues.set(name, settled);
  return mine;
}

async function updateUnderLock(
  path: string,
  edit: (text: string | undefined) => Awaitable<string | undefined>,
  { mode, waitMs }: UpdateOptions,
): Promise<boolean> {
  const lock = await lockFile(path, waitMs === undefined ? {} : { waitMs }).catch(
    (error: unknown) => {
      throw (refusals[codeOf(error)] ?? unwritableError)(path, error);
    },
  );
  try {
    const text = await readText(path);
    const next = await edit(text);
    if (next === undefined || next === text) return false;
    await assertLockHeld(path, lock);
    await writeFileAtomic(path, next, mode === undefined ? {} : { mode });
    return true;
  } finally {
    await lock.release();
  }
}

const notLocked = (path: string, reason: string, cause: unknown) =>
  fileErrors.store_unavailable(path, reason, { details: { path }, cause });

const refusals: Readonly<Record<string, typeof unwritableError>> = {
  FILE_LOCKED: (path, cause) => notLocked(path, "another process keeps it locked", cause),
  FILE_LOCK_BLOCKED: (path, cause) =>
    notLocked(path, (cause as Error).message.replace(/\.$/, ""), cause),
};

async function assertLockHeld(path: string, lock: FileLock): Promise<void> {
  if (!(await lock.held())) {
    const reason = "this process was stopped while it wrote; try again";
    throw fileErrors.store_unavailable(path, reason, { details: { path } });
  }
}
