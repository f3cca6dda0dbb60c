/** Messages, questions and addresses: the words that channels and conversations share. */
import type { PlanEntry, StepDetail, StepState } from "../../lib/step-details.ts";
import type { Address, Sender } from "./address.ts";
import type { DurableAnswer, Question } from "./question.ts";

export type { PlanEntry, StepDetail, StepState } from "../../lib/step-details.ts";
export type * from "./address.ts";
export type * from "./question.ts";

/** A file or image of a message. */
export interface Media {
  /** Identifies a stored file of this session. A message needs `id`, `bytes` or `url`. */
  readonly id?: string;
  /** Bytes of a stored file. */
  readonly size?: number;
  /** SHA-256 of a stored file, in hexadecimal digits. */
  readonly sha256?: string;
  /**
   * Opens a stored file. Present on messages that the application receives.
   *
   * @throws unknown_media if the file was deleted.
   */
  readonly open?: () => Promise<AsyncIterable<Uint8Array>>;
  /** MIME type, or only its first part (`image`) if the sender gave no more. */
  readonly type: string;
  /** The decoded file. It overrides `url`. */
  readonly bytes?: Uint8Array;
  /** An `https:` or `data:` URL, or the path of a stored file. The channel does not fetch it.
   *  `pico` rejects other schemes as `unsupported`. */
  readonly url?: string;
  /** A name for users. From a client it is untrusted: do not use it as a path. */
  readonly filename?: string;
}

/** A tool call of a language model. */
export interface ToolCall {
  /** Identifies the call among the calls of one message. The language model makes it; Doorward
   *  passes it on unchanged. */
  readonly id: string;
  /** Name of the function that the model calls. */
  readonly name: string;
  /** Arguments of the call as JSON text, as the model wrote them. */
  readonly arguments: string;
  /** The text or JSON text that the tool returned. Absent while it runs, or if the application does
   *  not say. Send it in an update of the message, or in a later message with the same call. */
  readonly result?: string;
  /** Why the call failed. Replaces `result`. */
  readonly error?: string;
  /** Asks the client to run the call, if its request offered a tool of this name. The results
   *  arrive as a message with `toolResults`. Without it, the application runs the call. */
  readonly for?: "client";
  /** Names the step for people, for example "Edit config.json". At most 256 characters. */
  readonly title?: string;
  /** Kind of the step. */
  readonly kind?: StepKind;
  /** State of the step. */
  readonly state?: StepState;
  /** Diffs, texts and terminal output. A message has at most 256 KiB of them; more is cut. */
  readonly details?: readonly StepDetail[];
  /** Files that the step is about. */
  readonly locations?: readonly StepLocation[];
}

/** Kind of a step. */
export type StepKind =
  | "read"
  | "edit"
  | "delete"
  | "move"
  | "search"
  | "execute"
  | "think"
  | "fetch"
  | "other";

/** A place in a file. */
export interface StepLocation {
  /** Path of the file, for display. */
  readonly path: string;
  /** Line, counting from 1. */
  readonly line?: number;
}

/** The JSON that the client wants as the text of the answer. Doorward does not check the answer. */
export interface OutputForm {
  /** JSON Schema. `{"type": "object"}` if the client wants any object. At most 256 KiB as JSON. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** The name that the client gave the schema. */
  readonly name?: string;
  /** True if the answer must follow the schema exactly. */
  readonly strict?: boolean;
}

