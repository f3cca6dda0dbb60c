import { readlink, realpath, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { fileErrors, unreadableError } from "./errors.ts";

const octalWithSticky = (mode: number): string => (mode & 0o7777).toString(8).padStart(4, "0");

/** Refuses files and folders that decide which code runs as this user and that another user could change, or could
 *  move away by a folder on the way to them. */
export async function assertTrusted(paths: Iterable<string>): Promise<void> {
  if (process.getuid === undefined) return; // Windows: its access rights are no modes
  const me = process.getuid();
  const own = new Set(paths);
  for (const path of own) await assertTrustedPath(path, me);
  const way = new Set<string>();
  for (const path of own) await collectAncestors(path, way);
  const above = new Set([...way].map(dirname));
  for (const path of above) if (!own.has(path)) await assertTrustedPath(path, me, true);
}

/** The path, all folders above it, and the same of what links on the way lead to. */
async function collectAncestors(path: string, found: Set<string>): Promise<void> {
  for (let at = resolve(path); !found.has(at); at = dirname(at)) {
    found.add(at);
    const target = await readlink(at).catch(() => undefined);
    if (target !== undefined) await collectAncestors(resolve(dirname(at), target), found);
  }
}

/** A file and its folder, before and behind links: whoever may write there may put another file in its place. */
export async function withParentFolders(path: string): Promise<string[]> {
  const real = await realpath(path).catch((error: unknown) => {
    throw unreadableError(path, error);
  });
  return [real, dirname(real), dirname(path)];
}

/** `isAbove`: in a shared folder (sticky) nobody else can move what is ours. */
async function assertTrustedPath(path: string, me: number, isAbove = false): Promise<void> {
  const { mode, uid } = await stat(path).catch((error: unknown) => {
    throw unreadableError(path, error);
  });
  const isForeign = uid !== me && uid !== 0;
  const isShared = (mode & 0o1000) !== 0;
  if (!isForeign && ((mode & 0o022) === 0 || (isAbove && isShared))) return;
  const problem = isForeign
    ? `belongs to another user (uid ${uid})`
    : `can be changed by others (mode ${octalWithSticky(mode)})`;
  const fix = isForeign
    ? `make it yours: chown ${me} ${path}`
    : isShared
      ? "use a folder that only you can write to"
      : `close it with: chmod go-w ${path}`;
  throw fileErrors.FILE_WRITABLE_BY_OTHERS(path, problem, fix, { details: { path } });
}
