// Types of turns, ends of answers and stops.
import type { AnswerEndPayload, StoppedMessage, TurnMedia } from "../pico-wire/index.ts";

/** A message that a person sent from another device. */
export interface LinkTurn {
  /** Identifies the turn on the server: at most 256 bytes. */
  readonly id: string;
  /** The id that its sender gave the message. Answers have it as `requestId`. */
  readonly requestId: string;
  /** Text of the message. */
  readonly content: string;
  /** Images; those without `url` were too large to be repeated. */
  readonly media: readonly TurnMedia[];
  /** Files that are not images. */
  readonly attachments: readonly TurnMedia[];
  /** The person or token, as the server knows it. */
  readonly sender?: { readonly id: string; readonly name?: string };
  /** Name of the protocol that the message arrived through: `pico`. */
  readonly door: string;
  /** `requestId` of the turn that this one is a new version of. */
  readonly replaces?: string;
  /** Unix milliseconds. */
  readonly at: number;
}

/** The end of the work on a message. */
export interface LinkEnd {
  /** The id of the message. */
  readonly requestId: string;
  /** `completed`, `stopped` or `failed`. */
  readonly outcome: string;
  /** Code of the error, with the outcome `failed`. */
  readonly code?: string;
  /** `stop`, `length`, `content_filter`, `stopped` or `error`. */
  readonly finishReason: string;
  /** Tokens of the answer, as the server sent them. */
  readonly usage?: AnswerEndPayload["usage"];
}

/** The effect of a stop on one message. */
export interface StoppedAnswer {
  /** The id of the message. */
  readonly requestId: string;
  /**
   * `stopping`: the application was asked to stop. `removed`: the message had not reached it.
   * `over`: the answer had ended before. `unknown`: the conversation has no such message.
   */
  readonly status: StoppedMessage["status"];
}

/** A stop that the server has not answered. */
export interface StopRequest {
  /** The `id` of the frame. */
  readonly id: string;
  /** The message to stop; undefined: all messages. */
  readonly requestId: string | undefined;
  /** Unix milliseconds. */
  readonly at: number;
  /** Messages that were never sent, so this side has removed them. */
  readonly removed: readonly StoppedAnswer[];
  /** True if it was sent on the present connection. */
  readonly sent: boolean;
}
