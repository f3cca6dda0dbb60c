// Makes a backup of a home, also while its launcher runs.
import { createReadStream } from "node:fs";
import { open, readFile, rename, rm, stat, type FileHandle } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { Readable } from "node:stream";
import { codeOf } from "../../kernel/index.ts";
import { createPrivateFolder, describeErrno, lockFile, syncFolder } from "../../lib/files/index.ts";
import type { MadeBackup } from "../../plugins/backup/index.ts";
import { copyDatabase, inspectStore } from "../../plugins/conversations/index.ts";
import type { Environment } from "../load/index.ts";
import {
  format,
  maxSecretBytes,
  names,
  scanBackup,
  sumLine,
  type BackupHeader,
  type StoreSummary,
} from "./content.ts";
import { collect, nameIn, remove, secretFiles, secretRecords, withoutSecrets } from "./collect.ts";
import { backupErrors, isSystemError } from "./errors.ts";
import { exists } from "./paths.ts";
import { otherNames, readPlaces, type BackupPlaces } from "./places.ts";
import { encrypt, minPassphrase, type SealOptions } from "./secrets.ts";
import { ArchiveWriter, ShortContentError } from "./tar.ts";

interface BackupOptions {
  readonly home: string;
  readonly env: Environment;
  /** The file to write. An existing backup is replaced when the new one was checked. */
  readonly file: string;
  /** Of the running launcher, which may have other variables. @defaultValue from the settings */
  readonly places?: BackupPlaces | undefined;
  /** Encrypts tokens and sign-ins; absent: they are left out. */
  readonly seal?: SealOptions | undefined;
  /** Of Doorward. */
  readonly version: string;
  /** Unix milliseconds. */
  readonly now: number;
}

export interface BackupResult {
  readonly file: string;
  readonly bytes: number;
  readonly store: StoreSummary;
  /** Files of the home in the backup. */
  readonly files: number;
  readonly tokens: boolean;
  /** Sentences about what the backup does not have. */
  readonly notes: readonly string[];
}

/** @returns The part of the result that a home notes. */
export function toMade({ file, bytes, store }: BackupResult): MadeBackup {
  const { conversations } = store;
  return { file, bytes, ...(conversations !== undefined && { conversations }) };
}

/** Files up to this size are read in one step, so that they are of one moment. */
const maxWholeBytes = 1024 * 1024;
/** How often a file is read again that becomes shorter while it is read. */
const attempts = 3;
const sqliteHeader = "SQLite format 3\0";

/** Unfinished files of a backup, in its folder. Only the holder of its lock has them. */
const partsOf = (file: string) => {
  const part = join(dirname(file), `.${basename(file)}.part`);
  return { archive: part, database: `${part}-db`, copy: `${part}-copy`, sums: `${part}-sums` };
};
type Parts = ReturnType<typeof partsOf>;

const removeParts = (parts: Parts): Promise<unknown> =>
  Promise.all(
    Object.values(parts).flatMap((path) =>
      ["", "-journal", "-wal", "-shm"].map((suffix) => rm(path + suffix, { force: true })),
    ),
  );

/** An error of the system has codes; the user needs a sentence with the file. */
function toBackupError(error: unknown, what: string): unknown {
  if (codeOf(error) === "store_unavailable" || codeOf(error) === "STORE_BROKEN")
    return backupErrors.BACKUP_FAILED(what, (error as Error).message.replace(/\.$/, ""), {
      cause: error,
    });
  if (!isSystemError(error)) return error;
  const { path = what } = error;
  return backupErrors.BACKUP_FAILED(path, describeErrno(error), { cause: error });
}

/**
 * Makes a backup, checks it, and then gives it its name. If anything fails, an earlier backup of
 * this name stays.
 *
 * @throws BACKUP_FAILED, BACKUP_TARGET, PASSPHRASE_WEAK, FILE_CORRUPT
 */
export async function createBackup(options: BackupOptions): Promise<BackupResult> {
  const passphrase = options.seal?.passphrase;
  if (passphrase !== undefined && [...passphrase].length < minPassphrase)
    throw backupErrors.PASSPHRASE_WEAK(minPassphrase);
  const file = resolve(options.file);
  await assertTarget(file);
  try {
    if (!(await exists(options.home)))
      throw backupErrors.BACKUP_FAILED(options.home, "this home does not exist; see SERVICE_HOME");
    await createPrivateFolder(dirname(file));
    const lock = await lockFile(file, { waitMs: 0 });
    const parts = partsOf(file);
    try {
      await removeParts(parts);
      const result = await new Backup({ ...options, file }, parts).run();
      await rename(parts.archive, file);
      await syncFolder(dirname(file));
      return result;
    } finally {
      await removeParts(parts);
      await lock.release();
    }
  } catch (error) {
    if (codeOf(error) === "FILE_LOCKED")
      throw backupErrors.BACKUP_TARGET(file, "another process writes it", { cause: error });
    throw toBackupError(error, file);
  }
}

