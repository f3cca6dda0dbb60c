/**
 * Stores batches before their rows are written: at the end of a file, in the thread that has them.
 * Such a write takes 4 to 8 µs, and a batch that goes to the worker and back 100 µs
 * (docs/performance.md). The operating system keeps the bytes if the process ends.
 */
import fs from "node:fs";
import { SequenceBuffer } from "../../log/sequence.ts";
import { storeErrors } from "./errors.ts";
import { logFiles, logHeader, sealRecord } from "./record.ts";

/** Size at which batches enter the other file, if it is empty. */
const rotateBytes = 16 * 1024 * 1024;

const fdatasync = (fd: number): Promise<void> =>
  new Promise((resolve, reject) =>
    fs.fdatasync(fd, (error) => (error ? reject(error) : resolve())),
  );

interface LogFile {
  readonly fd: number;
  size: number;
  /** Number of the last batch in it. */
  last: number;
}

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full",
  EDQUOT: "the disk is full",
  EIO: "the disk reports an error",
};

interface BatchLogOptions {
  /** Path of the database. */
  readonly path: string;
  /** Identifies the database. */
  readonly key: string;
  /** Number of the last batch. */
  readonly last: number;
  readonly durability: "process" | "power";
}

export class BatchLog {
  private readonly options: BatchLogOptions;
  private readonly header: Buffer;
  private readonly files: readonly [LogFile, LogFile];
  private active: LogFile;
  /** Sizes of the batches whose rows are not written. */
  private readonly sizes: SequenceBuffer<number>;
  private bytes = 0;
  /** Resolves when the latest write has reached the disk. */
  private syncing: Promise<void> = Promise.resolve();

  /** Creates empty files. The worker must have the batches of the former ones. */
  constructor(options: BatchLogOptions) {
    const { path, key, last } = options;
    this.options = options;
    this.header = Buffer.from(logHeader(key));
    const [first, second] = logFiles(path);
    this.files = [this.create(first, last), this.create(second, last)];
    this.active = this.files[0];
    this.sizes = new SequenceBuffer(last + 1);
  }

  /** Bytes of the batches whose rows are not written. */
  get waitingBytes(): number {
    return this.bytes;
  }

  /**
   * Stores a batch, or throws and stores nothing.
   *
   * @returns A promise if the batch is stored later.
   * @throws store_unavailable
   */
  append(record: Uint8Array): void | Promise<void> {
    if (this.options.durability === "process") {
      this.write(record);
      return this.count(record);
    }
    this.syncing = this.syncing.catch(() => {}).then(() => this.writeToDisk(record));
    return this.syncing;
  }

  /** The rows of all batches up to this number are written. */
  release(number: number): void {
    while (this.sizes.length > 0 && this.sizes.first <= number) this.bytes -= this.sizes.shift()!;
    for (const file of this.files)
      if (file.last <= number && file.size > this.header.byteLength) this.empty(file);
  }

  /** Lets the next batch enter the other file, so that this one can be emptied. */
  rotate(): void {
    const other = this.active === this.files[0] ? this.files[1] : this.files[0];
    if (other.size === this.header.byteLength) this.active = other;
  }

  /** True if the files contain batches whose rows are written. */
  hasWritten(): boolean {
    const size = this.files.reduce((sum, file) => sum + file.size - this.header.byteLength, 0);
    return size > this.bytes;
  }

  /** Waits until the disk has all batches. */
  async sync(): Promise<void> {
    for (const { fd } of this.files) await fdatasync(fd);
  }

  /** Removes the files, unless there are batches whose rows are not written. */
  close(): void {
    for (const { fd } of this.files) fs.closeSync(fd);
    if (this.sizes.length > 0) return;
    for (const file of logFiles(this.options.path)) fs.rmSync(file, { force: true });
  }

  private create(path: string, last: number): LogFile {
    try {
      fs.rmSync(path, { force: true });
      const fd = fs.openSync(path, "wx", 0o600);
      fs.writeSync(fd, this.header, 0, this.header.byteLength, 0);
      return { fd, size: this.header.byteLength, last };
    } catch (error) {
      throw this.toError(error);
    }
  }

  private async writeToDisk(record: Uint8Array): Promise<void> {
    const undo = this.write(record);
    try {
      await fdatasync(this.active.fd);
    } catch (error) {
      undo();
      throw this.toError(error);
    }
    this.count(record);
  }

  /** @returns A function that removes the record from the file, where it is the last one. */
  private write(record: Uint8Array): () => void {
    if (this.active.size >= rotateBytes) this.rotate();
    const { active } = this;
    const { size, last } = active;
    const number = this.sizes.next;
    sealRecord(record, number);
    try {
      for (let at = 0; at < record.byteLength;)
        at += fs.writeSync(active.fd, record, at, record.byteLength - at, size + at);
    } catch (error) {
      this.cut(active);
      throw this.toError(error);
    }
    active.size += record.byteLength;
    active.last = number;
    return () => {
      Object.assign(active, { size, last });
      this.cut(active);
    };
  }

  private count({ byteLength }: Uint8Array): void {
    this.sizes.push(byteLength);
    this.bytes += byteLength;
  }

  /** Removes what a failed write has left. If that fails, the next batch takes its place. */
  private cut({ fd, size }: LogFile): void {
    try {
      fs.ftruncateSync(fd, size);
    } catch {
      // The error of the write is reported.
    }
  }

  private empty(file: LogFile): void {
    try {
      fs.ftruncateSync(file.fd, this.header.byteLength);
      file.size = this.header.byteLength;
    } catch {
      // It is emptied the next time.
    }
  }

  private toError(error: unknown): Error {
    const { code = "", message } = error as NodeJS.ErrnoException;
    return storeErrors.store_unavailable(this.options.path, reasons[code] ?? message, {
      cause: error,
    });
  }
}
