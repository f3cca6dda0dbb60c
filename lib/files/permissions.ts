import { constants } from "node:fs";
import { access, chmod, mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { errno, unavailable } from "./errors.ts";

const ignored = [".security.yml", "cache/", "launcher-config.json", "logs/", "run/", "state/"];
const posix = process.platform !== "win32";
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
    await makeFolder(home);
    const writable = await access(home, constants.W_OK).then(
      () => true,
      () => false,
    );
    const fresh = (await readdir(home)).length === 0;
    if (fresh && writable) await ignoreSecrets(home);
    return { fresh, writable, warnings: await tooWide(home) };
  } catch (error) {
    throw unavailable(home, error);
  }
}

async function ignoreSecrets(home: string): Promise<void> {
  const lines = `${ignored.join("\n")}\n`;
  await writeFile(join(home, ".gitignore"), lines, { flag: "wx", mode: 0o600 }).catch(
    (error: unknown) => {
      if (errno(error) !== "EEXIST") throw error; // another process made the home at the same time
    },
  );
}

async function tooWide(home: string): Promise<string[]> {
  const { mode } = await stat(home);
  if (!posix || (mode & 0o077) === 0) return [];
  return [
    `Other users of this machine may enter ${home} (mode ${octal(mode)}); close it with: chmod 700 ${home}`,
  ];
}

/** `mkdir -p` with 0700. Not Node's own `recursive`: it never returns for a path below `/proc` (Node 20). */
export async function makeFolder(path: string): Promise<void> {
  const folder = resolve(path);
  const parent = dirname(folder);
  const problem = await makeOne(folder);
  if (problem === undefined) return;
  if (errno(problem) !== "ENOENT" || parent === folder) throw problem;
  if (!(await isFolder(parent))) await makeFolder(parent);
  // A parent that is there was made meanwhile, maybe by somebody else; or it is one in which nothing can be made.
  const still = await makeOne(folder);
  if (still !== undefined) throw still;
}

/** Answers why there is no such folder now. */
async function makeOne(folder: string): Promise<unknown> {
  try {
    await mkdir(folder, { mode: 0o700 });
    return undefined;
  } catch (error) {
    if (errno(error) === "EEXIST" || (await isFolder(folder))) return requireFolder(folder);
    return error;
  }
}

const isFolder = (path: string) =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );

async function requireFolder(path: string): Promise<void> {
  if (!(await isFolder(path))) throw Object.assign(new Error("not a folder"), { code: "ENOTDIR" });
}

/** Narrows a secret file of ours that other users may read. Answers a sentence for the log when it was too wide. */
export async function narrowSecret(path: string): Promise<string | undefined> {
  const found = posix ? await stat(path).catch(() => undefined) : undefined;
  if (!found || (found.mode & 0o077) === 0) return undefined;
  const wide = `Other users of this machine could read ${path} (mode ${octal(found.mode)})`;
  const narrow = found.mode & 0o600;
  return chmod(path, narrow).then(
    () => `${wide}; it is now ${octal(narrow)}.`,
    (error: unknown) =>
      `${wide} and it could not be narrowed (${errno(error)}); close it with: chmod 600 ${path}`,
  );
}
