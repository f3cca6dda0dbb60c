/** The ids of messages that must not be handled twice. */
import type { Address } from "./messages.ts";

/** The id of an accepted or stopped message, with the digest of the message. */
export interface TakenId {
  /** Id of the message in its session, chosen by the client: at most 256 bytes. */
  readonly id: string;
  /**
   * Digest of content and media: SHA-256 in base64url, also of a short text. A message with the
   * same id and another digest is rejected as `id_reused`. Absent if the process ended after the
   * complete answer was stored and before the digest was: the message is a duplicate then,
   * whatever it says.
   */
  readonly digest?: string;
  /** Milliseconds since the application accepted it, or a client stopped it. */
  readonly ageMs: number;
  /** True if a client stopped the message before the application accepted it. */
  readonly stopped?: boolean;
  /**
   * True if the message is in the conversation, and the application has not accepted it: the
   * process ended before. It reaches the application again when it is repeated.
   */
  readonly begun?: boolean;
}

/**
 * The ids of messages that must not reach the application again: it has accepted them, or a client
 * has stopped them. Each session has its own.
 */
export interface TakenIds {
  /**
   * Reads the ids of a session of the last ten minutes, at most 1,024, oldest first, with those of
   * the messages among the newest 2,048 entries that were only begun. A store may look up `id`
   * alone instead, if the session has many.
   */
  known(
    address: Address,
    id?: string,
  ): Promise<readonly TakenId[] | { readonly found: TakenId | undefined }>;
  /**
   * Reads the ids of the messages of the application that answer a message which was only begun.
   * Absent if the ids end with the process.
   *
   * @returns Undefined if the conversation does not have the message.
   */
  replies?(address: Address, id: string): Promise<readonly string[] | undefined>;
  /**
   * Records that the message was accepted. Its acknowledgement waits for this.
   *
   * @param options.stopped - A client stopped the message instead. @defaultValue `false`
   * @throws store_unavailable if it could not be stored.
   */
  settle(
    address: Address,
    id: string,
    digest: string,
    options?: { readonly stopped?: boolean },
  ): Promise<void>;
  /**
   * Records that a message which is not stored belongs to a deleted conversation. For ten minutes a
   * repeated one is known, of which the store keeps nothing else.
   *
   * @throws store_unavailable if it could not be stored.
   */
  discard(address: Address, id: string): Promise<void>;
  /**
   * True if the message was deleted with its conversation in the last ten minutes. Absent if
   * `known` finds such messages, as stopped ones.
   *
   * @throws store_unavailable if that could not be read.
   */
  isDeleted?(address: Address, id: string): boolean;
}
