// Types of the frames that a client asks for with `pico_can`.
import type { Attachment, Envelope, StreamPosition } from "./messages.ts";

/** Names of `pico_can`: additions to extension 1 that a client asks for. */
export type Capability = "append" | "questions" | "stop" | "turns";

/** The message of a person, as the other clients of the session receive it. */
export interface UserTurn {
  /** Identifies the turn among the messages of the session. */
  readonly message_id: string;
  /** The `id` that its client gave the message; answers repeat it as `request_id`. */
  readonly request_id: string;
  /** Text of the message. Cut at the end if the whole turn has more than 512 KiB as JSON. */
  readonly content: string;
  /** Images. The `url` of a `data:` image is missing if the turn would be too large with it. */
  readonly media: readonly TurnMedia[];
  /** Files that are not images. Always empty from this server. */
  readonly attachments: readonly TurnMedia[];
  /** The person or token, as the server knows it. */
  readonly sender?: { readonly id: string; readonly name?: string };
  /** Name of the protocol that the message arrived through: `pico`. */
  readonly door: string;
  /** `request_id` of the turn that this one is a new version of. */
  readonly replaces?: string;
  /** Results of calls that an answer asked a client to run. Not validated by the decoder. */
  readonly tool_results?: readonly unknown[];
}

/** An image or file of a turn. `decodeServer` omits those without `url`. */
export type TurnMedia = Partial<Attachment>;

/** The effect of a stop on one message. */
export interface StoppedMessage {
  /** The `id` of the client message. */
  readonly request_id: string;
  /** `stopping`, `removed`, `over` or `unknown`; a newer server may send others. */
  readonly status: string;
}

/** The end of the work on a client message. */
export interface AnswerEndPayload {
  /** The `id` of the client message. */
  readonly request_id: string;
  /** `completed`, `stopped` or `failed`; a newer server may send others. */
  readonly outcome: string;
  /** Code of the error, with the outcome `failed`. */
  readonly code?: string;
  /** `stop`, `length`, `content_filter`, `stopped` or `error`. */
  readonly finish_reason: string;
  /** `{"input_tokens"?, "output_tokens"?, "reasoning_tokens"?, "cached_tokens"?}`. Not validated
   *  by the decoder. */
  readonly usage?: unknown;
  /** Messages to offer next: at most four, each of 1 to 80 characters. */
  readonly suggestions?: readonly string[];
}

/** Text that a message has grown by. */
export interface AppendPayload {
  /** Identifies the message. */
  readonly message_id: string;
  /** Length of the text that the client has, in UTF-16 code units. */
  readonly at: number;
  /** Text to add at the end. May be empty in the last frame of a message. */
  readonly content: string;
  /** The text is complete. */
  readonly final?: boolean;
}

/** Adds text to a message that was created or updated on the same connection. */
export interface AppendFrame extends Envelope, StreamPosition {
  /** Sent to clients that asked for `append`. Has a number if it is final. */
  readonly type: "message.append";
  /** The message and its new text. */
  readonly payload: AppendPayload;
}
/** Asks to stop a message of the session, or all that run or wait. */
export interface StopFrame extends Envelope {
  /** The server answers with `stop.ack`, which repeats the `id` of this frame. */
  readonly type: "message.stop";
  /** `request_id` is the `id` of the message to stop. Absent: all of the session. */
  readonly payload: { readonly request_id?: string };
}
/** Answers a `message.stop`. */
export interface StopAckFrame extends Envelope {
  /** Sent to clients that asked for `stop`. */
  readonly type: "stop.ack";
  /** `request_id` is the `id` of the `message.stop` frame. */
  readonly payload: { readonly request_id?: string; readonly stopped: readonly StoppedMessage[] };
}
/** The work on a client message is over. Has no number; may be repeated after a resume. */
export interface AnswerEndFrame extends Envelope {
  /** Sent to clients that asked for a capability. */
  readonly type: "answer.end";
  /** The message and the outcome. */
  readonly payload: AnswerEndPayload;
}
/** A turn of a person on another device. */
export interface UserTurnFrame extends Envelope, StreamPosition {
  /** Sent to clients that asked for `turns`. */
  readonly type: "message.user";
  /** The message of the person. */
  readonly payload: UserTurn;
}
/** A numbered frame of a type that this version does not know. Only its number counts. */
export interface UnknownFrame extends Envelope, StreamPosition {
  /** Not sent by servers: `decodeServer` makes it. */
  readonly type: "unknown";
}
