// Restores a backup to a home.
import { createWriteStream } from "node:fs";
import { chmod, readdir, rename, rm, rmdir, utimes, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { codeOf } from "../../kernel/index.ts";
import {
  createPrivateFolder,
  describeErrno,
  describeUnreadable,
  ensureHome,
  lockFile,
  openRegularFile,
  syncFolder,
  type FileLock,
} from "../../lib/files/index.ts";
import { isObject } from "../../lib/util.ts";
import { inspectStore, type StoreContent } from "../../plugins/conversations/index.ts";
import { isSecretFile } from "./collect.ts";
import { scanBackup, type BackupHeader, type CheckedBackup, type HomeSink } from "./content.ts";
import { backupErrors, isSystemError } from "./errors.ts";
import { stagingOf } from "./interrupted.ts";
import { exists, realPath } from "./paths.ts";
import { otherNames } from "./places.ts";
import { decrypt } from "./secrets.ts";

interface RestoreOptions {
  readonly home: string;
  /** The backup. */
  readonly file: string;
  /** Move a home with files aside. */
  readonly replace: boolean;
  /** Asks for the passphrase of a backup with tokens; absent: tokens are left out. */
  readonly passphrase?: (() => Promise<string>) | undefined;
  /** True while a launcher of the home accepts commands. */
  isRunning(): Promise<boolean>;
  /** Unix milliseconds. */
  readonly now: number;
}

export interface RestoreResult {
  readonly home: string;
  readonly header: BackupHeader;
  readonly files: number;
  readonly tokens: boolean;
  /** The folder of the former home. */
  readonly aside?: string;
  /** Names in the former home that the backup does not have. */
  readonly left: readonly string[];
}

/** Names that do not make a home: a start has made them, or a service. */
const emptyNames = new Set([".gitignore", "cache", "logs", "run"]);

const isEmptyHome = async (home: string): Promise<boolean> => {
  const found = await readdir(home).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  return found.every((name) => emptyNames.has(name));
};

/**
 * Reads the whole backup, prepares the home next to its place, and then moves it there.
 *
 * @throws BACKUP_BROKEN, BACKUP_NEWER, BACKUP_OLD, PASSPHRASE_WRONG or RESTORE_BLOCKED; the home is
 *   as before.
 */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreResult> {
  const home = await realPath(resolve(options.home));
  const file = resolve(options.file);
  const blocked = (problem: string, cause?: unknown): Error =>
    backupErrors.RESTORE_BLOCKED(home, problem, { cause });
  const archive = await openRegularFile(file).catch((error: unknown) => {
    throw backupErrors.BACKUP_BROKEN(file, describeUnreadable(error), { cause: error });
  });
  try {
    const assertFree = async (): Promise<void> => {
      if (await options.isRunning())
        throw blocked("a launcher of it runs. Stop it, then run the command again");
      if (!options.replace && !(await isEmptyHome(home)))
        throw blocked("it has files. To move them aside and restore, add -replace");
    };
    await assertFree();
    const checked = await scanBackup(archive, file);
    const secrets = await openSecrets(checked, options, file);
    await createPrivateFolder(dirname(home));
    const lock = await lockFile(home, { waitMs: 0 });
    let lockOfStore: FileLock | undefined;
    try {
      const staging = stagingOf(home);
      await rm(staging, { recursive: true, force: true });
      await ensureHome(staging);
      const again = await scanBackup(archive, file, sinkTo(staging));
      if (!again.sums.equals(checked.sums)) throw backupErrors.BACKUP_BROKEN(file, changed);
      await writeSecrets(staging, secrets);
      checkStore(staging, file, checked);
      lockOfStore = await lockStore(home);
      await syncTree(staging);
      await assertFree();
      return { ...(await swap(home, staging, options.now)), ...resultOf(home, checked, secrets) };
    } finally {
      await rm(stagingOf(home), { recursive: true, force: true });
      await lockOfStore?.release();
      await lock.release();
    }
  } catch (error) {
    if (codeOf(error) === "FILE_LOCKED") throw blocked("another process uses it", error);
    if (!isSystemError(error)) throw error;
    const { path = home } = error;
    throw blocked(`${path}: ${describeErrno(error)}`, error);
  } finally {
    await archive.close();
  }
}

const changed = "it was changed while it was read";

const resultOf = (
  home: string,
  { header, files }: CheckedBackup,
  secrets: Secrets | undefined,
) => ({
  home,
  header,
  files,
  tokens: secrets !== undefined,
});

type Secrets = Readonly<Record<string, string>>;

/** Decrypts the files with tokens, if they are wanted. */
async function openSecrets(
  { secrets, sums }: CheckedBackup,
  { passphrase }: RestoreOptions,
  file: string,
): Promise<Secrets | undefined> {
  if (secrets === undefined || passphrase === undefined) return undefined;
  const plain = await decrypt(secrets, await passphrase(), sums);
  if (plain === undefined) throw backupErrors.PASSPHRASE_WRONG(file);
  const value: unknown = JSON.parse(plain.toString());
  const isKnown = ([name, text]: [string, unknown]): boolean =>
    isSecretFile(name) && typeof text === "string";
  if (!isObject(value) || !Object.entries(value).every(isKnown))
    throw backupErrors.BACKUP_BROKEN(file, "its tokens are not those of a home");
  return value as Secrets;
}

/** Writes files into a new folder. A file that exists is an error: the backup has it twice. */
const sinkTo =
  (folder: string): HomeSink =>
  async (name, content, { mode, mtime }) => {
    const path = join(folder, name);
    await createPrivateFolder(dirname(path));
    await pipeline(content, createWriteStream(path, { flags: "wx", mode: 0o600, flush: true }));
    await chmod(path, mode & 0o700);
    await utimes(path, mtime, mtime);
  };

async function writeSecrets(folder: string, secrets: Secrets = {}): Promise<void> {
  for (const [name, text] of Object.entries(secrets)) {
    await createPrivateFolder(dirname(join(folder, name)));
    await writeFile(join(folder, name), text, { mode: 0o600, flush: true });
  }
}

/** The error of the store names a file that the user does not know. */
function readStore(path: string, file: string): StoreContent {
  try {
    return inspectStore(path);
  } catch (error) {
    const code = codeOf(error);
    if (code === "STORE_NEWER")
      throw backupErrors.BACKUP_NEWER(file, "its conversations have a newer schema", {
        cause: error,
      });
    if (code === "STORE_OLD") throw backupErrors.BACKUP_OLD(file, { cause: error });
    if (code === "STORE_BROKEN")
      throw backupErrors.BACKUP_BROKEN(file, "its conversations are damaged", { cause: error });
    throw error;
  }
}

/** Opens the restored conversations. */
function checkStore(folder: string, file: string, { header }: CheckedBackup): void {
  const { kind, path = "", conversations, entries } = header.store;
  if (kind !== "sqlite") return;
  const found = readStore(join(folder, path), file);
  if (found.conversations !== conversations || found.entries !== entries)
    throw backupErrors.BACKUP_BROKEN(file, "its conversations are not complete");
}

/** A launcher without a control socket holds the lock of its conversations. */
async function lockStore(home: string): Promise<FileLock | undefined> {
  const path = join(home, "state", "conversations.db");
  return (await exists(path)) ? lockFile(path, { waitMs: 0 }) : undefined;
}

async function syncTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (entry.isDirectory()) await syncTree(join(folder, entry.name));
  await syncFolder(folder);
}