/** A tool that a client offers to run. A claim of the client. */
export interface ClientTool {
  /** Name of the function: at most 256 characters. */
  readonly name: string;
  /** Describes the tool to a language model. */
  readonly description?: string;
  /** JSON Schema of the arguments. */
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** Which tools a client wants to be called. With `none`, no call reaches the client. */
export type ToolChoice = "auto" | "none" | "required" | { readonly name: string };

/** The result of a call that a client has run. */
export interface ToolResult {
  /** Id of the call. */
  readonly id: string;
  /** Name of the function that was called. */
  readonly name?: string;
  /** The text or JSON text that the tool returned, or why it failed. Never trusted. */
  readonly content: string;
  /** True if the call failed. */
  readonly isError?: boolean;
}

/** Use of a language model's context window, in tokens. */
export interface ContextUsage {
  /** Tokens that the conversation, instructions and tools occupy now. */
  readonly used: number;
  /** Tokens that the context window of the model holds. */
  readonly total: number;
  /** Tokens of the conversation so far, without instructions and tools. */
  readonly history?: number;
  /** Tokens at which the application compresses the context. */
  readonly compressAt?: number;
  /** Tokens at which the application summarises the conversation. */
  readonly summarizeAt?: number;
  /** Share of `total` in use, from 0 to 100. */
  readonly usedPercent?: number;
}

/**
 * Tokens that a language model used for an answer. Totals include their parts. An absent field is
 * unknown, never 0.
 */
export interface Usage {
  /** Tokens that the model read. */
  readonly input?: number;
  /** Tokens that the model wrote. */
  readonly output?: number;
  /** The part of `output` that the model used to think. */
  readonly reasoning?: number;
  /** The part of `input` that the model had cached. */
  readonly cached?: number;
}

/** Why the text of an answer ended. */
export type FinishReason = "stop" | "length" | "content_filter" | "stopped" | "error";

/** Facts about the end of an answer. All are optional. */
export interface EndOptions {
  /** Tokens that the answer used. */
  readonly usage?: Usage;
  /** @defaultValue `stop`, `stopped` or `error`, by the outcome */
  readonly finishReason?: FinishReason;
  /** Name of the language model that wrote the answer. */
  readonly model?: string;
  /** Messages that chat pages offer to send next: at most four, each of 1 to 80 characters. Others
   *  are left out, with a warning in the log, and so are all unless the answer is completed. */
  readonly suggestions?: readonly string[];
}

/** The end of the work on one message of a client. */
export interface AnswerEnd extends EndOptions {
  /**
   * `stopped`: a stop was requested before the answer ended. `failed`: the application rejected the
   * message or failed later.
   */
  readonly outcome: "completed" | "stopped" | "failed";
  /** With `failed`, the code of the error; with `stopped`, `not_running` if the kernel stopped. */
  readonly code?: string;
  /** With `failed`, the sentence of the error, if the application wrote one for clients: plain text
   *  of at most 1,000 characters. */
  readonly message?: string;
  readonly finishReason: FinishReason;
  /** Replies and streams that the application opened. */
  readonly messages: number;
}

/** The effect of a request to stop a message. */
export type StopStatus =
  /** The application is asked to stop; its answer has not ended yet. */
  | "stopping"
  /** The message waited and is removed; the application never received it. */
  | "removed"
  /** The answer had ended before. */
  | "over"
  /** The session has no such message. */
  | "unknown";

/** The effect of a request to stop, by message. */
export interface StopResult {
  /** Id of the message. */
  readonly id: string;
  /** The effect on this message. */
  readonly status: StopStatus;
}

/** A message that the application works on. */
export interface RunningMessage {
  /** Id of the message. */
  readonly id: string;
  /** Unix milliseconds at which it arrived. */
  readonly at: number;
}

/** An earlier turn that a client repeats with its message. A claim of the client, never checked. */
export interface PreviousTurn {
  /** The author, in the terms of language models. */
  readonly role: "system" | "user" | "assistant" | "tool";
  /** The text. May be empty if `media` or `toolCalls` has an item, and with the role `tool`. */
  readonly content: string;
  /** Calls of a turn of the role `assistant`. */
  readonly toolCalls?: readonly ToolCall[];
  /** Id of the call whose result this turn of the role `tool` is. */
  readonly toolCallId?: string;
  /** Images of the turn. */
  readonly media?: readonly Media[];
  /** Name of the author, as the client gave it. */
  readonly name?: string;
}

/** A message from a client. */
export interface InboundMessage extends Address {
  /** Identifies the message within its session. The client chooses it; if it sends none, the
   *  channel makes one. At most 256 bytes of UTF-8 without control characters on `pico`. */
  readonly id: string;
  /** Text from the client, never trusted. At most 1 MiB of UTF-8 on `pico`. Empty only if
   *  `media` or `toolResults` has an item, or `continues` is set. */
  readonly content: string;
  /** Images and files from the client, in order; empty without any. On `pico` at most 64; images
   *  inside the message have at most 20 MiB of `bytes`. */
  readonly media: readonly Media[];
  /**
   * The person or program that wrote the message, as the channel knows it: never what the client
   * claims. Always set on `pico`.
   */
  readonly sender?: Sender;
  /** Id of the sent message that this one replies to, if the client names it. */
  readonly inReplyTo?: string;
  /**
   * Id of an earlier message of this session. This message is a new version of it, and everything
   * that followed it belongs to the earlier version. The channel has checked that it exists.
   */
  readonly replaces?: string;
  /** Name of the protocol that the message arrived through, if the channel has several. */
  readonly protocol?: string;
  /** Earlier turns that the client sent along, oldest first: at most 256, with 1 MiB of text. */
  readonly previous?: readonly PreviousTurn[];
  /** Tools that the client can run: at most 128, with 256 KiB as JSON. */
  readonly tools?: readonly ClientTool[];
  /** Which of `tools` the client wants to be called. Absent means `auto`. */
  readonly toolChoice?: ToolChoice;
  /** The JSON that the client wants as the text of the answer. Absent: any text. */
  readonly output?: OutputForm;
  /** Results of calls that an earlier answer of this session asked the client to run. */
  readonly toolResults?: readonly ToolResult[];
  /** Asks to continue the last turn of `previous`, which has the role `assistant`. Only for
   *  applications with the capability `continue`. */
  readonly continues?: true;
  /** Data of the client's protocol, at most 64 KiB as JSON. Doorward never interprets it. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** The answer to a durable question that this message delivers. Clients cannot set it. */
  readonly answer?: DurableAnswer;
  /** Unix milliseconds. */
  readonly at: number;
  /** Bridges the message has crossed; more than 4 is rejected as `loop`. */
  readonly hops: number;
}

/** A message to a client. */
export interface OutboundMessage {
  /** Text for the client; in an update, the full text so far. May be empty. On `pico`, the whole
   *  message has at most 512 KiB as JSON, and a larger one is rejected as `too_large`. */
  readonly content: string;
  /** Marks content that clients may fold: thoughts, tool calls, and plans. A `notice` has words of
   *  Doorward or a bridge, not of the agent: clients that do not know notices receive none, and
   *  `history` leaves them out. */
  readonly kind?: "thought" | "tool_calls" | "plan" | "notice";
  /** Marks a progress message. A later update replaces it, and it is not replayed to clients that
   *  connect afterwards. */
  readonly placeholder?: boolean;
  /** The calls that the message announces. Set with `kind: "tool_calls"`. */
  readonly toolCalls?: readonly ToolCall[];
  /** The plan. Set with `kind: "plan"`; `content` has the same as a list;
   *  if it is empty, the channels write it. At most 100 entries. */
  readonly entries?: readonly PlanEntry[];
  /** Files for the client, in order. Absent means none. */
  readonly attachments?: readonly Media[];
  /** Id of the client message that this one answers. `reply` and `stream` of a message set it. */
  readonly inReplyTo?: string;
  /** Name of the language model that wrote the message. */
  readonly model?: string;
  /** Token counts that the client may show. `pico` sends them as `context_usage`. */
  readonly contextUsage?: ContextUsage;
  /** Tokens of the answer, for its end. Read from replies only. */
  readonly usage?: Usage;
  /** Why the answer ended. Read from replies only. */
  readonly finishReason?: FinishReason;
  /** Messages to offer next. Read from replies only. */
  readonly suggestions?: readonly string[];
  /** The question that the message asks or settles. Set by `ask`. A channel that does not know
   *  questions shows `content`. */
  readonly question?: Question;
  /** Bridges the message has crossed. A bridge sets the received number plus one. More than 4 is
   *  rejected as `loop`. A channel transmits the number if its protocol allows it. */
  readonly hops?: number;
}

/** A message to a client that may still grow. */
export interface GrowingMessage extends OutboundMessage {
  /** `false`: updates follow, and the last one has `true`. @defaultValue `true` when it is sent */
  readonly final?: boolean;
  /** In an update: the end of `content`, if the text before it is what the client has. A channel
   *  that can add text sends this part only. Absent: the update replaces the text. */
  readonly added?: string;
  /** Set with `final` in the last update of a text that is not complete: the code of the reason.
   *  History keeps the message as incomplete. Set by Doorward when the kernel stops. */
  readonly cut?: "not_running";
}

/** Selects a page of history. */
export interface HistoryOptions {
  /** 1 to 200. @defaultValue `50` */
  readonly limit?: number;
  /** The `before` of the page that follows. @defaultValue the end of the conversation */
  readonly before?: string;
}
