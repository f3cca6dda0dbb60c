/** Types and events of the channels service. */
import type { Awaitable, Release } from "../../kernel/index.ts";

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
/** A message as the application receives it. */
export interface Message extends InboundMessage {
  /** Acknowledges the message before the application returns, for work that takes minutes. The next
   *  message of the session may then arrive, for example a request to stop. */
  accept(): void;
  /** Sends a message to this session that names this one as `inReplyTo`. Rejects like
   *  `Channels.send`. */
  reply(message: OutboundMessage): Promise<Receipt>;
  /** Opens a reply that grows. It names this message as `inReplyTo`. */
  stream(options?: StreamOptions): ReplyStream;
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
   * @throws stream_ended after `end`.
   */
  write(text: string): void;
  /**
   * Sends the whole text and ends the reply.
   *
   * @returns The receipt; after an abort, the receipt of the text that was sent.
   * @throws undeliverable if the channel could not send the text.
   * @throws too_large if the text exceeds the limit of the channel.
   * @throws not_running if the kernel is not running.
   */
  end(last?: Pick<OutboundMessage, "attachments" | "contextUsage" | "model">): Promise<Receipt>;
  /** Ends the reply with the text so far, and aborts `signal` with this reason. */
  abort(reason?: unknown): void;
  /** Aborts when the stream does: by `abort`, when the kernel stops (`not_running`), when the
   *  channel rejects the text, and with `cancelWhenAlone` (`no_client`). Pass it to the text
   *  generator. */
  readonly signal: AbortSignal;
}
/** A function that processes messages. `signal` aborts when the kernel stops. */
export type Application = (message: Message, signal: AbortSignal) => Awaitable<void>;

/** Options of an application. */
export interface ApplicationOptions {
  /** Messages of one session that run in parallel until they are accepted. @defaultValue `1`: in
   *  order */
  readonly perSession?: number;
}

/** The channels service. Calls that send reject with `not_running`, `too_large`, `rate_limited`,
 *  `unsupported` or `undeliverable`. */
export interface Channels {
  /**
   * Attaches a channel.
   *
   * @throws channel_taken if a channel with this name is attached.
   */
  attach(adapter: ChannelAdapter): ChannelHandle;
  /**
   * Registers the application.
   *
   * @returns A function that removes it.
   * @throws application_taken if the kernel already has an application.
   */
  handle(application: Application, options?: ApplicationOptions): Release;
  /** Sends a message. `final: false` announces updates, the last of which has `final: true`;
   *  otherwise clients treat the message as complete. */
  send(to: Address, message: OutboundMessage & { readonly final?: boolean }): Promise<Receipt>;
  /** Replaces the content of a sent message. `id` is the one of its receipt. */
  update(
    to: Address,
    id: string,
    message: OutboundMessage & { readonly final?: boolean },
  ): Promise<Receipt>;
  /** Removes a sent message for all clients. `id` is the one of its receipt. */
  remove(to: Address, id: string): Promise<Receipt>;
  /** Shows or hides the typing indicator of a session. Does nothing on a channel without one. */
  typing(to: Address, on: boolean): void;
  /** Opens a message that grows. */
  stream(to: Address, options?: StreamOptions): ReplyStream;
}

/** Callbacks for the outcome of a delivery: one of them runs, once. */
export interface DeliveryCallbacks {
  /** The application accepted the message, now or (`duplicate`) when it was delivered before. */
  accepted(status: "accepted" | "duplicate"): void;
  /** The application or Doorward rejected the message. Errors of Doorward have the codes of
   *  `deliver`; errors of the application are passed on as they were thrown. */
  rejected(error: unknown): void;
}

