// Records in one file per owner and name, which each change replaces in one step.
import { readFile } from "node:fs/promises";
import type { Log } from "../../kernel/index.ts";
import { describeErrno, restrictSecretFile, writeFileAtomic } from "../../lib/files/index.ts";
import { isObject } from "../../lib/util.ts";
import type { KeptRecord, PutRecord, PutResult, RecordSession, RecordStore } from "./contract.ts";
import { recordsErrors } from "./errors.ts";
import type { RecordFolder } from "./folder.ts";
import { RecordMap } from "./memory-store.ts";

/*
 * The first line has the version of the format and the last version of a record. Each other line is
 * one record. Changes that arrive while the file is written are written together afterwards.
 */

const format = 1;

interface FileRecordStoreOptions {
  readonly path: string;
  readonly folder: Pick<RecordFolder, "enter" | "assertHeld">;
  readonly log: Log;
}

/** A change, and the promise of its caller. */
interface WaitingChange {
  /** Changes the records, and returns the outcome in case they are stored. */
  readonly apply: (map: RecordMap) => {
    readonly keys: readonly string[];
    readonly done: () => void;
  };
  readonly reject: (error: unknown) => void;
}

/** @throws RECORDS_BROKEN if a line is not what this version writes. */
function parse(text: string, path: string): RecordMap {
  const [head = "", ...lines] = text.split("\n");
  const read = (line: string, at: number): Record<string, unknown> => {
    try {
      const value: unknown = JSON.parse(line);
      if (isObject(value)) return value;
    } catch {
      // The error below says which line.
    }
    throw recordsErrors.RECORDS_BROKEN(path, at + 1);
  };
  const { records, last } = read(head, 0);
  if (records !== format || !Number.isSafeInteger(last) || lines.pop() !== "")
    throw recordsErrors.RECORDS_BROKEN(path, 1);
  const kept = lines.map((line, at): KeptRecord => {
    const { key, version, value, session } = read(line, at + 1);
    if (typeof key !== "string" || !Number.isSafeInteger(version) || value === undefined)
      throw recordsErrors.RECORDS_BROKEN(path, at + 2);
    const address = session as RecordSession | undefined;
    return { key, version: Number(version), json: JSON.stringify(value), session: address };
  });
  return new RecordMap(kept, Number(last));
}

function toText({ records, last }: RecordMap): string {
  const lines = [JSON.stringify({ records: format, last })];
  for (const { key, version, json, session } of records.values()) {
    const head = JSON.stringify({ key, version, ...(session && { session }) });
    lines.push(`${head.slice(0, -1)},"value":${json}}`);
  }
  return `${lines.join("\n")}\n`;
}

export class FileRecordStore implements RecordStore {
  private readonly options: FileRecordStoreOptions;
  private loading: Promise<RecordMap> | undefined;
  /** The lock under which the file was read. */
  private readUnder: object | undefined;
  private waiting: WaitingChange[] = [];
  private writing: Promise<void> | undefined;
  private changed: (key: string) => void = () => undefined;

  constructor(options: FileRecordStoreOptions) {
    this.options = options;
  }

  async get(key: string): Promise<KeptRecord | undefined> {
    return (await this.load()).records.get(key);
  }

  async list(): Promise<readonly KeptRecord[]> {
    return [...(await this.load()).records.values()];
  }

  put(record: PutRecord): Promise<PutResult> {
    return this.change((map, resolve) => {
      const result = map.put(record);
      return { keys: "version" in result ? [record.key] : [], done: () => resolve(result) };
    });
  }

  remove(key: string, expected?: number): Promise<number | undefined> {
    return this.change((map, resolve) => {
      const had = map.records.has(key);
      const conflict = map.remove(key, expected);
      const keys = had && conflict === undefined ? [key] : [];
      return { keys, done: () => resolve(conflict) };
    });
  }

  forget(address: RecordSession): Promise<void> {
    return this.change((map, resolve) => {
      const keys = map.keysOf(address);
      for (const key of keys) map.remove(key);
      return { keys, done: () => resolve() };
    });
  }

  watch(changed: (key: string) => void): void {
    this.changed = changed;
  }

  /** Resolves when nothing is being written. */
  async settled(): Promise<void> {
    while (this.writing) await this.writing;
  }

  private change<T>(
    apply: (map: RecordMap, resolve: (result: T) => void) => ReturnType<WaitingChange["apply"]>,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ apply: (map) => apply(map, resolve), reject });
      this.writing ??= this.write().finally(() => (this.writing = undefined));
    });
  }

  /** Reads the file again if that has failed, or if another process may have written it. */
  private async load(): Promise<RecordMap> {
    const lock = await this.options.folder.enter();
    if (lock !== this.readUnder) this.loading = undefined;
    this.readUnder = lock;
    this.loading ??= this.read().catch((error: unknown) => {
      this.loading = undefined;
      throw error;
    });
    return this.loading;
  }

  private async read(): Promise<RecordMap> {
    const { path, log } = this.options;
    const exposed = await restrictSecretFile(path);
    if (exposed !== undefined) log.warn({ path }, exposed);
    const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw recordsErrors.store_unavailable(path, describeErrno(error), { cause: error });
    });
    return text === undefined ? new RecordMap() : parse(text, path);
  }

  private async write(): Promise<void> {
    while (this.waiting.length > 0) {
      const changes = this.waiting.splice(0);
      try {
        await this.store(changes);
      } catch (error) {
        for (const { reject } of changes) reject(error);
      }
    }
  }

  /** Nothing is visible before it is on the disk. */
  private async store(changes: readonly WaitingChange[]): Promise<void> {
    const { path, folder } = this.options;
    const next = (await this.load()).copy();
    const outcomes = changes.map(({ apply }) => apply(next));
    const keys = new Set(outcomes.flatMap((outcome) => outcome.keys));
    if (keys.size > 0) {
      await folder.assertHeld();
      await writeFileAtomic(path, toText(next), { mode: 0o600 });
      this.loading = Promise.resolve(next);
    }
    for (const { done } of outcomes) done();
    for (const key of keys) this.changed(key);
  }
}
