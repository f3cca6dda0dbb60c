// A message that the program created and may still update.
import type { Release } from "../../kernel/index.ts";
import type { Address, OutboundMessage } from "../channels/index.ts";
import type { PendingMessage } from "./pending-entry.ts";

/** A message that the program created. */
export interface SentMessage {
  readonly address: Address;
  /** The message it replies to. */
  readonly request: PendingMessage | undefined;
  /** Identifier on the channel; undefined if it was not sent. */
  readonly id: Promise<string | undefined>;
  /** Fields that every update repeats. */
  readonly repeated: Pick<OutboundMessage, "kind" | "inReplyTo">;
  isFinal: boolean;
  /** True until an update replaces the placeholder. */
  isPlaceholder: boolean;
  /** Latest text, until the message is final. */
  content: string;
  /** Latest update that has not been sent. */
  nextUpdate: OutboundMessage | undefined;
  updatedAt: number;
  cancelTimer: Release | undefined;
}
