// Writes files: replaces them in one step, so that a crash leaves the old content or the new one,
// and reads, edits and writes them under a lock.
import { randomBytes } from "node:crypto";
import { lstat, open, readdir, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { codeOf, type Awaitable } from "../../kernel/index.ts";
import { defined } from "../util.ts";
import { fileErrors, unwritableError } from "./errors.ts";
import { hostId, isAlive, lockFile, resolveTarget, type FileLock } from "./lock.ts";
import { readText } from "./text.ts";

type Content = string | Uint8Array;

/**
 * Replaces the content of a file. A reader, and a crash, sees the old content or the new one. The
 * content is on the disk when the promise resolves. Symbolic links are followed.
 *
 * @param options.mode - Permission bits. @defaultValue The mode of the existing file; 0600 for a
 * new one.
 * @throws store_unavailable if the file cannot be written.
 */
export async function writeFileAtomic(
  path: string,
  text: Content,
  { mode }: { mode?: number } = {},
): Promise<void> {
  try {
    const target = await resolveTarget(path);
    await removeLeftovers(target);
    await replaceFile(target, text, mode);
    await syncFolder(dirname(target));
  } catch (error) {
    throw unwritableError(path, error);
  }
}

const writesInProgress = new Set<string>();
const temporaryPrefix = (target: string) => `.${basename(target)}.tmp-`;

async function replaceFile(target: string, text: Content, mode: number | undefined): Promise<void> {
  const old = await stat(target).catch(() => undefined);
  if (old?.isDirectory()) throw Object.assign(new Error("a folder"), { code: "EISDIR" });
  const suffix = `${hostId}-${process.pid}-${randomBytes(4).toString("hex")}`;
  const name = temporaryPrefix(target) + suffix;
  const temporary = join(dirname(target), name);
  writesInProgress.add(name);
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(text);
      if (old && old.uid !== process.geteuid?.())
        await file.chown(old.uid, old.gid).catch(() => {});
      await file.chmod(mode ?? (old ? old.mode & 0o777 : 0o600));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, target);
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw error;
  } finally {
    writesInProgress.delete(name);
  }
}

/**
 * Writes the directory entry to the disk. Without it, a power failure can bring the old file back
 * after the write was reported as done.
 */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r").catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}

/** Removes temporary files of killed writers, because they may hold a secret. */
async function removeLeftovers(target: string): Promise<void> {
  const prefix = temporaryPrefix(target);
  for (const name of await readdir(dirname(target)).catch(() => [])) {
    if (!name.startsWith(prefix) || writesInProgress.has(name)) continue;
    const path = join(dirname(target), name);
    if (await isLeftover(name.slice(prefix.length), path)) await unlink(path).catch(() => {});
  }
}

async function isLeftover(owner: string, path: string): Promise<boolean> {
  const [machine, pid] = owner.split("-");
  // A file with the pid of this process that is not in progress was left by an earlier process with
  // the same pid. Containers reuse pid 1.
  if (machine === hostId && (Number(pid) === process.pid || !isAlive(Number(pid)))) return true;
  const found = await lstat(path).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs > 3_600_000;
}

interface UpdateOptions {
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