/** The calls that an attached channel makes. */
export interface ChannelHandle {
  /**
   * Delivers a message to the application. While the promise is pending, the channel pauses.
   *
   * @returns A promise that resolves when the application has accepted the message. It rejects with
   *   the error of the application.
   * @throws not_running before the kernel is ready and after it stops.
   * @throws no_application if the kernel has no application.
   * @throws id_reused if another message of the session used the id.
   * @throws loop if the message has crossed more than 4 bridges.
   */
  deliver(
    message: InboundMessage,
    options?: { dedupe?: boolean },
  ): Promise<"accepted" | "duplicate">;
  /** Delivers without a promise, for channels with many messages. A callback may run before this
   *  call returns. */
  hand(
    message: InboundMessage,
    deliveryCallbacks: DeliveryCallbacks,
    options?: { dedupe?: boolean },
  ): void;
  /** Reports a later status of a sent message: delivered, undelivered. */
  receipt(session: string, receipt: Receipt): void;
  /** Reports that the client of a session began or stopped typing. */
  typing(session: string, on: boolean): void;
  /** Reports that the first client of the session has connected. */
  sessionActive(session: string): void;
  /** Reports that the last client of the session has disconnected. */
  sessionIdle(session: string): void;
  /** Returns true while the application processes a message of this session (default: of any
   *  session), even after it has acknowledged the message. */
  isBusy(session?: string): boolean;
  /** Detaches the channel. Later deliveries are rejected as `not_running`; other calls do
   *  nothing. */
  close(): void;
}

/** The receipt a channel returns. */
export interface AdapterReceipt extends Receipt {
  /** True if no later status will follow, so that the message need not be tracked. */
  readonly isLast?: boolean;
}

/** A plugin's implementation of a channel. A missing method is rejected as `unsupported`. */
export interface ChannelAdapter {
  /** Value of `channel` in addresses and messages. Each name can be attached once in a kernel. */
  readonly name: string;
  /** Milliseconds that a client may be away and still receive what it missed. @defaultValue `0` */
  readonly resumeMs?: number;
  /**
   * Sends a new message. With `final: false`, updates follow, and the last one has `final: true`.
   *
   * @param id - Id for later updates: 32 hexadecimal digits, never used before.
   * @returns The receipt, with the same id.
   * @throws too_large, rate_limited or undeliverable, which reach the caller of `Channels.send`. An
   *   error without a code becomes `undeliverable`.
   */
  send(
    session: string,
    id: string,
    message: OutboundMessage & { readonly final?: boolean },
  ): Awaitable<AdapterReceipt>;
  /** Replaces the content of a sent message by the full text so far. Fails like `send`. */
  update?(
    session: string,
    id: string,
    message: OutboundMessage & { readonly final?: boolean },
  ): Awaitable<AdapterReceipt>;
  /** Removes a sent message for all clients of the session. Fails like `send`. */
  remove?(session: string, id: string): Awaitable<AdapterReceipt>;
  /** Shows or hides the typing indicator. A loss is harmless, so it has no receipt. */
  typing?(session: string, on: boolean): void;
  /** Reports that the application failed after it had accepted this message, so that the client
   *  stops waiting for a reply. */
  failed?(session: string, id: string, error: unknown): void;
}

/** Events of the channels plugin. */
export type ChannelsEvents = {
  /** A channel delivered a message; emitted before the application runs, not for duplicates.
   *  Without content. */
  "channels:message-received": Address & {
    /** Id of the message within its session, as in `InboundMessage`. */
    readonly id: string;
    /** Id of the sender, if the channel knows it. */
    readonly sender?: string;
    /**
     * Size of the content as UTF-8 plus its media. A medium without bytes counts the characters of
     * its URL.
     */
    readonly bytes: number;
    /** Unix milliseconds at which the message arrived. */
    readonly at: number;
  };
  /** A client began or stopped typing. */
  "channels:typing-changed": Address & {
    /** True while the client types. */
    readonly on: boolean;
  };
  /** The first client of a session connected. */
  "channels:session-joined": Address;
  /** The last client of a session disconnected. */
  "channels:session-left": Address;
  /** The status of a sent message advanced. */
  "channels:receipt-changed": Address & Receipt;
};
