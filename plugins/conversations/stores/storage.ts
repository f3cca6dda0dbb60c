/**
 * The interface of a durable store. The log of `stores/stored-log.ts` keeps live sessions in memory
 * and writes through it; history is read from it directly.
 */
import type { Awaitable, Clock, Log } from "../../../kernel/index.ts";
import type { Address } from "../../channels/index.ts";
import type { ConversationHistory, StoreHealth, TakenId } from "../service.ts";

/** One numbered frame, as it was sent. */
export interface StoredFrame {
  /** Number of the frame in its stream, from 1. */
  readonly seq: number;
  /** Id of the message; undefined for frames without one. */
  readonly message: string | undefined;
  /** A complete Pico server frame: a JSON object in UTF-8, without its `seq` and `epoch`. */
  readonly frame: Uint8Array;
}

/** A frame to be written, with what history needs to know of it. */
export interface NewEntry extends Address {
  /** Number of the frame in its stream: one more than the previous entry. */
  readonly seq: number;
  /** Id of the message; undefined for frames without one. */
  readonly message: string | undefined;
  /**
   * `user`: a turn of a person (`message.user`). `create`, `update`, `delete`: of the application.
   * `other`: numbered, not part of history.
   */
  readonly op: "user" | "create" | "update" | "delete" | "other";
  /** True if the text is complete; only then it is indexed for search. */
  readonly final: boolean;
  /** Unix milliseconds. */
  readonly at: number;
  /**
   * A complete Pico server frame, as in {@link StoredFrame}. Most are strings in which each
   * character is one byte (Latin-1), which need no buffer of their own.
   */
  readonly frame: Uint8Array | string;
}

/** How far the readers of a stream have got. All are numbers of its epoch. */
export interface StreamPositions {
  /** Some client was sent everything up to this number. */
  readonly written: number;
  /** A client without acknowledgements was sent everything up to this number. */
  readonly plain: number;
  /** A client has acknowledged everything up to this number, except the numbers in a gap. */
  readonly acknowledged: number;
  /** True if a client may return with a cursor. */
  readonly resumes: boolean;
}

/** A stream as it was left. */
export interface StoredStream extends StreamPositions {
  /** 16 hexadecimal digits. */
  readonly epoch: string;
  /** Number of the last frame; 0 for an empty stream. */
  readonly seq: number;
  /** The last frames without a hole, ending at `seq`: at most 256 and 512 KiB. */
  readonly frames: readonly StoredFrame[];
  /** Ids taken in the last ten minutes, at most 1,024, oldest first. */
  readonly taken: readonly TakenId[];
}

/** Everything of one turn of the event loop: stored as a whole or not at all. */
export interface Batch {
  /** Streams that begin with this batch: they did not exist, or have a new epoch. */
  readonly streams: readonly (Address & { readonly epoch: string; readonly seq: number })[];
  /** In the order of the calls; the numbers of each stream are consecutive. */
  readonly entries: readonly NewEntry[];
  /**
   * Ids of messages that the application accepted, or that a client stopped before that. `at` is in
   * Unix milliseconds.
   */
  readonly taken: readonly (Address & {
    readonly id: string;
    readonly digest: string;
    readonly at: number;
    readonly stopped?: boolean;
  })[];
  /** The latest positions of the streams that moved. */
  readonly positions: readonly (Address & StreamPositions)[];
}

/** The parts of the plugin scope that a store uses. */
export interface StorageContext {
  /** The clock of the kernel. */
  readonly clock: Clock;
  /** Receives problems of the store, never the content of messages. */
  readonly log: Log;
  /** Returns this many cryptographically random bytes. */
  readonly random: (bytes: number) => Uint8Array;
}

/**
 * Opens a durable store when the plugin starts. If it rejects, the start fails with its error; the
 * plugin closes the store when it stops.
 */
export type ConversationStore = (context: StorageContext) => Awaitable<ConversationStorage>;

/** A durable store of conversations. */
export interface ConversationStorage extends ConversationHistory {
  /** Reads what a session needs to continue; undefined if it was never used, or forgotten. */
  load(address: Address): Promise<StoredStream | undefined>;
  /**
   * Writes a batch as a whole. Batches are written in the order of the calls.
   *
   * @returns Undefined if the batch is written; otherwise a promise.
   * @throws store_unavailable as a rejection, if nothing of it was written, for example because the
   *   disk is full.
   */
  commit(batch: Batch): Awaitable<void>;
  /**
   * Deletes the least recently used conversations that are too old or do not fit.
   *
   * @param isLive - Returns true for sessions with a client; they are kept.
   * @returns How many conversations were deleted.
   */
  retain(
    limits: { readonly keepDays: number; readonly maxBytes: number },
    isLive: (address: Address) => boolean,
  ): Promise<number>;
  /** Describes the store for pages, doctor and metrics, without reading the disk. */
  health(): StoreHealth;
  /** Writes all waiting batches and closes the store. */
  close(): Promise<void>;
}
