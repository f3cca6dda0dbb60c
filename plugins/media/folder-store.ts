// Files in a folder, which several nodes may mount. The bytes have the name of their hash. A file
// is a document in the folder of its session, and an empty marker next to the bytes. The bytes are
// deleted with the last marker.
import { createHash, type Hash } from "node:crypto";
import { constants, createReadStream } from "node:fs";
import {
  access,
  chmod,
  open,
  readdir,
  readFile,
  rename,
  rmdir,
  stat,
  unlink,
  writeFile,
  type FileHandle,
} from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { codeOf, type Awaitable } from "../../kernel/index.ts";
import { createPrivateFolder, syncFolder, writeFileAtomic } from "../../lib/files/index.ts";
import { BoundedMap } from "../../lib/util.ts";
import type {
  ArrivedContent,
  ByteRange,
  FileQuery,
  MediaStore,
  ResumableUpload,
  StoredFile,
  StoredPart,
  SweepOptions,
} from "./contract.ts";
import { mediaErrors } from "./errors.ts";
import { isFileId, parseRecord, parseUpload, sessionKey, sessionKeyOf } from "./file-id.ts";

const chunkBytes = 64 * 1024;
const noFollow = constants.O_NOFOLLOW ?? 0;
const shaPattern = /^[0-9a-f]{64}$/;
const markerPattern = /^([0-9a-f]{64})\.(m_[0-9a-f]{48})$/;
/** Content that is being deleted: see `dropContent`. */
const leavingPattern = /^([0-9a-f]{64})\.leaving-[0-9a-f]{32}$/;

const errnoOf = (error: unknown): string | undefined =>
  (error as NodeJS.ErrnoException | null)?.code;
const ignoreMissing = (error: unknown): void => {
  if (errnoOf(error) !== "ENOENT") throw error;
};

/** Converts errors of the file system. Others, such as those of the sender, stay as they are. */
function toMediaError(error: unknown): unknown {
  if (codeOf(error) !== "internal") return error;
  const errno = errnoOf(error);
  if (errno === "ENOSPC" || errno === "EDQUOT") return mediaErrors.disk_full({ cause: error });
  const isSystem = (error as NodeJS.ErrnoException | null)?.syscall !== undefined;
  return isSystem ? mediaErrors.media_unavailable({ cause: error }) : error;
}

/** A part that is gone was discarded, or was never here. */
const toPartError = (error: unknown): unknown =>
  errnoOf(error) === "ENOENT" ? mediaErrors.unknown_media({ cause: error }) : toMediaError(error);

/** A system may write fewer bytes in one call. */
async function writeAll(part: FileHandle, chunk: Uint8Array, position: number): Promise<void> {
  let done = 0;
  while (done < chunk.byteLength) {
    const left = chunk.byteLength - done;
    const { bytesWritten } = await part.write(chunk, done, left, position + done);
    done += bytesWritten;
  }
}

/** The hash of the first bytes of a part. */
interface PartHash {
  readonly hash: Hash;
  size: number;
}

/** Parts whose hash is in memory. The others are read again. */
const maxHashes = 1_024;

/** Keeps files in a folder. */
export class FolderStore implements MediaStore {
  private readonly folder: string;
  private readonly random: (bytes: number) => Uint8Array;
  private readonly hashes = new BoundedMap<string, PartHash>(maxHashes);

  constructor(folder: string, random: (bytes: number) => Uint8Array) {
    this.folder = folder;
    this.random = random;
  }

  /** Creates the folder. Rejects if files cannot be stored there. */
  async prepare(): Promise<void> {
    await createPrivateFolder(join(this.folder, "parts"));
    await createPrivateFolder(join(this.folder, "sessions"));
    await access(join(this.folder, "parts"), constants.W_OK);
  }

  async begin(id: string, upload?: ResumableUpload): Promise<void> {
    try {
      await (await open(this.partPath(id), "wx", 0o600)).close();
      if (upload) await writeFileAtomic(this.uploadPath(id), JSON.stringify(upload));
      this.hashes.set(id, { hash: createHash("sha256"), size: 0 });
    } catch (error) {
      await this.discard(id);
      throw toMediaError(error);
    }
  }

