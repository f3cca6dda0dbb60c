// The content of a backup: which entries it has, in which order, and what its first one says.
import { createHash, type Hash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { isObject } from "../../lib/util.ts";
import { backupErrors } from "./errors.ts";
import { readArchive, type ArchiveEntry } from "./tar.ts";

/** Names of the entries next to the files of the home, which are below `home/`. */
export const names = {
  header: "doorward-backup.json",
  sums: "SHA256SUMS",
  secrets: "secrets.bin",
  home: "home/",
} as const;

/** Version of the form of backups. */
export const format = 1;
const maxHeaderBytes = 64 * 1024;
/** Of the encrypted files. Records of one plugin have at most 8 MiB a name. */
export const maxSecretBytes = 128 * 1024 * 1024;

/** The first entry. */
export interface BackupHeader {
  readonly format: number;
  /** Version of Doorward. */
  readonly version: string;
  readonly createdAt: string;
  /** Tokens and sign-ins are in the backup, encrypted. */
  readonly tokens: boolean;
  readonly store: StoreSummary;
}

/** The part of the store of conversations that is in the backup. */
export interface StoreSummary {
  /** `memory` and `redis` are not in a backup; `none`: the file did not exist. */
  readonly kind: "sqlite" | "memory" | "redis" | "none";
  /** Path of the file in the home. */
  readonly path?: string;
  readonly schema?: number;
  readonly conversations?: number;
  readonly entries?: number;
}

/** A line of SHA256SUMS, which `sha256sum -c` reads. */
export const sumLine = (name: string, sha256: string): string => `${sha256}  ${name}\n`;

/** True if the name can be an entry: a path without control characters that stays in its folder. */
export function isEntryName(name: string): boolean {
  const parts = name.split("/");
  return (
    !/\p{Cc}|\\/u.test(name) &&
    Buffer.byteLength(name) < 4_096 &&
    parts.every((part) => part !== "" && part !== "." && part !== "..")
  );
}

function parseHeader(text: string, path: string): BackupHeader {
  const broken = backupErrors.BACKUP_BROKEN(path, "its first entry is not that of a backup");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw broken;
  }
  if (!isObject(value) || typeof value["format"] !== "number") throw broken;
  if (value["format"] > format)
    throw backupErrors.BACKUP_NEWER(path, `form ${value["format"]}, this one reads ${format}`);
  const { version, createdAt, tokens, store } = value;
  const isComplete =
    typeof version === "string" && typeof createdAt === "string" && typeof tokens === "boolean";
  if (!isComplete || !isObject(store) || typeof store["kind"] !== "string") throw broken;
  return value as unknown as BackupHeader;
}

/** Receives the files of the home. Must read the content. */
export type HomeSink = (
  /** Path in the home. */
  name: string,
  content: AsyncIterable<Buffer>,
  entry: ArchiveEntry,
) => Promise<void>;

/** A backup whose every byte was checked. */
export interface CheckedBackup {
  readonly header: BackupHeader;
  /** Files of the home. */
  readonly files: number;
  readonly bytes: number;
  /** The list of all files, to which the encrypted ones are bound. */
  readonly sums: Buffer;
  readonly secrets: Buffer | undefined;
}

/** Passes content on and hashes it. */
async function* hashing(content: AsyncIterable<Buffer>, hash: Hash): AsyncIterable<Buffer> {
  for await (const bytes of content) {
    hash.update(bytes);
    yield bytes;
  }
}

async function readAll(content: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of content) parts.push(part);
  return Buffer.concat(parts);
}

const drop: HomeSink = async (_name, content) => {
  for await (const bytes of content) void bytes;
};

class BackupScan {
  readonly path: string;
  readonly sink: HomeSink;
  header: BackupHeader | undefined;
  secrets: Buffer | undefined;
  /** Digest of SHA256SUMS, after it was read. */
  sums: Buffer | undefined;
  files = 0;
  bytes = 0;
  private readonly expected = createHash("sha256");

  constructor(path: string, sink: HomeSink) {
    this.path = path;
    this.sink = sink;
  }

  async visit(entry: ArchiveEntry, content: AsyncIterable<Buffer>): Promise<void> {
    const { name, size } = entry;
    if (this.header === undefined) {
      if (name !== names.header || size > maxHeaderBytes)
        throw this.broken("it does not begin as a backup of Doorward");
      const bytes = await readAll(content);
      this.header = parseHeader(bytes.toString(), this.path);
      this.expect(name, createHash("sha256").update(bytes));
    } else if (this.sums !== undefined) {
      if (name !== names.secrets || size > maxSecretBytes || this.secrets !== undefined)
        throw this.broken(`${JSON.stringify(name)} does not belong there`);
      this.secrets = await readAll(content);
    } else if (name === names.sums) {
      const hash = createHash("sha256");
      for await (const bytes of content) hash.update(bytes);
      this.sums = hash.digest();
      if (!this.sums.equals(this.expected.digest()))
        throw this.broken("its list of files does not fit the files");
    } else await this.visitFile(entry, content);
  }

  complete(): CheckedBackup {
    const { header, sums, files, bytes, secrets } = this;
    if (!header || !sums) throw this.broken("it has no list of its files");
    if (header.tokens !== (secrets !== undefined)) throw this.broken("its tokens are missing");
    return { header, sums, files, bytes, secrets };
  }

  private async visitFile(entry: ArchiveEntry, content: AsyncIterable<Buffer>): Promise<void> {
    const { name } = entry;
    if (!name.startsWith(names.home) || !isEntryName(name))
      throw this.broken(`it has a file outside of the home: ${JSON.stringify(name)}`);
    const hash = createHash("sha256");
    await this.sink(name.slice(names.home.length), hashing(content, hash), entry);
    this.expect(name, hash);
    this.files += 1;
    this.bytes += entry.size;
  }

  private expect(name: string, hash: Hash): void {
    this.expected.update(sumLine(name, hash.digest("hex")));
  }

  private broken(problem: string): Error {
    return backupErrors.BACKUP_BROKEN(this.path, problem);
  }
}

/**
 * Reads a backup from its beginning to its end, in bounded memory.
 *
 * @param sink - What it received counts only if this resolves. @defaultValue drops the files
 * @throws BACKUP_BROKEN if anything is missing, was changed, or does not belong to a backup.
 * @throws BACKUP_NEWER
 */
export async function scanBackup(
  file: FileHandle,
  path: string,
  sink: HomeSink = drop,
): Promise<CheckedBackup> {
  const scan = new BackupScan(path, sink);
  await readArchive(file, path, (entry, content) => scan.visit(entry, content));
  return scan.complete();
}
