// Creates private folders and checks that no other user can change trusted files.
import { constants } from "node:fs";
import {
  access,
  chmod,
  mkdir,
  readdir,
  readlink,
  realpath,
  stat,
  writeFile,
} from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { errnoOf, fileErrors, unreadableError, unwritableError } from "./errors.ts";

const gitignoreEntries = [
  ".security.yml",
  "cache/",
  "launcher-config.json",
  "logs/",
  "run/",
  "state/",
];
const isPosix = process.platform !== "win32";
const octal = (mode: number) => (mode & 0o777).toString(8).padStart(4, "0");

interface HomeState {
  /** The folder did not exist, or was empty. */
  readonly fresh: boolean;
  readonly writable: boolean;
  /** Sentences for the log. */
  readonly warnings: readonly string[];
}

/**
 * Creates the home directory (0700, with a `.gitignore` for the secret files) if it does not exist.
 * An existing one is not changed; if other users may enter it, the result has a warning.
 *
 * @throws store_unavailable if it cannot be created or read.
 */
export async function ensureHome(home: string): Promise<HomeState> {
  try {
    await createPrivateFolder(home);
    const writable = await access(home, constants.W_OK).then(
      () => true,
      () => false,
    );
    const fresh = (await readdir(home)).length === 0;
    if (fresh && writable) await ignoreSecrets(home);
    return { fresh, writable, warnings: await findOpenPermissions(home) };
  } catch (error) {
    throw unwritableError(home, error);
  }
}

async function ignoreSecrets(home: string): Promise<void> {
  const lines = `${gitignoreEntries.join("\n")}\n`;
  await writeFile(join(home, ".gitignore"), lines, { flag: "wx", mode: 0o600 }).catch(
    (error: unknown) => {
      if (errnoOf(error) !== "EEXIST") throw error; // Another process was faster.
    },
  );
}

async function findOpenPermissions(home: string): Promise<string[]> {
  const { mode } = await stat(home);
  if (!isPosix || (mode & 0o077) === 0) return [];
  const problem = `Other users of this machine may enter ${home} (mode ${octal(mode)})`;
  return [`${problem}; close it with: chmod 700 ${home}`];
}

/**
 * Creates a folder and its parents with mode 0700. Does not use Node's `recursive` option, which
 * never returns for a path below `/proc` (Node 20).
 */
export async function createPrivateFolder(path: string): Promise<void> {
  const folder = resolve(path);
  const parent = dirname(folder);
  const problem = await createFolder(folder);
  if (problem === undefined) return;
  if (errnoOf(problem) !== "ENOENT" || parent === folder) throw problem;
  if (!(await isFolder(parent))) await createPrivateFolder(parent);
  // Another process may have created the parent in the meantime, or no folder can be created in it.
  const secondProblem = await createFolder(folder);
  if (secondProblem !== undefined) throw secondProblem;
}

/** @returns The reason why the folder does not exist, or undefined if it does. */
async function createFolder(folder: string): Promise<unknown> {
  try {
    await mkdir(folder, { mode: 0o700 });
    return undefined;
  } catch (error) {
    if (errnoOf(error) === "EEXIST" || (await isFolder(folder))) return assertFolder(folder);
    return error;
  }
}

const isFolder = (path: string) =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );

async function assertFolder(path: string): Promise<void> {
  if (!(await isFolder(path))) throw Object.assign(new Error("not a folder"), { code: "ENOTDIR" });
}

/**
 * Removes the access of other users to a secret file.
 *
 * @returns A sentence for the log if others could read the file, otherwise undefined.
 */
export async function restrictSecretFile(path: string): Promise<string | undefined> {
  const found = isPosix ? await stat(path).catch(() => undefined) : undefined;
  if (!found || (found.mode & 0o077) === 0) return undefined;
  const wide = `Other users of this machine could read ${path} (mode ${octal(found.mode)})`;
  const narrow = found.mode & 0o600;
  return chmod(path, narrow).then(
    () => `${wide}; it is now ${octal(narrow)}.`,
    (error: unknown) =>
      `${wide} and it could not be narrowed (${errnoOf(error)}); close it with: chmod 600 ${path}`,
  );
}

const octalWithSticky = (mode: number): string => (mode & 0o7777).toString(8).padStart(4, "0");

/**
 * Checks that no other user can change these files and folders, or replace them through a parent
 * folder. They decide which code runs as this user.
 *
 * @throws FILE_WRITABLE_BY_OTHERS with the path and the command that fixes it.
 */
export async function assertTrusted(paths: Iterable<string>): Promise<void> {
  if (process.getuid === undefined) return; // Windows access rights are not mode bits.
  const me = process.getuid();
  const trusted = new Set(paths);
  for (const path of trusted) await assertTrustedPath(path, me);
  const ancestors = new Set<string>();
  for (const path of trusted) await collectAncestors(path, ancestors);
  const above = new Set([...ancestors].map(dirname));
  for (const path of above) if (!trusted.has(path)) await assertTrustedPath(path, me, true);
}

/** Adds the path, all folders above it, and the same for the targets of symbolic links. */
async function collectAncestors(path: string, found: Set<string>): Promise<void> {
  for (let current = resolve(path); !found.has(current); current = dirname(current)) {
    found.add(current);
    const target = await readlink(current).catch(() => undefined);
    if (target !== undefined) await collectAncestors(resolve(dirname(current), target), found);
  }
}

/**
 * A file and its folder, before and after links are resolved. A user who can write to such a folder
 * can replace the file.
 */
export async function withParentFolders(path: string): Promise<string[]> {
  const real = await realpath(path).catch((error: unknown) => {
    throw unreadableError(path, error);
  });
  return [real, dirname(real), dirname(path)];
}

/**
 * @param isAbove - The path is a parent folder. In a shared (sticky) one, other users cannot move
 * the files of this user.
 */
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
