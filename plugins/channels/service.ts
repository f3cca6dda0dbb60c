import type { Awaitable, Release } from "../../kernel/index.ts";

export interface Address {
  readonly channel: string;
  readonly session: string;
}
export interface Media {
  /** MIME type. */
  readonly type: string;
  readonly bytes?: Uint8Array;
  readonly url?: string;
}
export interface Outgoing {
  readonly content: string;
  readonly kind?: "thought" | "tool_calls";
  readonly attachments?: readonly Media[];
  readonly inReplyTo?: string;
}
export interface Incoming extends Address {
  readonly id: string;
  readonly content: string;
  readonly media: readonly Media[];
  readonly sender?: string;
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
export interface Message extends Incoming {
  /** Acknowledges now, answers later: for work that takes minutes. */
  accept(): void;
  reply(message: Outgoing): Promise<Receipt>;
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
  attach(port: ChannelPort): Inlet;
  /** Exactly one: `application_taken`. */
  handle(application: Application, options?: ApplicationOptions): Release;
  send(to: Address, message: Outgoing): Promise<Receipt>;
  update(to: Address, id: string, message: Outgoing & { readonly final?: boolean }): Promise<Receipt>;
  remove(to: Address, id: string): Promise<Receipt>;
  typing(to: Address, on: boolean): void;
}

export interface Inlet {
  /** Settles when the application has: resolved = accepted, rejected = the channel reports an error, pending = the
   *  channel pauses. Rejects: `not_running`, `no_application`, `id_reused`, `loop`, or what the application threw. */
  deliver(message: Incoming, options?: { dedupe?: boolean }): Promise<"accepted" | "duplicate">;
  /** Later news of a message: delivered, undelivered. */
  receipt(session: string, receipt: Receipt): void;
  close(): void;
}

/** What a channel can do; what is absent is refused as `unsupported`. */
export interface ChannelPort {
  readonly name: string;
  send(session: string, id: string, message: Outgoing): Awaitable<Receipt>;
  update?(session: string, id: string, message: Outgoing & { readonly final?: boolean }): Awaitable<Receipt>;
  remove?(session: string, id: string): Awaitable<Receipt>;
  typing?(session: string, on: boolean): void;
}
