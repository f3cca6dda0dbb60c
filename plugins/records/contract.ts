/**
 * The service `records`: small data that a plugin, a channel or an application keeps.
 *
 * @module
 */
import type { Release } from "../../kernel/index.ts";

/** A session within a channel. */
export interface RecordSession {
  /** Name of the channel. */
  readonly channel: string;
  /** Session id within the channel. */
  readonly session: string;
}

/** A value under a key. */
export interface StoredRecord<T> {
  /** As it was passed to `put`. */
  readonly key: string;
  /** A copy of the value. */
  readonly value: T;
  /** Positive, and larger after each `put`; never used again in this collection. */
  readonly version: number;
  /** The session that it belongs to; absent if it belongs to none. */
  readonly session?: RecordSession;
}

/** A record was stored or removed, by this or another node. */
export interface RecordChange<T> {
  /** The key of the record. */
  readonly key: string;
  /** The stored record; absent if it was removed. */
  readonly record?: StoredRecord<T>;
}

/** Options of {@link Records.put}. */
export interface PutOptions {
  /**
   * Stores the value only if the record has this version: 0 for "there is none".
   *
   * @defaultValue any version
   */
  readonly version?: number;
  /** The record is removed when the conversation of this session is deleted. */
  readonly session?: RecordSession;
}

/**
 * The records of one name. Calls reject with `store_unavailable` if the store cannot be read or
 * written, and with `record_invalid` for a key or value that cannot be stored.
 */
export interface Records<T> {
  /** @returns The record, or undefined if there is none. */
  get(key: string): Promise<StoredRecord<T> | undefined>;
  /**
   * Lists the records, sorted by key.
   *
   * @param of - Only those of this session.
   */
  list(of?: RecordSession): Promise<readonly StoredRecord<T>[]>;
  /**
   * Stores a value. When the promise has resolved, a kill or a restart does not lose it.
   *
   * @param key - 1 to 256 characters. Not a secret: the store keeps it readable.
   * @param value - Any value that JSON can have, at most 64 KiB. May be a secret.
   * @returns The version of the record.
   * @throws record_conflict if `version` is not that of the record; `details.version` is.
   * @throws records_full if 10,000 records or 8 MiB are stored under the name.
   */
  put(key: string, value: T, options?: PutOptions): Promise<number>;
  /**
   * Removes a record. Does nothing if there is none.
   *
   * @param options - With `version`, only that version is removed.
   * @throws record_conflict if the record has another version.
   */
  remove(key: string, options?: { readonly version?: number }): Promise<void>;
  /**
   * Calls the listener after each change, of this node and of others, with what is stored then. It
   * may hear the same state twice.
   *
   * @returns Ends it. It ends with the records plugin, too.
   */
  watch(listener: (change: RecordChange<T>) => void): Release;
}

/**
 * The service of the plugin. Each plugin that declares it in `needs` or `uses` has names of its
 * own, and so does the host with `kernel.services.records`.
 *
 * @param name - Lower-case letters, digits and hyphens, at most 48, beginning with a letter.
 * @throws record_invalid if the name has another form.
 */
export type OpenRecords = <T = unknown>(name: string) => Records<T>;

/** A record as stores keep it: the value is JSON. */
export interface KeptRecord {
  /** As it was passed to `put`. */
  readonly key: string;
  /** The value. */
  readonly json: string;
  /** Positive. */
  readonly version: number;
  /** Absent if it belongs to none. */
  readonly session?: RecordSession | undefined;
}

/** A new value for {@link RecordStore.put}. */
export interface PutRecord extends Omit<KeptRecord, "version"> {
  /** Undefined for any version. */
  readonly expected: number | undefined;
}

/** The result of a `put`, or the version that is stored in place of the expected one. */
export type PutResult =
  | { readonly version: number }
  | { readonly conflict: number }
  | { readonly full: true };

/** Keeps the records of one owner and name. */
export interface RecordStore {
  /** Reads one record. */
  get(key: string): Promise<KeptRecord | undefined>;
  /** Reads all records, in any order. */
  list(): Promise<readonly KeptRecord[]>;
  /** Stores a value. */
  put(record: PutRecord): Promise<PutResult>;
  /** Removes a record. @returns The version that is stored in place of the expected one. */
  remove(key: string, expected: number | undefined): Promise<number | undefined>;
  /** Sets the listener for changes, once. Without a key, any record may have changed. */
  watch(changed: (key?: string) => void): void;
}

/** Records of a store that several nodes share. It removes those of deleted conversations. */
export interface SharedRecords {
  /** @param collection - Owner and name. Each collection is opened once. */
  open(collection: string): RecordStore;
}
