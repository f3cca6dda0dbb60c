import { randomBytes } from "node:crypto";
import { lstat, open, readdir, readlink, realpath, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { errnoOf, unwritableError } from "./errors.ts";
import { hostId, isAlive } from "./process.ts";

/** Where the bytes of `path` are or would be: symbolic links followed, also one whose target is missing. */
export async function resolveTarget(path: string): Promise<string> {
  let at = resolve(path);
  for (let links = 0; links < 40; links++) {
    const real = await realpath(at).catch((error: unknown) => {
      if (errnoOf(error) !== "ENOENT") throw error;
    });
    if (real !== undefined) return real;
    const link = await readlink(at).catch(() => undefined);
    if (link === undefined) return join(await realpath(dirname(at)), basename(at));
    at = resolve(dirname(at), link);
  }
  throw Object.assign(new Error("too many symbolic links"), { code: "ELOOP" });
}

type Content = string | Uint8Array;

/** Old content or new content, never half, and on the disk when it resolves. Follows symbolic links. An existing file
 *  keeps its mode and owner unless `mode` is given; a new one is 0600. Rejects `store_unavailable`. */
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
  const name = `${temporaryPrefix(target)}${hostId}-${process.pid}-${randomBytes(4).toString("hex")}`;
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

/** Without this a crash of the machine can bring the old file back after the new one was reported as written. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r").catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}

/** A killed writer leaves its temporary file, which may hold a secret. */
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
  // Our own pid and not in use: left by an earlier process of that number, as pid 1 of a container is.
  if (machine === hostId && (Number(pid) === process.pid || !isAlive(Number(pid)))) return true;
  const found = await lstat(path).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs > 3_600_000;
}
