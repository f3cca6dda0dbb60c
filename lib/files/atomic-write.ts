// Replaces a file in one step, so that a crash leaves the old content or the new one.
import { randomBytes } from "node:crypto";
import { lstat, open, readdir, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { unwritableError } from "./errors.ts";
import { hostId, isAlive, resolveTarget } from "./lock.ts";

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
async function syncFolder(folder: string): Promise<void> {
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
