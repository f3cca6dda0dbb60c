/**
 * Keeps batches as they arrived until there is time to write their rows. A batch is stored when the
 * journal has it, which takes one row in place of several rows and index entries for each message.
 */
import type { Address } from "../../../channels/index.ts";
import type { Connection } from "./connection.ts";
import { resultCode } from "./failure.ts";
import { decodeBatch, withoutAddresses } from "./pack.ts";
import type { PackedBatch } from "./protocol.ts";
import type { Writer, Written } from "./writer.ts";

/** Size at which batches have to wait for the rows of earlier ones: about 50,000 messages. */
const maxBytes = 32 * 1024 * 1024;
/** Bytes of the batches whose rows are written in one transaction: about 30 ms. */
const stepBytes = 1024 * 1024;

const keyOf = ({ channel, session }: Address): string => `${channel}\0${session}`;

interface JournalOptions {
  readonly connection: Connection;
  readonly writer: Writer;
  readonly applied: (written: Written) => void;
}

export class Journal {
  private readonly options: JournalOptions;
  /** Ids and sizes of the batches, in their order. */
  private waiting: { readonly id: number; readonly bytes: number }[] = [];
  private bytes = 0;
  /** The last numbers of the streams in these batches. */
  private heads = new Map<string, number>();
  /** Conversations that begin with one of these batches, and when, in Unix milliseconds. */
  private readonly begun = new Map<string, { readonly address: Address; readonly at: number }>();
  /** True if the last rows could not be written. No batch is added until they can be. */
  private isStuck = false;

  constructor(options: JournalOptions) {
    this.options = options;
    const rows = options.connection.all(
      "SELECT id, length(data) AS bytes FROM journal ORDER BY id",
    );
    this.waiting = rows.map(({ id, bytes }) => ({ id: Number(id), bytes: Number(bytes) }));
    this.bytes = this.waiting.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Bytes of the batches whose rows are not written. */
  get size(): number {
    return this.bytes;
  }

  /** How many conversations begin with batches whose rows are not written, and when the first. */
  newConversations(): { readonly count: number; readonly oldestAt: number } {
    const times = [...this.begun.values()].map(({ at }) => at);
    return { count: times.length, oldestAt: Math.min(...times) };
  }

  /** Whether rows of this address are not written. */
  has(address: Address): boolean {
    return this.heads.has(keyOf(address));
  }

  /**
   * Stores a batch as a whole, or throws and stores nothing.
   *
   * @returns Whether a conversation begins with it.
   */
  append(encoded: Uint8Array): boolean {
    const { connection } = this.options;
    if (this.isStuck) this.step();
    const batch = decodeBatch(encoded);
    const heads = this.check(batch);
    const { id } = connection.transaction(() =>
      connection.run("INSERT INTO journal(data) VALUES (?)", encoded),
    );
    for (const [key, seq] of heads) this.heads.set(key, seq);
    this.waiting.push({ id, bytes: encoded.byteLength });
    this.bytes += encoded.byteLength;
    const hasNew = this.noteNew(batch);
    if (this.bytes <= maxBytes) return hasNew;
    try {
      this.step();
    } catch {
      // The batch is stored. The next one reports the error.
    }
    return hasNew;
  }

  /** Writes the rows of the oldest batches. @returns True if more batches are left. */
  step(): boolean {
    if (this.waiting.length === 0) return false;
    let count = 0;
    let bytes = 0;
    while (count === 0 || (count < this.waiting.length && bytes < stepBytes))
      bytes += this.waiting[count++]!.bytes;
    this.apply(this.waiting[count - 1]!.id);
    this.waiting.splice(0, count);
    this.bytes -= bytes;
    if (this.waiting.length === 0) this.heads = new Map();
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

  /** Removes the parts of these addresses from all batches. */
  remove(addresses: readonly Address[]): void {
    const { connection } = this.options;
    const keys = new Set(addresses.map(keyOf));
    if (![...keys].some((key) => this.heads.has(key))) return;
    const isRemoved = (address: Address): boolean => keys.has(keyOf(address));
    const left = connection.transaction(() =>
      this.waiting.flatMap((one) => {
        const row = connection.get("SELECT data FROM journal WHERE id = ?", one.id);
        const batch = decodeBatch(row!.data as Uint8Array);
        if (!batch.addresses.some(isRemoved)) return [one];
        const data = withoutAddresses(batch, isRemoved);
        if (data === undefined) connection.run("DELETE FROM journal WHERE id = ?", one.id);
        else connection.run("UPDATE journal SET data = ? WHERE id = ?", data, one.id);
        return data === undefined ? [] : [{ id: one.id, bytes: data.byteLength }];
      }),
    );
    this.waiting = left;
    this.bytes = left.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const key of keys) {
      this.heads.delete(key);
      this.begun.delete(key);
    }
  }

  private noteNew({ addresses, entries }: PackedBatch): boolean {
    const before = this.begun.size;
    for (const [at, place] of entries.address.entries()) {
      const address = addresses[place]!;
      const key = keyOf(address);
      if (this.begun.has(key) || this.options.writer.hasBegun(address)) continue;
      this.begun.set(key, { address, at: entries.at[at]! });
    }
    return this.begun.size > before;
  }

  private apply(last: number): void {
    const { connection, writer, applied } = this.options;
    try {
      const written = connection.transaction(() => {
        const rows = connection.all("SELECT data FROM journal WHERE id <= ? ORDER BY id", last);
        // First, so that the rows can use the pages.
        connection.run("DELETE FROM journal WHERE id <= ?", last);
        return writer.write(rows.map(({ data }) => decodeBatch(data as Uint8Array)));
      });
      this.isStuck = false;
      for (const [key, { address }] of this.begun)
        if (writer.hasBegun(address)) this.begun.delete(key);
      applied(written);
    } catch (error) {
      this.isStuck = true;
      writer.reset();
      throw error;
    }
  }

  /**
   * Numbers that are used already must not reach the journal, because their rows could not be
   * written.
   *
   * @returns The last numbers of the streams after the batch.
   */
  private check({ addresses, streams, entries }: PackedBatch): Map<string, number> {
    const keys = addresses.map(keyOf);
    const heads = new Map<string, number>();
    for (const [place, key] of keys.entries())
      heads.set(key, this.heads.get(key) ?? this.options.writer.seqOf(addresses[place]!) ?? 0);
    for (const { address, seq } of streams) {
      const head = heads.get(keys[address]!)!;
      if (seq < head) throw new Error(`the stream begins at ${seq}, below its end ${head}`);
      heads.set(keys[address]!, seq);
    }
    for (const [at, seq] of entries.seq.entries()) {
      const key = keys[entries.address[at]!]!;
      const head = heads.get(key)!;
      if (seq <= head) throw new Error(`number ${seq} follows ${head} in its stream`);
      heads.set(key, seq);
    }
    return heads;
  }
}
