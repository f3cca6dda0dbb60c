// Records in memory, and the changes that all forms make to them.
import type { KeptRecord, PutRecord, PutResult, RecordSession, RecordStore } from "./contract.ts";
import { maxBytes, maxRecords } from "./limits.ts";

type Changed = (key: string) => void;

const sizeOf = ({ key, json }: Pick<KeptRecord, "key" | "json">): number =>
  Buffer.byteLength(key) + Buffer.byteLength(json);

/** The records of one name, and the last version that one of them had. */
export class RecordMap {
  readonly records: Map<string, KeptRecord>;
  last: number;
  private bytes: number;

  constructor(records: Iterable<KeptRecord> = [], last = 0) {
    this.records = new Map(Array.from(records, (record) => [record.key, record]));
    this.last = last;
    this.bytes = [...this.records.values()].reduce((sum, record) => sum + sizeOf(record), 0);
  }

  copy(): RecordMap {
    return new RecordMap(this.records.values(), this.last);
  }

  put({ expected, ...record }: PutRecord): PutResult {
    const before = this.records.get(record.key);
    const version = before?.version ?? 0;
    if (expected !== undefined && expected !== version) return { conflict: version };
    const bytes = this.bytes - (before ? sizeOf(before) : 0) + sizeOf(record);
    if (bytes > maxBytes || (!before && this.records.size >= maxRecords)) return { full: true };
    this.bytes = bytes;
    this.last += 1;
    this.records.set(record.key, { ...record, version: this.last });
    return { version: this.last };
  }

  remove(key: string, expected?: number): number | undefined {
    const before = this.records.get(key);
    if (!before) return undefined;
    if (expected !== undefined && expected !== before.version) return before.version;
    this.records.delete(key);
    this.bytes -= sizeOf(before);
    return undefined;
  }

  /** @returns The keys of the records of a session. */
  keysOf({ channel, session }: RecordSession): string[] {
    return [...this.records.values()]
      .filter(({ session: own }) => own?.channel === channel && own.session === session)
      .map(({ key }) => key);
  }
}

/** Ends with the process. */
export class MemoryRecordStore implements RecordStore {
  private readonly map = new RecordMap();
  private changed: Changed = () => undefined;

  async get(key: string): Promise<KeptRecord | undefined> {
    return this.map.records.get(key);
  }

  async list(): Promise<readonly KeptRecord[]> {
    return [...this.map.records.values()];
  }

  async put(record: PutRecord): Promise<PutResult> {
    const result = this.map.put(record);
    if ("version" in result) this.changed(record.key);
    return result;
  }

  async remove(key: string, expected?: number): Promise<number | undefined> {
    const had = this.map.records.has(key);
    const conflict = this.map.remove(key, expected);
    if (had && conflict === undefined) this.changed(key);
    return conflict;
  }

  watch(changed: Changed): void {
    this.changed = changed;
  }

  async forget(address: RecordSession): Promise<void> {
    for (const key of this.map.keysOf(address)) await this.remove(key);
  }
}