  async append(id: string, offset: number, bytes: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      const hashed = await this.hashedTo(id, offset);
      const part = await open(this.partPath(id), constants.O_RDWR | noFollow);
      try {
        for await (const chunk of bytes) {
          await writeAll(part, chunk, hashed.size);
          hashed.hash.update(chunk);
          hashed.size += chunk.byteLength;
        }
      } finally {
        await part.sync();
        await part.close();
      }
    } catch (error) {
      throw toPartError(error);
    }
  }

  async finish(
    id: string,
    complete: (content: ArrivedContent) => Awaitable<StoredFile>,
  ): Promise<StoredFile> {
    const part = this.partPath(id);
    try {
      const { size } = await stat(part);
      const { hash } = await this.hashedTo(id, size);
      const sha256 = hash.copy().digest("hex");
      const file = await complete({ sha256, size, open: () => createReadStream(part) });
      await this.addMarker(file);
      await rename(part, this.contentPath(sha256));
      await chmod(this.contentPath(sha256), 0o400);
      await syncFolder(this.shard(sha256));
      await this.writeRecord(file);
      await this.discard(id);
      return file;
    } catch (error) {
      throw toPartError(error);
    }
  }

  async renew(upload: ResumableUpload): Promise<void> {
    try {
      await writeFileAtomic(this.uploadPath(upload.id), JSON.stringify(upload));
    } catch (error) {
      throw toMediaError(error);
    }
  }

  async discard(id: string): Promise<void> {
    this.hashes.delete(id);
    for (const path of [this.uploadPath(id), this.partPath(id)])
      await unlink(path)
        .catch(ignoreMissing)
        .catch(() => undefined);
  }

  async *parts(id?: string): AsyncIterable<StoredPart> {
    const names = id === undefined ? await this.names("parts") : [`${id}.json`];
    for (const name of names) {
      const found = name.endsWith(".json") ? await this.readPart(name.slice(0, -5)) : undefined;
      if (found) yield found;
    }
  }

  async open(file: StoredFile, range?: ByteRange): Promise<Readable> {
    const flags = constants.O_RDONLY | noFollow;
    try {
      const handle = await open(this.contentPath(file.sha256), flags);
      return handle.createReadStream({ ...range, highWaterMark: chunkBytes });
    } catch (error) {
      if (errnoOf(error) === "ENOENT") throw mediaErrors.unknown_media({ cause: error });
      throw toMediaError(error);
    }
  }

  async *find(query: FileQuery): AsyncIterable<StoredFile> {
    if ("id" in query) {
      const found = isFileId(query.id) ? await this.readRecord(query.id) : undefined;
      if (found) yield found;
      return;
    }
    if ("session" in query) {
      for await (const file of this.filesOf(sessionKey(query)))
        if (file.channel === query.channel && file.session === query.session) yield file;
      return;
    }
    for (const key of await this.names("sessions")) yield* this.filesOf(key);
  }

  async link(file: StoredFile): Promise<void> {
    try {
      await this.addMarker(file);
      // After the marker, because content without a marker may be deleted at any time.
      await stat(this.contentPath(file.sha256));
      await this.writeRecord(file);
    } catch (error) {
      if (errnoOf(error) !== "ENOENT") throw toMediaError(error);
      await unlink(this.markerPath(file)).catch(() => undefined);
      throw mediaErrors.unknown_media({ cause: error });
    }
  }

  async sweep(
    isKept: (file: StoredFile) => Awaitable<boolean>,
    { address, before }: SweepOptions,
  ): Promise<readonly StoredFile[]> {
    const removed: StoredFile[] = [];
    try {
      for await (const file of this.find(address ?? {})) {
        if (await isKept(file)) continue;
        await this.remove(file);
        removed.push(file);
      }
      if (!address) await this.removeLeftovers(before);
    } catch (error) {
      throw toMediaError(error);
    }
    return removed;
  }

  path({ sha256 }: StoredFile): string {
    return this.contentPath(sha256);
  }

  /** The hash of the first bytes of a part. It is computed again if this process has not read them
   *  in this order: after a restart, or after a write that has failed. */
  private async hashedTo(id: string, size: number): Promise<PartHash> {
    const known = this.hashes.get(id);
    if (known?.size === size) return known;
    const hash = createHash("sha256");
    const hashed: PartHash = { hash, size };
    if (size > 0) {
      const stored = createReadStream(this.partPath(id), { end: size - 1 });
      for await (const chunk of stored as AsyncIterable<Uint8Array>) hash.update(chunk);
    }
    this.hashes.set(id, hashed);
    return hashed;
  }

  private async readPart(id: string): Promise<StoredPart | undefined> {
    if (!isFileId(id)) return undefined;
    try {
      const upload = parseUpload(await readFile(this.uploadPath(id), "utf8"), id);
      return upload && { upload, offset: (await stat(this.partPath(id))).size };
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return undefined;
      throw toMediaError(error);
    }
  }

  private newName(): string {
    return Buffer.from(this.random(16)).toString("hex");
  }

  private partPath(id: string): string {
    return join(this.folder, "parts", `${id}.part`);
  }

  private uploadPath(id: string): string {
    return join(this.folder, "parts", `${id}.json`);
  }

  private shard(sha256: string): string {
    return join(this.folder, sha256.slice(0, 2));
  }

  private contentPath(sha256: string): string {
    return join(this.shard(sha256), sha256);
  }

  private markerPath({ sha256, id }: Pick<StoredFile, "sha256" | "id">): string {
    return join(this.shard(sha256), `${sha256}.${id}`);
  }

  private recordPath(id: string): string {
    return join(this.folder, "sessions", sessionKeyOf(id), `${id}.json`);
  }

  private async addMarker(file: StoredFile): Promise<void> {
    await createPrivateFolder(this.shard(file.sha256));
    await writeFile(this.markerPath(file), "", { mode: 0o600 });
  }

  /** A deletion may remove the empty folder of the session in between. */
  private async writeRecord(file: StoredFile, attempts = 3): Promise<void> {
    try {
      await createPrivateFolder(join(this.folder, "sessions", sessionKeyOf(file.id)));
      await writeFileAtomic(this.recordPath(file.id), JSON.stringify(file));
    } catch (error) {
      if (attempts === 1) throw error;
      await this.writeRecord(file, attempts - 1);
    }
  }

  private async readRecord(id: string): Promise<StoredFile | undefined> {
    try {
      return parseRecord(await readFile(this.recordPath(id), "utf8"), id);
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return undefined;
      throw toMediaError(error);
    }
  }

  private async *filesOf(key: string): AsyncIterable<StoredFile> {
    for (const name of await this.names(join("sessions", key))) {
      const id = name.replace(/\.json$/, "");
      const file = isFileId(id) ? await this.readRecord(id) : undefined;
      if (file) yield file;
    }
  }

  private async names(folder: string): Promise<string[]> {
    try {
      return await readdir(join(this.folder, folder));
    } catch (error) {
      if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return [];
      throw toMediaError(error);
    }
  }

  private async remove(file: StoredFile): Promise<void> {
    const record = this.recordPath(file.id);
    await unlink(record).catch(ignoreMissing);
    await unlink(this.markerPath(file)).catch(ignoreMissing);
    await this.dropContent(file.sha256);
    await rmdir(join(record, "..")).catch(() => undefined); // other files may be left
  }

  /**
   * Deletes content without a marker. Another node may add the first marker at the same time, so
   * the content is renamed, and comes back if there is a marker then.
   */
  private async dropContent(sha256: string): Promise<void> {
    if (await this.hasMarker(sha256)) return;
    const leaving = `${this.contentPath(sha256)}.leaving-${this.newName()}`;
    await rename(this.contentPath(sha256), leaving).catch(ignoreMissing);
    await this.finishDrop(sha256, leaving);
  }

  private async finishDrop(sha256: string, leaving: string): Promise<void> {
    if (await this.hasMarker(sha256))
      await rename(leaving, this.contentPath(sha256)).catch(ignoreMissing);
    else await unlink(leaving).catch(ignoreMissing);
  }

  private async hasMarker(sha256: string): Promise<boolean> {
    const names = await this.names(sha256.slice(0, 2));
    return names.some((name) => markerPattern.exec(name)?.[1] === sha256);
  }

  /** Deletes what killed processes have left: parts, markers without a file, and content. */
  private async removeLeftovers(before: number): Promise<void> {
    const isOld = async (path: string): Promise<boolean> => {
      const found = await stat(path).catch(() => undefined);
      return found !== undefined && found.mtimeMs < before;
    };
    for (const name of await this.names("parts")) {
      const path = join(this.folder, "parts", name);
      // Parts of uploads that can be continued have an age of their own.
      if (await this.isContinued(name)) continue;
      if (/\.(part|json)$/.test(name) && (await isOld(path)))
        await unlink(path).catch(ignoreMissing);
    }
    for (const shard of await this.names("."))
      if (/^[0-9a-f]{2}$/.test(shard)) await this.sweepShard(shard, isOld);
  }

  private async isContinued(name: string): Promise<boolean> {
    return (await this.readPart(name.replace(/\.\w+$/, ""))) !== undefined;
  }

  private async sweepShard(
    shard: string,
    isOld: (path: string) => Promise<boolean>,
  ): Promise<void> {
    for (const name of await this.names(shard)) {
      const path = join(this.folder, shard, name);
      const [, marked, id] = markerPattern.exec(name) ?? [];
      const [, leaving] = leavingPattern.exec(name) ?? [];
      if (!(await isOld(path))) continue;
      if (leaving !== undefined) await this.finishDrop(leaving, path);
      else if (shaPattern.test(name)) await this.dropContent(name);
      else if (marked !== undefined && !(await this.readRecord(id!))) {
        await unlink(path).catch(ignoreMissing);
        await this.dropContent(marked);
      }
    }
  }
}
