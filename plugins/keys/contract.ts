// Types and events of the plugin keys.
import type { Awaitable, Release } from "../../kernel/index.ts";
import type { Http, Identity, Peer } from "../http/index.ts";
import type { OpenRecords } from "../records/index.ts";

/** A right of a key. */
export type KeyScope = "read" | "write" | "answer" | "stop";
/** Where a client may use a key: the channel `/keys`, and three protocols. */
export type KeyProtocol = "keys" | "openai" | "ai_sdk" | "ag_ui";
/** The sessions of a key: those below `key:ID/`, all, or these by their names. */
export type KeySessions = "own" | "all" | readonly string[];

/** A key without its secret. */
export interface Key {
  /** Eight letters and digits. It is part of the key, and no secret. */
  readonly id: string;
  /** A name for people: 1 to 64 characters, and no other key in use has it. */
  readonly name: string;
  /** `read`: connections, events, history and files. `write`: messages, files and the stop of own
   *  messages. `answer`: questions. `stop`: messages of all senders. */
  readonly scopes: readonly KeyScope[];
  /** The sessions that the key may use. */
  readonly sessions: KeySessions;
  /** Where clients may use it. */
  readonly protocols: readonly KeyProtocol[];
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** Unix milliseconds of the end; absent for a key without an end. */
  readonly expiresAt?: number;
  /** Unix milliseconds of the last use, exact to a minute. */
  readonly lastUsedAt?: number;
  /** Network of the last use: `10.0.0.0/24`, or the /48 of an IPv6 address. */
  readonly lastAddress?: string;
  /** Unix milliseconds of the revocation. */
  readonly revokedAt?: number;
}

/** A key as it is stored: with digests of its secrets, which do not reveal these. */
export interface StoredKey extends Key {
  /** SHA-256 of the secret in base64url; absent after the revocation. */
  readonly digest?: string;
  /** The secret before the last rotation, while it still counts. */
  readonly previous?: {
    /** SHA-256 of that secret in base64url. */
    readonly digest: string;
    /** Unix milliseconds of its end. */
    readonly until: number;
  };
  /** Set when `keys:expired` was emitted, so that a restart does not emit it again. */
  readonly expiryReported?: true;
}

/** A stored key, and the number of its version. */
export interface VersionedKey {
  /** The key. */
  readonly key: StoredKey;
  /** Grows with each change. */
  readonly version: number;
}

/** Stores keys: in memory, in the records of the conversations, or where a host wants. */
export interface KeyStore {
  /** Returns all keys. */
  list(): Awaitable<readonly VersionedKey[]>;
  /** Returns one key. */
  get(id: string): Awaitable<VersionedKey | undefined>;
  /**
   * Stores a key.
   *
   * @param version - The version that the caller has read; undefined for a new key.
   * @returns The new version; undefined if the key has changed since.
   */
  put(key: StoredKey, version: number | undefined): Awaitable<number | undefined>;
  /** Removes a key. */
  remove(id: string): Awaitable<void>;
  /** Calls a function within a second after a key has changed anywhere, or after the store was
   *  away. `id`: undefined if any may have changed. */
  watch(changed: (id: string | undefined) => void): Release;
}

/** A new key. */
export interface KeyInput {
  /** A name for people: 1 to 64 characters. */
  readonly name: string;
  /** @defaultValue `["read", "write"]` */
  readonly scopes?: readonly KeyScope[];
  /** @defaultValue `"own"` */
  readonly sessions?: KeySessions;
  /** @defaultValue all */
  readonly protocols?: readonly KeyProtocol[];
  /** Seconds until the key ends: at most ten years. @defaultValue never */
  readonly expiresInS?: number;
}

/** A key with its secret, which nothing shows again. */
export interface NewKey {
  /** The key without its secret. */
  readonly key: Key;
  /** `dwk_ID_…`, which clients send. */
  readonly secret: string;
}

/** The holder of a key, while its secret counts. */
export interface KeyIdentity extends Identity {
  /** Where clients may use it. */
  readonly protocols: ReadonlySet<KeyProtocol>;
  /** The rights of the key. */
  readonly may: ReadonlySet<KeyScope>;
  /** False after the key has expired or was revoked, or its secret was replaced. */
  isCurrent(): boolean;
}

/** The result of a check. An unknown id and a wrong secret have the same one. */
export type KeyVerdict =
  | { readonly outcome: "match"; readonly identity: KeyIdentity }
  | {
      readonly outcome: "mismatch";
      /** How many different wrong keys came from the address, if this one was counted. */
      readonly counted?: number;
    }
  | { readonly outcome: "expired" }
  | { readonly outcome: "limited"; readonly retryAfterSeconds: number };

/** Keys for programs and clients: each has its own name, rights, sessions and end. */
export interface Keys {
  /** Returns the keys, oldest first; those that were revoked, too. */
  list(): readonly Key[];
  /**
   * Creates a key.
   *
   * @throws invalid_key, key_name_taken, too_many_keys
   * @throws keys_unavailable if it cannot be stored.
   */
  create(input: KeyInput): Promise<NewKey>;
  /**
   * Gives a key a new secret.
   *
   * @param which - Id or name.
   * @param graceS - Seconds in which the old secret still counts: at most 30 days.
   *   @defaultValue `0`
   * @throws unknown_key
   * @throws keys_unavailable if it cannot be stored.
   */
  rotate(which: string, graceS?: number): Promise<NewKey>;
  /**
   * Ends a key, and closes its connections on all nodes within a second. Its runs go on.
   *
   * @param which - Id or name.
   * @throws unknown_key
   * @throws keys_unavailable if it cannot be stored.
   */
  revoke(which: string): Promise<Key>;
  /** Whether there is a key that was not revoked: without one, no protocol accepts keys. */
  isInUse(): boolean;
  /** Whether a text contains something in the form of a key. */
  containsKey(text: string): boolean;
  /** Checks what a client sent. Counts wrong keys by address and by id. */
  admit(candidate: string, peer: Peer): Promise<KeyVerdict>;
}

/** Events of the plugin. */
export type KeysEvents = {
  /** A key was created. */
  "keys:created": { id: string; name: string };
  /** A key was used for the first time. `address`: its network, such as `10.0.0.0/24`. */
  "keys:used-first": { id: string; name: string; address: string };
  /** A key received a new secret. `graceS`: seconds in which the old one still counts. */
  "keys:rotated": { id: string; name: string; graceS: number };
  /** The end of a key has come. */
  "keys:expired": { id: string; name: string };
  /** A key was revoked, here or on another node. */
  "keys:revoked": { id: string; name: string };
};

/** The plugin's events and services. */
export type KeysShape = {
  /** New, rotated, expired and revoked keys. */
  emits: KeysEvents;
  /** The http plugin for the limits on wrong keys. */
  needs: { http: Http };
  /** The records, where the keys are stored. Without them and without `store`, keys end with the
   *  process. */
  uses: { records: OpenRecords };
  /** The service that the channels and the dashboard use. */
  offers: { keys: Keys };
};
