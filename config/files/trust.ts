import { realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { fileErrors, unreadable } from "./errors.ts";

const octal = (mode: number): string => (mode & 0o7777).toString(8).padStart(4, "0");

/** Refuses files and folders that decide which code runs as this user and that another user could change. */
export async function requireTrusted(paths: Iterable<string>): Promise<void> {
  if (process.getuid === undefined) return; // Windows: its access rights are no modes
  for (const path of new Set(paths)) await requireOne(path, process.getuid());
}

/** A file and its folder, before and behind links: whoever may write there may put another file in its place. */
export async function withFolder(path: string): Promise<string[]> {
  const real = await realpath(path).catch((error: unknown) => { throw unreadable(path, error); });
  return [real, dirname(real), dirname(path)];
}

async function requireOne(path: string, me: number): Promise<void> {
  const { mode, uid } = await stat(path).catch((error: unknown) => { throw unreadable(path, error); });
  const isForeign = uid !== me && uid !== 0;
  if (!isForeign && (mode & 0o022) === 0) return;
  const isShared = (mode & 0o1000) !== 0;
  const problem = isForeign ? `belongs to another user (uid ${uid})` : `can be changed by others (mode ${octal(mode)})`;
  const fix = isForeign ? `make it yours: chown ${me} ${path}`
    : isShared ? "use a folder that only you can write to"
      : `close it with: chmod go-w ${path}`;
  throw fileErrors.FILE_WRITABLE_BY_OTHERS(path, problem, fix, { details: { path } });
}
