/** Messages in both directions, and how an application answers them. */
import type { Page, Turn } from "../conversations/index.ts";

/** The destination of a message: a session of a channel. */
export interface Address {
  /** Name of an attached channel, as its adapter declares it: `pico`. */
  readonly channel: string;
  /** Session id within the channel, chosen by the client or the channel. At most 256 bytes of
   *  UTF-8 without control characters on `pico`; other channels may use other forms. */
  readonly session: string;
}
/** The person or program that wrote a message, as the server knows it. Clients cannot set it. */
export interface Sender {
  /** `owner`: a sign-in of the dashboard. `token:NAME`: a client with that token. `host:ID`: the
   *  person that the host's `identify` named. */
  readonly id: string;
  /** Name for people, if the host knows one. */
  readonly name?: string;
}
/** A file or image of a message. */
export interface Media {
  /** MIME type, or only its first part (`image`) if the sender gave no more. */
  readonly type: string;
  /** The decoded file. A message needs `bytes` or `url`; `bytes` wins if both are set. */
  readonly bytes?: Uint8Array;
  /** An `https:` or `data:` URL. The channel does not fetch it. `pico` rejects other schemes as
   *  `unsupported`. */
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
}
/** The end of the work on one message of a client. */
export interface AnswerEnd extends EndOptions {
  /**
   * `stopped`: a stop was requested before the answer ended. `failed`: the application rejected the
   * message or failed later.
   */
  readonly outcome: "completed" | "stopped" | "failed";
  /** Code of the error, with the outcome `failed`. */
  readonly code?: string;
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
/** An earlier turn that a client repeats with its message. A claim of the client, never checked. */
export interface PreviousTurn {
  /** The author, in the terms of language models. */
  readonly role: "system" | "user" | "assistant" | "tool";
  /** The text. May be empty if `media` has an item. */
  readonly content: string;
  /** Images of the turn. */
  readonly media?: readonly Media[];
  /** Name of the author, as the client gave it. */
  readonly name?: string;
}
/** A message to a client. */
export interface OutboundMessage {
  /** Text for the client; in an update, the full text so far. May be empty. On `pico`, the whole
   *  message has at most 512 KiB as JSON, and a larger one is rejected as `too_large`. */
  readonly content: string;
  /** Marks content that clients may fold: thoughts and tool calls. */
  readonly kind?: "thought" | "tool_calls";
  /** Marks a progress message. A later update replaces it, and it is not replayed to clients that
   *  connect afterwards. */
  readonly placeholder?: boolean;
  /** The calls that the message announces. Set with `kind: "tool_calls"`. */
  readonly toolCalls?: readonly ToolCall[];
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
  /** Bridges the message has crossed. A bridge sets the received number plus one. More than 4 is
   *  rejected as `loop`. A channel transmits the number if its protocol allows it. */
  readonly hops?: number;
}
/** A message from a client. */
export interface InboundMessage extends Address {
  /** Identifies the message within its session. The client chooses it; if it sends none, the
   *  channel makes one. At most 256 bytes of UTF-8 without control characters on `pico`. */
  readonly id: string;
  /** Text from the client, never trusted. At most 1 MiB of UTF-8 on `pico`. Empty only if
   *  `media` has an item. */
  readonly content: string;
  /** Images from the client, in order; empty without any. On `pico` at most 64, each with at
   *  most 20 MiB of `bytes`. */
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
  readonly door?: string;
  /** Earlier turns that the client sent along, oldest first: at most 256, with 1 MiB of text. */
  readonly previous?: readonly PreviousTurn[];
  /** Data of the client's protocol, at most 64 KiB as JSON. Doorward never interprets it. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Unix milliseconds. */
  readonly at: number;
  /** Bridges the message has crossed; more than 4 is rejected as `loop`. */
  readonly hops: number;
}
/** Delivery status of a sent message. It only advances: written or buffered, then delivered or
 *  undelivered. */
export interface Receipt {
  /** Id of the sent message: 32 hexadecimal digits, made by the channels plugin. Empty if a reply
   *  stream ended without text. */
  readonly id: string;
  /** `written`: given to a socket. `buffered`: kept, because no client is connected.
   *  `delivered`: acknowledged by the client. `undelivered`: lost, for `reason`. */
  readonly status: "written" | "buffered" | "delivered" | "undelivered";
  /** Why the message is `undelivered`: a short code such as `overflow`, `expired` or `aborted`. */
  readonly reason?: string;
}
/** Selects a page of history. */
export interface HistoryOptions {
  /** 1 to 200. @defaultValue `50` */
  readonly limit?: number;
  /** The `before` of the page that follows. @defaultValue the end of the conversation */
  readonly before?: string;
}
/** A message as the application receives it. */
export interface Message extends InboundMessage {
  /** Acknowledges the message before the application returns, for work that takes minutes. The next
   *  message of the session may then arrive, for example a request to stop. */
  accept(): void;
  /** Sends a message to this session that names this one as `inReplyTo`. `final: false` announces
   *  updates, as in `Channels.send`, and rejects like it. */
  reply(message: OutboundMessage & { readonly final?: boolean }): Promise<Receipt>;
  /** Opens a reply that grows. It names this message as `inReplyTo`. */
  stream(options?: StreamOptions): ReplyStream;
  /**
   * Aborts when a client stops this message (`stopped`), and when the kernel stops (`not_running`).
   * Pass it to the text generator. Replies after a stop reject with `stopped`.
   */
  readonly signal: AbortSignal;
  /**
   * Reads the turns of both sides in this session, oldest first, without this message. The page is
   * empty unless the plugin `conversations` has a durable store.
   *
   * @throws store_unavailable if the store cannot be read.
   */
  history(options?: HistoryOptions): Promise<Page<Turn>>;
  /** Adds facts about the end of the answer. Does not end it: the answer ends when the application
   *  has returned and all its streams have ended. A `finishReason` marks the text as complete, so
   *  that a later stop does not change the outcome. */
  end(options: EndOptions): void;
}

/** Options of a growing reply. */
export interface StreamOptions extends Pick<OutboundMessage, "kind" | "inReplyTo" | "model"> {
  /** Aborts the stream with `no_client` when no client of the session has been connected for
   *  `afterMs`, or for the time in which the channel lets clients resume: 300 s for pico, 0 if the
   *  channel names none. Without it the reply continues for clients that return.
   *  @defaultValue `false` */
  readonly cancelWhenAlone?: boolean | { readonly afterMs: number };
}
/** A message that is shown while it grows. The first text sends it; updates with the full text
 *  so far follow, at most ten per second; the last update is final. A channel that cannot update
 *  messages receives the whole text at the end. */
export interface ReplyStream {
  /**
   * Adds text. Does nothing after an abort.
   *
   * @returns `false` if more than 65,536 characters wait to be shown: await `drained()`.
   * @throws stream_ended after `end`.
   */
  write(text: string): boolean;
  /**
   * Replaces the text so far.
   *
   * @throws stream_ended after `end`.
   */
  replace(text: string): void;
  /** Resolves when less text waits to be shown, or the stream has ended. */
  drained(): Promise<void>;
  /**
   * Sends the whole text and ends the reply.
   *
   * @returns The receipt; after an abort, the receipt of the text that was sent.
   * @throws undeliverable if the channel could not send the text.
   * @throws too_large if the text exceeds the limit of the channel.
   * @throws not_running if the kernel is not running.
   */
  end(
    last?: Pick<
      OutboundMessage,
      "attachments" | "contextUsage" | "model" | "usage" | "finishReason"
    >,
  ): Promise<Receipt>;
  /** Ends the reply with the text so far, and aborts `signal` with this reason. */
  abort(reason?: unknown): void;
  /** Aborts when the stream does: by `abort`, when the kernel stops (`not_running`), when the
   *  channel rejects the text, and with `cancelWhenAlone` (`no_client`). Pass it to the text
   *  generator. */
  readonly signal: AbortSignal;
}