/** Moves the prepared home to its place, and a former one aside. */
async function swap(
  home: string,
  staging: string,
  now: number,
): Promise<Pick<RestoreResult, "aside" | "left">> {
  const parent = dirname(home);
  if (!(await exists(home))) {
    await rename(staging, home);
    await syncFolder(parent);
    return { left: [] };
  }
  const left = await otherNames(home);
  const stamp = new Date(now).toISOString().replace(/\.\d+|[-:]/g, "");
  const aside = await freeName(`${home}.before-restore-${stamp}`);
  const isEmpty = (await readdir(home)).length === 0;
  if (isEmpty) await rmdir(home);
  else await rename(home, aside);
  try {
    await rename(staging, home);
  } catch (error) {
    if (!isEmpty) await rename(aside, home);
    throw error;
  }
  if (!isEmpty) await keepBackups(aside, home);
  await syncFolder(parent);
  return isEmpty ? { left } : { aside, left };
}

/** Backups stay with the home that makes them. */
async function keepBackups(from: string, to: string): Promise<void> {
  const [old, next] = [join(from, "backups"), join(to, "backups")];
  if ((await exists(old)) && !(await exists(next))) await rename(old, next);
}

async function freeName(name: string): Promise<string> {
  for (let number = 1; ; number += 1) {
    const path = number === 1 ? name : `${name}-${number}`;
    if (!(await exists(path))) return path;
  }
}
