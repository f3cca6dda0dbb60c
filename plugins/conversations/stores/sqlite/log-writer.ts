// Checks and encodes batches, stores them in the log, and keeps them for the worker.
import type { Batch } from "../storage.ts";
import type { BatchLog } from "./batch-log.ts";
import { storeErrors } from "./errors.ts";
import { StreamHeads } from "./heads.ts";
import { encodeBatch, toColumns } from "./pack.ts";
import type { BatchHeader } from "./protocol.ts";

/** Bytes of batches that are passed to the worker together. */
const passBytes = 1024 * 1024;

interface LogWriterOptions {
  readonly log: BatchLog;
  /** Path of the database. */
  readonly path: string;
  /** Runs after each stored batch. @param isFull - A MiB of batches waits for the worker. */
  readonly stored: (isFull: boolean) => void;
}

export class LogWriter {
  readonly log: BatchLog;
  readonly heads = new StreamHeads();
  /** Bytes that wait for the disk. */
  waitingBytes = 0;
  private readonly options: LogWriterOptions;
  private unpassed: Uint8Array[] = [];
  private unpassedBytes = 0;

  constructor(options: LogWriterOptions) {
    this.options = options;
    this.log = options.log;
  }

  /**
   * Stores a batch, or throws and stores nothing.
   *
   * @returns A promise if the batch is stored later.
   * @throws store_unavailable
   */
  write(batch: Batch): Promise<void> | undefined {
    const columns = toColumns(batch);
    const heads = this.check(columns);
    const record = encodeBatch(batch, columns);
    const stored = this.log.append(record);
    if (!stored) {
      this.added(record, columns, heads);
      return undefined;
    }
    this.waitingBytes += record.byteLength;
    return stored
      .then(() => this.added(record, columns, heads))
      .finally(() => void (this.waitingBytes -= record.byteLength));
  }

  /**
   * Takes the stored batches that the worker does not have yet.
   *
   * @returns One buffer that can be transferred: a hundred buffers take ten times as long as this
   *   copy. Undefined if the worker has all batches.
   */
  takeUnpassed(): Uint8Array | undefined {
    if (this.unpassed.length === 0) return undefined;
    const records = Buffer.allocUnsafeSlow(this.unpassedBytes);
    let offset = 0;
    for (const record of this.unpassed) {
      records.set(record, offset);
      offset += record.byteLength;
    }
    this.unpassed = [];
    this.unpassedBytes = 0;
    return records;
  }

  private added(
    record: Uint8Array,
    { addresses }: BatchHeader,
    heads: ReturnType<StreamHeads["check"]>,
  ): void {
    for (const [place, seq] of heads.entries())
      if (seq !== undefined) this.heads.set(addresses[place]!, seq);
    this.unpassed.push(record);
    this.unpassedBytes += record.byteLength;
    this.options.stored(this.unpassedBytes >= passBytes);
  }

  private check(columns: BatchHeader): ReturnType<StreamHeads["check"]> {
    try {
      return this.heads.check(columns);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw storeErrors.store_unavailable(this.options.path, reason, { cause: error });
    }
  }
}
