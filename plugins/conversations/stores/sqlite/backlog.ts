/**
 * The batches in the log whose rows are not written yet. One transaction for many batches changes a
 * page once for many messages.
 */
import type { Address } from "../../../channels/index.ts";
import type { Connection } from "./connection.ts";
import { resultCode } from "./failure.ts";
import { decodeBatch, withoutAddresses } from "./pack.ts";
import type { PackedBatch } from "./protocol.ts";
import type { LogRecord } from "./record.ts";
import type { Writer, Written } from "./writer.ts";

/** Bytes of the batches whose rows are written in one transaction: about 30 ms. */
const stepBytes = 1024 * 1024;

const keyOf = ({ channel, session }: Address): string => `${channel}\0${session}`;

/** A conversation that was forgotten while the disk was full. */
interface Forgotten extends Address {
  /** Batches up to this number still contain parts of it. */
  readonly upTo: number;
}

/** Results of statements that fail because of the batch, not because of the disk. */
const invalidBatch = [0, 1, 19, 20];

export class Backlog {
  private readonly applied: (written: Written) => void;
  private connection!: Connection;
  private writer!: Writer;
  private waiting: LogRecord[] = [];
  private bytes = 0;
  /** Number of the last batch that was added, and of the last one whose rows are written. */
  private added = 0;
  private done = 0;
  /** Addresses in the first `indexed` batches, and in some before them. */
  private addresses = new Set<string>();
  private indexed = 0;

  /** @param applied - Called after rows were written. */
  constructor(applied: (written: Written) => void) {
    this.applied = applied;
  }

  /** Bytes of the batches whose rows are not written. */
  get size(): number {
    return this.bytes;
  }

  /** Number of the last batch whose rows are written. */
  get written(): number {
    return this.done;
  }

  /** Number of the last batch. */
  get last(): number {
    return this.added;
  }

  /** Continues with a connection that was opened. */
  attach(connection: Connection, writer: Writer): void {
    this.connection = connection;
    this.writer = writer;
    this.done = connection.number("SELECT value FROM meta WHERE key = 'written'");
    this.added = Math.max(this.added, this.done);
    this.remove(this.waiting.filter(({ number }) => number <= this.done).length);
  }

  /** Adds batches in their order. Ignores those that it has already. */
  add(records: readonly LogRecord[]): void {
    for (const record of records) {
      if (record.number <= this.added) continue;
      if (record.number > this.added + 1) throw new Error(`batch ${this.added + 1} is missing`);
      this.waiting.push(record);
      this.bytes += record.batch.byteLength;
      this.added = record.number;
    }
  }

  /** Whether rows of this address are not written. */
  has(address: Address): boolean {
    for (; this.indexed < this.waiting.length; this.indexed++)
      for (const each of decodeBatch(this.waiting[this.indexed]!.batch).addresses)
        this.addresses.add(keyOf(each));
    return this.addresses.has(keyOf(address));
  }

  /** Writes the rows of the oldest batches. @returns True if more batches are left. */
  step(): boolean {
    let count = 0;
    let bytes = 0;
    while (count < this.waiting.length && (count === 0 || bytes < stepBytes))
      bytes += this.waiting[count++]!.batch.byteLength;
    if (count > 0) this.apply(this.waiting.slice(0, count));
    return this.waiting.length > 0;
  }

  /** Writes the rows of all batches. */
  drain(): void {
    while (this.step());
  }

  /**
   * Writes the rows of all batches as far as there is room on the disk.
   *
   * @returns False if the disk is full. The rows that exist can be read and deleted.
   */
  drainIfRoom(): boolean {
    try {
      this.drain();
      return true;
    } catch (error) {
      if (resultCode(error) !== 13) throw error;
      return false;
    }
  }

  /** Skips the parts of these addresses in all batches. Call it in a transaction. */
  forget(addresses: readonly Address[]): void {
    const found = addresses.filter((address) => this.has(address));
    if (found.length === 0) return;
    const forgotten = found.map((address) => ({ ...address, upTo: this.added }));
    this.setForgotten([...this.readForgotten(), ...forgotten]);
  }

  private readForgotten(): readonly Forgotten[] {
    const row = this.connection.get("SELECT value FROM meta WHERE key = 'forgotten'");
    return JSON.parse(String(row?.value)) as readonly Forgotten[];
  }

  private setForgotten(forgotten: readonly Forgotten[]): void {
    const text = JSON.stringify(forgotten);
    this.connection.run("UPDATE meta SET value = ? WHERE key = 'forgotten'", text);
  }

  /** Removes the oldest batches. */
  private remove(count: number): void {
    for (const { batch } of this.waiting.slice(0, count)) this.bytes -= batch.byteLength;
    this.waiting = this.waiting.slice(count);
    this.indexed = Math.max(0, this.indexed - count);
    if (this.waiting.length === 0) this.addresses = new Set();
  }

  private apply(records: readonly LogRecord[]): void {
    try {
      this.write(records, this.toBatches(records));
    } catch (error) {
      this.writer.reset();
      if (!invalidBatch.includes(resultCode(error))) throw error;
      if (records.length === 1) {
        // Its rows can never be written, and others must not wait for it.
        this.write(records, []);
        throw error;
      }
      for (const record of records) this.apply([record]);
    }
  }

  private write(records: readonly LogRecord[], batches: readonly PackedBatch[]): void {
    const { connection, writer } = this;
    const { number } = records.at(-1)!;
    const written = connection.transaction(() => {
      const result = writer.write(batches);
      connection.run("UPDATE meta SET value = ? WHERE key = 'written'", number);
      return result;
    });
    this.done = number;
    this.remove(records.length);
    this.applied(written);
  }

  private toBatches(records: readonly LogRecord[]): PackedBatch[] {
    const forgotten = this.readForgotten();
    return records.flatMap(({ number, batch }) => {
      const decoded = decodeBatch(batch);
      const keys = new Set(forgotten.filter(({ upTo }) => number <= upTo).map(keyOf));
      if (keys.size === 0) return [decoded];
      const left = withoutAddresses(decoded, (address) => keys.has(keyOf(address)));
      return left === undefined ? [] : [left];
    });
  }
}
