// Types of turns, ends of answers and stops.
import type { TurnMedia } from "../pico-wire/index.ts";
import type { Open } from "./types.ts";

/** A message that a person sent from another device. */
export interface ChatTurn {
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
export interface ChatEnd {
  /** The id of the message. */
  readonly requestId: string;
  /** How it ended. */
  readonly outcome: Open<"completed" | "stopped" | "failed">;
  /** Code of the error, with the outcome `failed`. */
  readonly code?: string;
  /** Why the text ended. */
  readonly finishReason: Open<"stop" | "length" | "content_filter" | "stopped" | "error">;
  /** Tokens of the answer, if the application named them. */
  readonly usage?: ChatUsage;
  /** Messages to offer next, if the application named some: at most four, each of 1 to 80
   *  characters. */
  readonly suggestions?: readonly string[];
}

/** Tokens that a language model used for an answer. An absent field is unknown, never 0. */
export interface ChatUsage {
  /** Tokens that the model read. */
  readonly input?: number;
  /** Tokens that the model wrote. */
  readonly output?: number;
  /** The part of `output` that the model used to think. */
  readonly reasoning?: number;
  /** The part of `input` that the model had cached. */
  readonly cached?: number;
}

/** The effect of a stop on one message. */
export interface StoppedAnswer {
  /** The id of the message. */
  readonly requestId: string;
  /**
   * `stopping`: the application was asked to stop. `removed`: the message had not reached it.
   * `over`: the answer had ended before. `unknown`: the conversation has no such message.
   */
  readonly status: Open<"stopping" | "removed" | "over" | "unknown">;
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
