import type { Awaitable } from "../../kernel/index.ts";
import { codeOf } from "../../kernel/index.ts";
import { targetOf, writeFileAtomic } from "./atomic.ts";
import { fileErrors, unavailable } from "./errors.ts";
import { lockFile, type FileLock } from "./lock.ts";
import { readText } from "./text.ts";

export interface UpdateOptions {
  /** Default: the mode the file has, 0600 for a new one. */
  readonly mode?: number;
  /** Milliseconds to wait for another process that is writing; default 15,000. */
  readonly waitMs?: number;
}

/** The last edit of each file in this process; edits of one file run in the order they were asked for. */
const queues = new Map<string, Promise<unknown>>();

/** Reads, edits and atomically writes a file while no other edit, of this or another process, does.
 *  `edit` gets the text (`undefined`: no file) and answers the new one (`undefined` or the same: nothing is written).
 *  Resolves to whether it wrote. Rejects `store_unavailable` when it cannot write, `FILE_UNREADABLE`, `FILE_CORRUPT`
 *  (not UTF-8), and with whatever `edit` throws; the file is then as before. */
export async function updateFile(
  path: string,
  edit: (text: string | undefined) => Awaitable<string | undefined>,
  options: UpdateOptions = {},
): Promise<boolean> {
  const target = await targetOf(path).catch((error: unknown) => {
    throw unavailable(path, error);
  });
  const before = queues.get(target) ?? Promise.resolve();
  const mine = before.then(() => underLock(path, edit, options));
  const settled = mine.catch(() => {});
  queues.set(target, settled);
  try {
    return await mine;
  } finally {
    if (queues.get(target) === settled) queues.delete(target);
  }
}

async function underLock(
  path: string,
  edit: (text: string | undefined) => Awaitable<string | undefined>,
  { mode, waitMs }: UpdateOptions,
): Promise<boolean> {
  const lock = await lockFile(path, waitMs === undefined ? {} : { waitMs }).catch((error: unknown) => {
    throw codeOf(error) === "FILE_LOCKED" ? busy(path, error) : unavailable(path, error);
  });
  try {
    const text = await readText(path);
    const next = await edit(text);
    if (next === undefined || next === text) return false;
    await stillOurs(path, lock);
    await writeFileAtomic(path, next, mode === undefined ? {} : { mode });
    return true;
  } finally {
    await lock.release();
  }
}

const busy = (path: string, cause: unknown) =>
  fileErrors.store_unavailable(path, "another process keeps it locked", { details: { path }, cause });

async function stillOurs(path: string, lock: FileLock): Promise<void> {
  if (!(await lock.held())) {
    const reason = "this process was stopped while it wrote; try again";
    throw fileErrors.store_unavailable(path, reason, { details: { path } });
  }
}