/** Only a backup is replaced, so that a wrong name overwrites nothing. */
async function assertTarget(file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (!found) return;
  if (!found.isFile()) throw backupErrors.BACKUP_TARGET(file, "it is not a file");
  if (found.size === 0) return;
  const handle = await open(file, "r").catch(() => undefined);
  const start = Buffer.alloc(names.header.length);
  await handle?.read(start, 0, start.length, 0);
  await handle?.close();
  if (start.toString("latin1") !== names.header)
    throw backupErrors.BACKUP_TARGET(file, "another file has this name; choose another one");
}

class Backup {
  private readonly options: BackupOptions;
  private readonly parts: Parts;
  private readonly notes: string[] = [];
  private writer!: ArchiveWriter;
  private sums!: FileHandle;

  constructor(options: BackupOptions, parts: Parts) {
    this.options = options;
    this.parts = parts;
  }

  async run(): Promise<BackupResult> {
    const { home, seal, file } = this.options;
    const places = this.options.places ?? (await readPlaces(this.options));
    // First: a message that is stored later may be missing, with its files.
    const store = await this.copyStore(places);
    const archive = await open(this.parts.archive, "wx", 0o600);
    this.sums = await open(this.parts.sums, "wx", 0o600);
    try {
      this.writer = new ArchiveWriter(archive);
      await this.addHeader(store);
      const outside = this.pathsOutside(places);
      const secrets = await this.addSettings(places, outside);
      if (store.kind === "sqlite") await this.addDatabase(store.path!);
      const skipped: string[] = [];
      for await (const { name, path } of collect(home, places, (one) => skipped.push(one)))
        await this.addHomeFile(names.home + name, path);
      await this.noteOmissions(places, skipped);
      const sums = await this.addSums();
      if (seal) await this.addSecrets(secrets, sums, seal);
      const bytes = await this.writer.finish();
      const { files } = await this.check();
      return { file, bytes, store, files, tokens: seal !== undefined, notes: this.notes };
    } finally {
      await archive.close();
      await this.sums.close();
    }
  }

  /** Copies the conversations, and reads every page of the copy. */
  private async copyStore({ store }: BackupPlaces): Promise<StoreSummary> {
    const { home } = this.options;
    if (store.kind === "redis") {
      const text = "Conversations are in Redis, and not in this backup. Back up the server, too";
      this.notes.push(`${text}: docs/scaling.md`);
      return { kind: "redis" };
    }
    if (store.kind === "memory") {
      this.notes.push('Conversations are not in this backup: "store.kind" is memory.');
      return { kind: "memory" };
    }
    if (!(await exists(store.path))) {
      this.notes.push(`There are no conversations yet: ${store.path} does not exist.`);
      return { kind: "none" };
    }
    const { database } = this.parts;
    copyDatabase(store.path, database);
    const path = nameIn(home, store.path) ?? "state/conversations.db";
    return { kind: "sqlite", path, ...inspectStore(database) };
  }

  private entry(name: string, size: number, mode = 0o600) {
    return { name, size, mode, mtime: Math.floor(this.options.now / 1_000) };
  }

  private async add(name: string, content: Buffer): Promise<void> {
    const sum = await this.writer.add(
      this.entry(name, content.length),
      Readable.from(content.length > 0 ? [content] : []),
    );
    await this.sums.write(sumLine(name, sum));
  }

  private async addHeader(store: StoreSummary): Promise<void> {
    const { version, now, seal } = this.options;
    const header: BackupHeader = {
      format,
      version,
      createdAt: new Date(now).toISOString(),
      tokens: seal !== undefined,
      store,
    };
    await this.add(names.header, Buffer.from(`${JSON.stringify(header, null, 2)}\n`));
  }

  /** Settings whose files are outside of the home, and therefore move into it. */
  private pathsOutside({ store, media, folder }: BackupPlaces): readonly (readonly string[])[] {
    const { home } = this.options;
    const paths = [
      { setting: ["store", "path"], path: store.path },
      { setting: ["media", "path"], path: media },
      { setting: ["backup", "path"], path: folder },
    ];
    return paths.flatMap(({ setting, path }) => (nameIn(home, path) ? [] : [setting]));
  }

