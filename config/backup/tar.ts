// The form of a backup: tar files of POSIX (ustar, with pax headers for long names), in one
// canonical writing, so that every changed byte is found. docs/operation.md describes the content.
import { createHash, type Hash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { backupErrors } from "./errors.ts";

/** A file of an archive. */
export interface ArchiveEntry {
  /** Relative path with slashes. */
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /** Permission bits of the owner. */
  readonly mode: number;
  /** Unix seconds. */
  readonly mtime: number;
}

const blockBytes = 512;
const chunkBytes = 256 * 1024;
/** A size of more digits needs a pax header. */
const maxPlainSize = 0o77777777777;
const maxNameBytes = 100;
const maxPaxBytes = 64 * 1024;
/** The last entry: the digest of everything before it. */
const digestName = "SHA256";
const digestBytes = 65;

const paddingOf = (size: number): number => (blockBytes - (size % blockBytes)) % blockBytes;
const octal = (value: number, digits: number): string =>
  `${value.toString(8).padStart(digits, "0")}\0`;

/** @param type - `0`: a file; `x`: names and sizes for the next header. */
function headerOf(type: "0" | "x", { name, size, mode, mtime }: ArchiveEntry): Buffer {
  const header = Buffer.alloc(blockBytes);
  header.write(name, 0, maxNameBytes, "latin1");
  header.write(octal(mode, 7) + octal(0, 7) + octal(0, 7), 100, "latin1");
  header.write(octal(size, 11) + octal(mtime, 11), 124, "latin1");
  header.write(" ".repeat(8), 148, "latin1");
  header.write(type, 156, "latin1");
  header.write("ustar\x0000", 257, "latin1");
  header.write(octal(0, 7) + octal(0, 7), 329, "latin1");
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 6)} `, 148, "latin1");
  return header;
}

/** A record of a pax header begins with its own length in bytes. */
function paxRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + 1;
  while (rest + String(length).length !== length) length += 1;
  return `${length} ${key}=${value}\n`;
}

/** The blocks before the content of an entry. */
function startOf(entry: ArchiveEntry): Buffer {
  const { name, size } = entry;
  const isPlainName = /^[\x20-\x7e]*$/.test(name) && name.length <= maxNameBytes;
  const isPlainSize = size <= maxPlainSize;
  if (isPlainName && isPlainSize) return headerOf("0", entry);
  const records =
    (isPlainName ? "" : paxRecord("path", name)) +
    (isPlainSize ? "" : paxRecord("size", String(size)));
  const content = Buffer.from(records);
  const plain = {
    ...entry,
    name: name.replace(/[^\x20-\x7e]/g, "_").slice(0, maxNameBytes),
    size: isPlainSize ? size : 0,
  };
  return Buffer.concat([
    headerOf("x", { ...plain, name: "PaxHeader", size: content.length, mode: 0o600 }),
    content,
    Buffer.alloc(paddingOf(content.length)),
    headerOf("0", plain),
  ]);
}

/** The last blocks of an archive with this digest. */
function endOf(digest: string): Buffer {
  const entry = { name: digestName, size: digestBytes, mode: 0o600, mtime: 0 };
  const content = Buffer.from(`${digest}\n`);
  const rest = Buffer.alloc(paddingOf(digestBytes) + 2 * blockBytes);
  return Buffer.concat([startOf(entry), content, rest]);
}

/** Content that is shorter than its entry says: the file was changed while it was read. */
export class ShortContentError extends Error {}

/** Writes an archive into an empty file. */
export class ArchiveWriter {
  private readonly file: FileHandle;
  private hash: Hash = createHash("sha256");
  private position = 0;

  constructor(file: FileHandle) {
    this.file = file;
  }

  /**
   * Adds an entry. After an error, the archive is as before.
   *
   * @param content - At least `size` bytes; more are ignored.
   * @returns The SHA-256 of the content in hexadecimal digits.
   * @throws ShortContentError if there are fewer bytes.
   */
  async add(entry: ArchiveEntry, content: AsyncIterable<Uint8Array>): Promise<string> {
    const before = { hash: this.hash.copy(), position: this.position };
    const own = createHash("sha256");
    let left = entry.size;
    try {
      await this.write(startOf(entry));
      for await (const chunk of content) {
        const bytes = chunk.subarray(0, left);
        own.update(bytes);
        await this.write(bytes);
        left -= bytes.length;
        if (left === 0) break;
      }
      if (left > 0) throw new ShortContentError(entry.name);
      await this.write(Buffer.alloc(paddingOf(entry.size)));
      return own.digest("hex");
    } catch (error) {
      Object.assign(this, before);
      throw error;
    }
  }

  /** Writes the digest, and everything to the disk. @returns The bytes of the archive. */
  async finish(): Promise<number> {
    await this.write(endOf(this.hash.copy().digest("hex")));
    await this.file.truncate(this.position);
    await this.file.sync();
    return this.position;
  }

  private async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      const left = bytes.length - at;
      at += (await this.file.write(bytes, at, left, this.position + at)).bytesWritten;
    }
    this.hash.update(bytes);
    this.position += bytes.length;
  }
}

const octalAt = (header: Buffer, at: number, digits: number): number => {
  const text = header.toString("latin1", at, at + digits);
  return /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : Number.NaN;
};

/** Receives each entry; the content can be read once, in order. */
type ArchiveVisitor = (entry: ArchiveEntry, content: AsyncIterable<Buffer>) => Promise<unknown>;

/** Reads an archive from its beginning to its end. */
class ArchiveReader {
  private readonly file: FileHandle;
  private readonly path: string;
  private readonly hash = createHash("sha256");
  private position = 0;

  constructor(file: FileHandle, path: string) {
    this.file = file;
    this.path = path;
  }

  broken(problem: string): Error {
    return backupErrors.BACKUP_BROKEN(this.path, problem);
  }

  async read(visit: ArchiveVisitor): Promise<void> {
    for (;;) {
      const digest = this.hash.copy().digest("hex");
      const begin = this.position;
      const entry = await this.readStart();
      if (entry.name === digestName) return this.readEnd(digest, begin);
      let left = entry.size;
      const take = async (): Promise<Buffer> => {
        const bytes = await this.readBytes(Math.min(left, chunkBytes));
        left -= bytes.length;
        return bytes;
      };
      await visit(
        entry,
        (async function* () {
          while (left > 0) yield await take();
        })(),
      );
      while (left > 0) await take();
      await this.readBytes(paddingOf(entry.size));
    }
  }

  /** Only the writing of `startOf` is accepted: no link, no folder and no other tar file. */
  private async readStart(): Promise<ArchiveEntry> {
    let start = await this.readBytes(blockBytes);
    const pax: { path?: string; size?: number } = {};
    if (start[156] === "x".charCodeAt(0)) {
      const size = octalAt(start, 124, 11);
      if (!(size <= maxPaxBytes)) throw this.broken("the header of a name is too long");
      const content = await this.readBytes(size + paddingOf(size));
      const text = content.toString("utf8", 0, size);
      const [, path] = /^\d+ path=([^\n]+)\n/.exec(text) ?? [];
      const [, bytes] = /(?:^|\n)\d+ size=(\d{1,15})\n$/.exec(text) ?? [];
      Object.assign(pax, path !== undefined && { path }, bytes && { size: Number(bytes) });
      start = Buffer.concat([start, content, await this.readBytes(blockBytes)]);
    }
    const header = start.subarray(-blockBytes);
    const name = header.toString("latin1", 0, maxNameBytes).replace(/\0+$/, "");
    const entry = {
      name: pax.path ?? name,
      size: pax.size ?? octalAt(header, 124, 11),
      mode: octalAt(header, 100, 7),
      mtime: octalAt(header, 136, 11),
    };
    const isOwn = Object.values(entry).every((value) => !Number.isNaN(value));
    if (!isOwn || !startOf(entry).equals(start))
      throw this.broken("an entry was not written by Doorward, or was changed");
    return entry;
  }

  private async readEnd(digest: string, begin: number): Promise<void> {
    const expected = endOf(digest);
    const found = Buffer.alloc(expected.length + 1);
    const { bytesRead } = await this.file.read(found, 0, found.length, begin);
    if (!found.subarray(0, bytesRead).equals(expected))
      throw this.broken("its digest does not fit its content");
  }

  private async readBytes(count: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(count);
    for (let at = 0; at < count;) {
      const position = this.position + at;
      const { bytesRead } = await this.file.read(bytes, at, count - at, position);
      if (bytesRead === 0) throw this.broken("it ends too early");
      at += bytesRead;
    }
    this.hash.update(bytes);
    this.position += count;
    return bytes;
  }
}

/**
 * Reads an archive. Use the entries only if this resolves.
 *
 * @param path - The name of the file in errors.
 * @throws BACKUP_BROKEN if any byte is missing or was changed.
 */
export const readArchive = (file: FileHandle, path: string, visit: ArchiveVisitor): Promise<void> =>
  new ArchiveReader(file, path).read(visit);
