// Reads, edits and writes a file under a lock.
import { resolve } from "node:path";
import type { Awaitable } from "../../kernel/index.ts";
import { codeOf } from "../../kernel/index.ts";
import { writeFileAtomic } from "./atomic-write.ts";
import { fileErrors, unwritableError } from "./errors.ts";
import { lockFile, type FileLock } from "./lock.ts";
import { defined } from "../util.ts";
import { readText } from "./text.ts";

export interface UpdateOptions {
  /** Permission bits. @defaultValue The mode of the existing file; 0600 for a new one. */
  readonly mode?: number;
  /** Milliseconds to wait for another process that is writing. @defaultValue 15,000 */
  readonly waitMs?: number;
}

/**
 * The last edit of each path in this process. Edits of one path run in the order of the calls. The
 * key is the resolved name, because the target of a link is only known later; two names of one file
 * share its lock.
 */
const updateQueues = new Map<string, Promise<unknown>>();

/**
 * Reads, edits and atomically writes a file, with no other edit by this or another process at the
 * same time.
 *
 * @param edit - Receives the text (undefined if there is no file) and returns the new text. If it
 * returns undefined or the same text, nothing is written.
 * @returns Whether it wrote the file.
 * @throws store_unavailable if the file cannot be written or is locked.
 * @throws FILE_UNREADABLE if the file cannot be read.
 * @throws FILE_CORRUPT if the file is not UTF-8. Errors of `edit` are thrown unchanged. After any
 * error the file is as before.
 */
export function updateFile(
  path: string,
  edit: (text: string | undefined) => Awaitable<string | undefined>,
  options: UpdateOptions = {},
): Promise<boolean> {
  const name = resolve(path);
  const previous = updateQueues.get(name) ?? Promise.resolve();
  const update = previous.then(() => updateUnderLock(path, edit, options));
  const settled = update
    .catch(() => {})
    .then(() => {
      if (updateQueues.get(name) === settled) updateQueues.delete(name);
    });
  updateQueues.set(name, settled);
  return update;
}

async function updateUnderLock(
  path: string,
  edit: (text: string | undefined) => Awaitable<string | undefined>,
  { mode, waitMs }: UpdateOptions,
): Promise<boolean> {
  const lock = await lockFile(path, defined({ waitMs })).catch((error: unknown) => {
    throw (lockErrors[codeOf(error)] ?? unwritableError)(path, error);
  });
  try {
    const text = await readText(path);
    const next = await edit(text);
    if (next === undefined || next === text) return false;
    await assertLockHeld(path, lock);
    await writeFileAtomic(path, next, defined({ mode }));
    return true;
  } finally {
    await lock.release();
  }
}

const notLocked = (path: string, reason: string, cause: unknown) =>
  fileErrors.store_unavailable(path, reason, { details: { path }, cause });

const lockErrors: Readonly<Record<string, typeof unwritableError>> = {
  FILE_LOCKED: (path, cause) => notLocked(path, "another process keeps it locked", cause),
  FILE_LOCK_BLOCKED: (path, cause) =>
    notLocked(path, (cause as Error).message.replace(/\.$/, ""), cause),
};

async function assertLockHeld(path: string, lock: FileLock): Promise<void> {
  if (!(await lock.held())) {
    const reason = "this process was suspended while it wrote; try again";
    throw fileErrors.store_unavailable(path, reason, { details: { path } });
  }
}