  /** Adds the settings without tokens. @returns The same files with tokens, by name. */
  private async addSettings(
    { config }: BackupPlaces,
    outside: readonly (readonly string[])[],
  ): Promise<Record<string, string>> {
    const secrets: Record<string, string> = {};
    for (const name of secretFiles) {
      const path = name === "config.json" ? config : join(this.options.home, name);
      if (!(await exists(path))) continue;
      const text = await readFile(path, "utf8");
      const isLauncher = name === "launcher-config.json";
      if (!isLauncher && name !== "config.json") {
        secrets[name] = text;
        continue;
      }
      const moved = isLauncher ? [] : outside;
      secrets[name] = remove(text, moved, path);
      const plain = withoutSecrets(text, { file: path, isLauncher, outside: moved });
      await this.add(names.home + name, Buffer.from(plain));
    }
    return secrets;
  }

  private async addSecrets(
    settings: Record<string, string>,
    sums: Buffer,
    seal: SealOptions,
  ): Promise<void> {
    const secrets = { ...settings };
    for (const { name, path } of await secretRecords(this.options.home))
      secrets[name] = await readFile(path, "utf8");
    const sealed = await encrypt(Buffer.from(JSON.stringify(secrets)), sums, seal);
    if (sealed.length > maxSecretBytes)
      throw backupErrors.BACKUP_FAILED("state/records", "it is larger than 128 MiB");
    await this.writer.add(this.entry(names.secrets, sealed.length), Readable.from([sealed]));
  }

  private async addDatabase(name: string): Promise<void> {
    const { size } = await stat(this.parts.database);
    const entry = this.entry(names.home + name, size);
    const sum = await this.writer.add(entry, createReadStream(this.parts.database));
    await this.sums.write(sumLine(names.home + name, sum));
  }

  private async addHomeFile(name: string, path: string): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.addOnce(name, path);
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === "ENOENT") return; // deleted in the meantime
        if (!(error instanceof ShortContentError)) throw error;
        if (attempt === attempts)
          throw backupErrors.BACKUP_FAILED(path, "it changes while it is read", { cause: error });
      }
    }
  }

  private async addOnce(name: string, path: string): Promise<void> {
    let source = await open(path, "r");
    try {
      const start = Buffer.alloc(sqliteHeader.length);
      await source.read(start, 0, start.length, 0);
      if (start.toString("latin1") === sqliteHeader && (await this.copiesDatabase(path))) {
        await source.close();
        source = await open(this.parts.copy, "r");
      }
      const { size, mode, mtimeMs } = await source.stat();
      const mtime = Math.max(0, Math.floor(mtimeMs / 1_000));
      const whole = size <= maxWholeBytes ? await readFile(source) : undefined;
      const bytes = whole?.length ?? size;
      const entry = { ...this.entry(name, bytes, mode & 0o700), mtime };
      const content = whole
        ? Readable.from(bytes > 0 ? [whole] : [])
        : source.createReadStream({ start: 0, autoClose: false });
      await this.sums.write(sumLine(name, await this.writer.add(entry, content)));
    } finally {
      await source.close();
      await rm(this.parts.copy, { force: true });
    }
  }

  /** Copies a database of a program as of one moment. A copy of its bytes would be damaged. */
  private async copiesDatabase(path: string): Promise<boolean> {
    try {
      copyDatabase(path, this.parts.copy);
      return true;
    } catch (error) {
      await rm(this.parts.copy, { force: true });
      if (codeOf(error) === "STORE_BROKEN") return false; // not a database, or one of another kind
      throw error;
    }
  }

  private async addSums(): Promise<Buffer> {
    const { size } = await this.sums.stat();
    const content = createReadStream(this.parts.sums);
    const sum = await this.writer.add(this.entry(names.sums, size), content);
    return Buffer.from(sum, "hex");
  }

  private async noteOmissions({ folder }: BackupPlaces, skipped: readonly string[]): Promise<void> {
    const { home, seal, env } = this.options;
    const few = (list: readonly string[]): string =>
      list.slice(0, 8).join(", ") + (list.length > 8 ? ` and ${list.length - 8} more` : "");
    const isPlain = (await secretRecords(home)).length === 0;
    const missing = `Tokens${isPlain ? "" : ", records of plugins"} and sign-ins`;
    if (!seal) this.notes.push(`${missing} are not in this backup. To add them: -tokens`);
    if (skipped.length > 0)
      this.notes.push(`Links and special files are not in this backup: ${few(skipped)}`);
    const others = (await otherNames(home)).filter((name) => join(home, name) !== folder);
    if (others.length > 0)
      this.notes.push(`Other files of the home are not in this backup: ${few(others)}`);
    const variables = Object.keys(env).filter((name) => /^SERVICE_(?!HOME$)/.test(name));
    if (variables.length > 0)
      this.notes.push(`Settings in variables are not in this backup: ${few(variables)}`);
  }

  /** Reads what was written. */
  private async check(): Promise<{ files: number }> {
    const file = await open(this.parts.archive, "r");
    try {
      return await scanBackup(file, this.options.file);
    } finally {
      await file.close();
    }
  }
}
