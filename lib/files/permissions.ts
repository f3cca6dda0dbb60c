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

export interface HomeState {
  /** The folder did not exist, or was empty. */
  readonly fresh: boolean;
  readonly writable: boolean;
  /** Sentences for the log. */
  readonly warnings: readonly string[];
}

/** Makes the home (0700, with a `.gitignore` for the secret files) when there is none. An existing one is left as it
 *  is; one that other users may enter is reported. Rejects `store_unavailable` when it cannot be made or read. */
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
      if (errnoOf(error) !== "EEXIST") throw error; // another process made the home at the same time
    },
  );
}

async function findOpenPermissions(home: string): Promise<string[]> {
  const { mode } = await stat(home);
  if (!isPosix || (mode & 0o077) === 0) return [];
  return [
    `Other users of this machine may enter ${home} (mode ${octal(mode)}); close it with: chmod 700 ${home}`,
  ];
}

/** `mkdir -p` with 0700. Not Node's own `recursive`: it never returns for a path below `/proc` (Node 20). */
export async function createPrivateFolder(path: string): Promise<void> {
  const folder = resolve(path);
  const parent = dirname(folder);
  const problem = await createFolder(folder);
  if (problem === undefined) return;
  if (errnoOf(problem) !== "ENOENT" || parent === folder) throw problem;
  if (!(await isFolder(parent))) await createPrivateFolder(parent);
  // A parent that is there was made meanwhile, maybe by somebody else; or it is one in which nothing can be made.
  const still = await createFolder(folder);
  if (still !== undefined) throw still;
}

/** Answers why there is no such folder now. */
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

/** Narrows a secret file of ours that other users may read. Answers a sentence for the log when it was too wide. */
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
