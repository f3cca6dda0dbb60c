// Messages between the main thread and the worker that owns the database.
import type { Address } from "../../../channels/index.ts";
import type { ConversationId, ConversationSummary, Page, SearchHit, Turn } from "../../service.ts";
import type { StoredStream } from "../storage.ts";
import type { StoreErrorCode } from "./errors.ts";

/** The numbers that the table `entry` stores for an operation. */
export const operations = { other: 0, user: 1, create: 2, update: 3, delete: 4 } as const;

export interface OpenRequest {
  readonly path: string;
  readonly durability: "process" | "power";
  /** Identifies the current start of the machine. */
  readonly boot: string;
  /** 64 hexadecimal digits of which new epochs are derived. */
  readonly seed: string;
  /** Limits the size of the database, for tests of a full disk. */
  readonly maxPages: number | undefined;
  /** The database that the file must still be, as `Opened.key`; undefined at the first time. */
  readonly key?: string | undefined;
}

/** A batch as columns, without its frames. `address` columns are positions in `addresses`. */
export interface BatchHeader {
  readonly addresses: readonly Address[];
  readonly streams: readonly {
    readonly address: number;
    readonly epoch: string;
    readonly seq: number;
  }[];
  readonly entries: {
    readonly address: readonly number[];
    readonly seq: readonly number[];
    readonly message: readonly (string | null)[];
    readonly op: readonly number[];
    readonly final: readonly number[];
    readonly at: readonly number[];
    /** Bytes of each frame. */
    readonly size: readonly number[];
  };
  readonly taken: readonly {
    readonly address: number;
    readonly id: string;
    readonly digest: string;
    readonly at: number;
    readonly stopped: boolean;
  }[];
  readonly positions: readonly {
    readonly address: number;
    readonly written: number;
    readonly plain: number;
    readonly acknowledged: number;
    readonly resumes: boolean;
  }[];
}

/** A batch as `encodeBatch` encodes it. */
export interface PackedBatch extends BatchHeader {
  /** All frames, one after the other. */
  readonly frames: Uint8Array;
}

/** The state of a file that was opened. */
interface Opened {
  /** Streams with a new epoch. */
  readonly renewed: number;
  /** Version of SQLite. */
  readonly sqlite: string;
  /** Identifies the database in the log. */
  readonly key: string;
  /** Number of the last batch in the log. */
  readonly last: number;
  /** True if the log has batches that do not follow the database, so that they are not used. */
  readonly hasOthers: boolean;
}

/** A conversation that retention may delete. */
export interface Candidate extends Address {
  readonly id: ConversationId;
}

interface Operation<Given, Result> {
  readonly given: Given;
  readonly result: Result;
}

/** The requests that the worker answers, in the order of their arrival. */
export interface Requests {
  open: Operation<OpenRequest, Opened>;
  /** Takes consecutive records of the log. Their rows are written later. */
  append: Operation<Uint8Array, undefined>;
  /** Writes the rows of the oldest batches, or of all. */
  write: Operation<{ readonly all: boolean }, undefined>;
  load: Operation<Address & { readonly now: number }, StoredStream | undefined>;
  list: Operation<ListRequest, Page<ConversationSummary>>;
  find: Operation<Address, ConversationSummary | undefined>;
  get: Operation<{ readonly id: ConversationId }, ConversationSummary>;
  read: Operation<ReadRequest, Page<Turn>>;
  search: Operation<{ readonly text: string; readonly limit: number }, readonly SearchHit[]>;
  rename: Operation<{ readonly id: ConversationId; readonly title: string }, undefined>;
  forget: Operation<{ readonly ids: readonly ConversationId[] }, number>;
  /** The least recently used conversations after `skip`, if they are too old or do not fit. */
  expired: Operation<ExpiredRequest, readonly Candidate[]>;
  /** Does a bounded part of the work that can wait. The result is true if more is left. */
  tidy: Operation<{ readonly isIdle: boolean }, boolean>;
  /** Writes to the file, to find out whether it can be written again. */
  probe: Operation<undefined, undefined>;
  /** Closes the file for a while. The result is false if rows are missing. */
  rest: Operation<undefined, boolean>;
  close: Operation<undefined, undefined>;
}

export interface ListRequest {
  readonly before: string | undefined;
  readonly limit: number;
  readonly query: string | undefined;
}
export interface ReadRequest {
  readonly id: ConversationId;
  readonly before: string | undefined;
  readonly after: string | undefined;
  readonly limit: number;
}
export interface ExpiredRequest {
  /** Unix milliseconds; conversations that were used later are not too old. */
  readonly before: number;
  readonly maxBytes: number;
  /** Ids of conversations that are kept. */
  readonly skip: readonly ConversationId[];
}

export type RequestName = keyof Requests;
export interface Request<K extends RequestName = RequestName> {
  readonly number: number;
  readonly name: K;
  readonly given: Requests[K]["given"];
}

/** Facts for `health`, sent with each reply, except to `append`. */
export interface Stats {
  readonly bytes: number;
  readonly conversations: number;
  readonly oldestAt: number | undefined;
  /** Unix milliseconds of the last use of the conversation that was not used for the longest. */
  readonly usedAt: number | undefined;
}

export interface Failure {
  readonly code: StoreErrorCode;
  readonly values: readonly string[];
  /** The message of the database, for the log. */
  readonly cause: string;
}

export interface Reply {
  readonly number: number;
  readonly result?: unknown;
  readonly failure?: Failure;
  readonly stats: Stats | undefined;
  /** Number of the last batch whose rows are written. */
  readonly written: number;
}
