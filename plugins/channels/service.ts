import type { Awaitable, Release } from "../../kernel/index.ts";

export interface Address {
  readonly channel: string;
  readonly session: string;
}
export interface Media {
  /** MIME type, or only its first part (`image`) where the sender named no more. */
  readonly type: string;
  readonly bytes?: Uint8Array;
  readonly url?: string;
  readonly filename?: string;
}
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON. */
  readonly arguments: string;
}
/** Tokens of a language model's context. */
export interface ContextUsage {
  readonly used: number;
  readonly total: number;
  /** Tokens of the conversation so far, without instructions and tools. */
  readonly history?: number;
  /** Tokens at which the application compresses the context. */
  readonly compressAt?: number;
  /** Tokens at which the application summarises the conversation. */
  readonly summarizeAt?: number;
  /** From 0 to 100. */
  readonly usedPercent?: number;
}
export interface OutboundMessage {
  readonly content: string;
  /** What clients may fold away: thoughts, and calls of tools. */
  readonly kind?: "thought" | "tool_calls";
  /** A sign of life that a later update of this message replaces; clients that come later do not get it. */
  readonly placeholder?: boolean;
  /** Goes with `kind: "tool_calls"`. */
  readonly toolCalls?: readonly ToolCall[];
  readonly attachments?: readonly Media[];
  readonly inReplyTo?: string;
  /** Name of the language model that wrote it. */
  readonly model?: string;
  readonly contextUsage?: ContextUsage;
  /** Bridges the message has crossed: whoever passes on what came in gives one more than it had. More than 4 is
   *  refused as `loop`. A channel that can carry the number does. */
  readonly hops?: number;
}
export interface InboundMessage extends Address {
  readonly id: string;
  readonly content: string;
  readonly media: readonly Media[];
  readonly sender?: string;
  /** The message of ours that it answers, where the other end says so. */
  readonly inReplyTo?: string;
  /** Unix milliseconds. */
  readonly at: number;
  /** Bridges the message has crossed; more than 4 is a loop. */
  readonly hops: number;
}
/** Statuses only grow: written or buffered, then delivered or undelivered. */
export interface Receipt {
  readonly id: string;
  readonly status: "written" | "buffered" | "delivered" | "undelivered";
  readonly reason?: string;
}
export interface Message extends InboundMessage {
  /** Acknowledges now, answers later: for work that takes minutes. */
  accept(): void;
  reply(message: OutboundMessage): Promise<Receipt>;
  /** An answer that grows. */
  stream(options?: StreamOptions): ReplyStream;
}

export interface StreamOptions extends Pick<OutboundMessage, "kind" | "inReplyTo" | "model"> {
  /** Aborts when the channel finds that nobody hears the answer; default false: it is finished for those who return. */
  readonly cancelWhenAlone?: boolean;
}
/** One message, shown as it grows: made with the first text, then updated with the full text so far, at most ten times
 *  a second, the last time as final. A channel that cannot change messages gets it whole at the end. */
export interface ReplyStream {
  /** Adds text. Does nothing after an abort; throws `stream_ended` after `end`. */
  write(text: string): void;
  /** Shows the whole text and ends. Rejects `undeliverable`, `too_large` or `not_running`; after an abort it resolves
   *  with the receipt of what was shown. */
  end(last?: Pick<OutboundMessage, "attachments" | "contextUsage" | "model">): Promise<Receipt>;
  /** Ends with the text so far. */
  abort(reason?: unknown): void;
  /** Aborts with the stream: by `abort`, when the service stops, when the channel refuses the text, and when nobody
   *  hears it (`cancelWhenAlone`). Give it to whatever makes the text. */
  readonly signal: AbortSignal;
}
/** `signal` aborts when the kernel stops. */
export type Application = (message: Message, signal: AbortSignal) => Awaitable<void>;

export interface ApplicationOptions {
  /** Messages of one session that run side by side; default 1: in order, one at a time. */
  readonly perSession?: number;
}

/** Rejections: `not_running`, `too_large`, `rate_limited`, `unsupported`, `undeliverable`. */
export interface Channels {
  /** A name twice: `channel_taken`. */
  attach(port: ChannelAdapter): ChannelHandle;
  /** Exactly one: `application_taken`. */
  handle(application: Application, options?: ApplicationOptions): Release;
  /** `final: false`: updates follow, the last one with `final: true`. Clients take anything else for whole. */
  send(to: Address, message: OutboundMessage & { readonly final?: boolean }): Promise<Receipt>;
  update(
    to: Address,
    id: string,
    message: OutboundMessage & { readonly final?: boolean },
  ): Promise<Receipt>;
  remove(to: Address, id: string): Promise<Receipt>;
  typing(to: Address, on: boolean): void;
  stream(to: Address, options?: StreamOptions): ReplyStream;
}

/** Who is told how a delivery ended: by one of both, once. */
export interface DeliveryCallbacks {
  accepted(status: "accepted" | "duplicate"): void;
  rejected(error: unknown): void;
}

export interface ChannelHandle {
  /** Settles when the application has: resolved = accepted, rejected = the channel reports an error, pending = the
   *  channel pauses. Rejects: `not_running`, `no_application`, `id_reused`, `loop`, or what the application threw. */
  deliver(
    message: InboundMessage,
    options?: { dedupe?: boolean },
  ): Promise<"accepted" | "duplicate">;
  /** The same for a channel that has many: `outcome` is told in place of a promise, maybe before this returns. */
  hand(
    message: InboundMessage,
    deliveryCallbacks: DeliveryCallbacks,
    options?: { dedupe?: boolean },
  ): void;
  /** Later news of a message: delivered, undelivered. */
  receipt(session: string, receipt: Receipt): void;
  /** Somebody in this session writes, or stopped. */
  typing(session: string, on: boolean): void;
  /** Nobody hears this session any more. */
  sessionIdle(session: string): void;
  /** The application is at a message of this session, or of any: what it acknowledged and still answers included. */
  isBusy(session?: string): boolean;
  close(): void;
}

/** What a channel answers. `isLast`: no news of the message will come, so that nobody has to wait for it. */
export interface AdapterReceipt extends Receipt {
  readonly isLast?: boolean;
}

/** What a channel can do; what is absent is refused as `unsupported`. */
export interface ChannelAdapter {
  readonly name: string;
  send(
    session: string,
    id: string,
    message: OutboundMessage & { readonly final?: boolean },
  ): Awaitable<AdapterReceipt>;
  update?(
    session: string,
    id: string,
    message: OutboundMessage & { readonly final?: boolean },
  ): Awaitable<AdapterReceipt>;
  remove?(session: string, id: string): Awaitable<AdapterReceipt>;
  typing?(session: string, on: boolean): void;
  /** The application had accepted this message and failed afterwards: whoever sent it waits for nothing. */
  failed?(session: string, id: string, error: unknown): void;
}

export type ChannelsEvents = {
  /** A channel delivered, before the application runs; not for duplicates. Without content. */
  "channels:message-received": Address & {
    readonly id: string;
    readonly bytes: number;
    readonly at: number;
  };
  /** Somebody at the other end began to write, or stopped. */
  "channels:typing-changed": Address & { readonly on: boolean };
  /** A sent message reached another status. */
  "channels:receipt-changed": Address & Receipt;
};
