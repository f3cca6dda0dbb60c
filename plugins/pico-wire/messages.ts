/* What travels: one JSON object per WebSocket message. The types are what `decode` gives and `encode` takes. */

export type Party = "client" | "server";

export interface Envelope {
  /** Names the frame; answers carry it back as `request_id`. */
  readonly id?: string;
  readonly session_id?: string;
  /** Unix milliseconds. */
  readonly timestamp?: number;
}

/** An image inside a message: `data:<type>;base64,<base64>` on the wire. */
export interface Inline {
  /** `image/jpeg`, `image/png`, `image/gif`, `image/webp` or `image/bmp`. */
  readonly type: string;
  /** Standard alphabet, padded; never empty. */
  readonly base64: string;
}

export interface MessagePayload {
  readonly content: string;
  readonly media: readonly Inline[];
  /** Bridges the message has crossed. */
  readonly hops: number;
}

export interface Attachment {
  readonly type?: string;
  /** `data:` or `https:`. */
  readonly url: string;
  readonly filename?: string;
  readonly content_type?: string;
}

/** A whole message, or, as an update, the full text so far. */
export interface ServerMessage {
  readonly message_id: string;
  readonly content: string;
  readonly kind?: "thought" | "tool_calls";
  /** Goes with `kind: "thought"`. */
  readonly thought?: boolean;
  readonly tool_calls?: readonly unknown[];
  /** A sign of life that the real message replaces. */
  readonly placeholder?: boolean;
  readonly attachments?: readonly Attachment[];
  readonly model_name?: string;
  readonly context_usage?: unknown;
}

export interface ErrorPayload {
  /** One of `errors`; a newer server may know others. */
  readonly code: string;
  readonly message: string;
  readonly request_id?: string;
}

export interface TypingFrame extends Envelope {
  readonly type: "typing.start" | "typing.stop";
}
export interface PongFrame extends Envelope {
  readonly type: "pong";
}
export interface ErrorFrame extends Envelope {
  readonly type: "error";
  readonly payload: ErrorPayload;
}
export interface ServerMessageFrame extends Envelope {
  readonly type: "message.create" | "message.update" | "media.create";
  readonly payload: ServerMessage;
}

export type ClientFrame =
  | (Envelope & { readonly type: "message.send" | "media.send"; readonly payload: MessagePayload })
  | (Envelope & { readonly type: "ping" })
  | TypingFrame;

export type ServerFrame =
  | ServerMessageFrame
  | (Envelope & { readonly type: "message.delete"; readonly payload: { readonly message_id: string } })
  | ErrorFrame
  | PongFrame
  | TypingFrame;

export type Frame = ClientFrame | ServerFrame;

/** The body of `POST /pico/messages`. */
export interface MessageRequest {
  readonly id?: string;
  readonly session_id?: string;
  readonly payload: MessagePayload;
}
