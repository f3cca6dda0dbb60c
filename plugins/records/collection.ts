// The records of one name, as plugins see them: checks keys and values, and tells changes.
import type { Log, Release } from "../../kernel/index.ts";
import type {
  KeptRecord,
  PutOptions,
  RecordChange,
  Records,
  RecordSession,
  RecordStore,
  StoredRecord,
} from "./contract.ts";
import { recordsErrors } from "./errors.ts";
import { maxKeyLength, maxValueBytes } from "./limits.ts";

type Listener = (change: RecordChange<unknown>) => void;

const namePattern = /^[a-z][a-z0-9-]{0,47}$/;

/** @throws record_invalid unless it is a name of records. */
export function assertName(name: unknown): asserts name is string {
  if (typeof name === "string" && namePattern.test(name)) return;
  const expected = "1 to 48 lower-case letters, digits and hyphens, beginning with a letter";
  throw recordsErrors.record_invalid("name", expected);
}

function assertKey(key: unknown): asserts key is string {
  const isKey =
    typeof key === "string" &&
    key !== "" &&
    key.length <= maxKeyLength &&
    !/\p{Cc}|\p{Cs}/u.test(key);
  const expected = `1 to ${maxKeyLength} characters without control characters`;
  if (!isKey) throw recordsErrors.record_invalid("key", expected);
}

function assertVersion(version: unknown): void {
  if (version === undefined || (Number.isSafeInteger(version) && Number(version) >= 0)) return;
  throw recordsErrors.record_invalid("version", "a version that get or put returned, or 0");
}

function assertSession(address: RecordSession | undefined): void {
  if (address === undefined) return;
  const { channel, session } = address;
  if (typeof channel === "string" && typeof session === "string") return;
  throw recordsErrors.record_invalid("session", "{ channel, session } with two texts");
}

/** @throws record_invalid without the value, which may be a secret. */
function toJson(value: unknown): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch {
    // A cycle, or a value that JSON does not have.
  }
  if (json === undefined) throw recordsErrors.record_invalid("value", "a value that JSON can have");
  if (Buffer.byteLength(json) > maxValueBytes)
    throw recordsErrors.record_invalid("value", `at most ${maxValueBytes} bytes as JSON`);
  return json;
}

function toRecord({ key, json, version, session }: KeptRecord): StoredRecord<unknown> {
  const value: unknown = JSON.parse(json);
  return { key, value, version, ...(session && { session: { ...session } }) };
}

export class Collection implements Records<unknown> {
  private readonly name: string;
  private readonly store: RecordStore;
  private readonly log: Log;
  private readonly listeners = new Set<Listener>();
  /** Versions that the listeners know, once the first one was added: for changes without a key. */
  private told: Promise<Map<string, number>> | undefined;
  private telling: Promise<void> = Promise.resolve();

  constructor(name: string, store: RecordStore, log: Log) {
    this.name = name;
    this.store = store;
    this.log = log;
    store.watch((key) => this.changed(key));
  }

  async get(key: string): Promise<StoredRecord<unknown> | undefined> {
    assertKey(key);
    const kept = await this.store.get(key);
    return kept && toRecord(kept);
  }

  async list(of?: RecordSession): Promise<readonly StoredRecord<unknown>[]> {
    assertSession(of);
    const isOf = ({ session: own }: KeptRecord): boolean =>
      of === undefined || (own?.channel === of.channel && own.session === of.session);
    const found = (await this.store.list()).filter(isOf);
    return found.toSorted((a, b) => (a.key < b.key ? -1 : 1)).map(toRecord);
  }

  async put(key: string, value: unknown, options: PutOptions = {}): Promise<number> {
    const { version: expected, session: given } = options;
    assertKey(key);
    assertVersion(expected);
    assertSession(given);
    const session = given && { channel: given.channel, session: given.session };
    const result = await this.store.put({ key, json: toJson(value), expected, session });
    if ("version" in result) return result.version;
    if ("conflict" in result) throw this.conflict(key, result.conflict);
    throw recordsErrors.records_full(this.name);
  }

  async remove(key: string, { version }: { readonly version?: number } = {}): Promise<void> {
    assertKey(key);
    assertVersion(version);
    const conflict = await this.store.remove(key, version);
    if (conflict !== undefined) throw this.conflict(key, conflict);
  }

  /** Bound, because the service that is handed out inherits from this one. */
  readonly watch = (listener: Listener): Release => {
    this.told ??= this.versions();
    const own: Listener = (change) => listener(change);
    this.listeners.add(own);
    return () => void this.listeners.delete(own);
  };

  private conflict(key: string, version: number): Error {
    return recordsErrors.record_conflict(key, version, { details: { version } });
  }

  /** Reads the versions when the first listener is added. */
  private async versions(): Promise<Map<string, number>> {
    const records = await this.store.list().catch((): readonly KeptRecord[] => []);
    return new Map(records.map(({ key, version }) => [key, version]));
  }

  private changed(key: string | undefined): void {
    const { told } = this;
    if (told === undefined) return;
    this.telling = this.telling
      .then(async () => this.tell(await told, key))
      .catch((err: unknown) =>
        this.log.warn({ err, records: this.name }, "a change of records could not be read"),
      );
  }

  private async tell(told: Map<string, number>, key: string | undefined): Promise<void> {
    const found = key === undefined ? await this.store.list() : [await this.store.get(key)];
    const kept = new Map<string, KeptRecord>();
    for (const record of found) if (record) kept.set(record.key, record);
    const isKnown = (name: string): boolean =>
      key === undefined && kept.get(name)?.version === told.get(name);
    for (const name of key === undefined ? new Set([...told.keys(), ...kept.keys()]) : [key]) {
      if (isKnown(name)) continue;
      const record = kept.get(name);
      if (record) told.set(name, record.version);
      else told.delete(name);
      for (const listener of [...this.listeners]) this.call(listener, name, record);
    }
  }

  private call(listener: Listener, key: string, record: KeptRecord | undefined): void {
    try {
      listener({ key, ...(record && { record: toRecord(record) }) });
    } catch (err) {
      this.log.error({ err, records: this.name }, "a listener to records failed");
    }
  }
}
