/* What travels: one JSON object per WebSocket message. The types are what `decode` gives and `encode` takes. */

export type Role = "client" | "server";

export interface Envelope {
  /** Names the frame; answers carry it back as `request_id`. */
  readonly id?: string;
  readonly session_id?: string;
  /** Unix milliseconds. */
  readonly timestamp?: number;
}

/** An image inside a message: `data:<type>;base64,<base64>` on the wire. */
export interface InlineImage {
  /** `image/jpeg`, `image/png`, `image/gif`, `image/webp` or `image/bmp`. */
  readonly type: string;
  /** Standard alphabet, padded; never empty. */
  readonly base64: string;
  /** As the client names it; for people, not for paths. */
  readonly filename?: string;
}

export interface MessagePayload {
  readonly content: string;
  readonly media: readonly InlineImage[];
  /** Bridges the message has crossed. */
  readonly hops: number;
}

export interface Attachment {
  readonly type?: string;
  /** `data:`, `https:`, or a path on the server; the link resolves paths. */
  readonly url: string;
  readonly filename?: string;
  readonly content_type?: string;
}

/** Only frames that must not be lost have a number: creates that are no placeholders, final updates, deletes. Numbers
 *  of an epoch follow each other without a hole. Only clients of extension 1 see it. */
export interface StreamPosition {
  readonly seq?: number;
  readonly epoch?: string;
}

/** A whole message, or, as an update, the full text so far. */
export interface ServerMessage {
  /** Empty in a create whose server names no messages. */
  readonly message_id: string;
  readonly content: string;
  /** The message of a client that it answers, by its `id`. */
  readonly request_id?: string;
  readonly kind?: "thought" | "tool_calls";
  /** Goes with `kind: "thought"`. */
  readonly thought?: boolean;
  readonly tool_calls?: readonly unknown[];
  /** A sign of life that the real message replaces. */
  readonly placeholder?: boolean;
  /** Nothing follows: the text is whole. On creates and updates of extension 1. */
  readonly final?: boolean;
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

/** The first frame to a client of extension 1, with what it needs for a resume. */
export interface Hello {
  /** Of the extension: 1. */
  readonly version: number;
  /** A secret of this client: whoever shows it with the token takes the connection over. */
  readonly conn_id: string;
  readonly session_id: string;
  /** Never empty: a connection opens its session's stream. */
  readonly epoch: string;
  /** The stream's last number. The client stands at `seq - replay` when it did not resume. */
  readonly seq: number;
  /** The frames after the client's cursor follow, all of them. */
  readonly resumed: boolean;
  /** Numbered frames from before this connection that follow at once. */
  readonly replay: number;
  /** A `gap` frame comes next: what the client missed is lost. */
  readonly gap: boolean;
  /** Seconds. */
  readonly ping_interval: number;
  /** Seconds. */
  readonly read_timeout: number;
  /** Bytes of one frame from the client. */
  readonly max_payload: number;
  /** What a stream holds for those who come back, and for how long after the last connection. */
  readonly window: { readonly frames: number; readonly bytes: number; readonly ttl_s: number };
  /** Bounds of the client's backoff, milliseconds. */
  readonly retry: { readonly min: number; readonly max: number };
}

/** What the client will not get. Without a range, the numbers belonged to an epoch that is over. */
export interface Gap {
  readonly from?: number;
  /** Inclusive. */
  readonly to?: number;
  /** One of `gapReasons`; a newer server may know others. */
  readonly reason: string;
}

export interface HelloFrame extends Envelope {
  readonly type: "hello";
  readonly payload: Hello;
}
/** The application took the message, now or (`duplicate`) when it was sent before. */
export interface MessageAckFrame extends Envelope {
  readonly type: "message.ack";
  readonly payload: { readonly request_id: string; readonly status: "accepted" | "duplicate" };
}
export interface GapFrame extends Envelope {
  readonly type: "gap";
  readonly payload: Gap;
}
/** Everything up to `seq` has arrived. */
export interface AckFrame extends Envelope {
  readonly type: "ack";
  readonly payload: { readonly seq: number };
}
export interface DeleteFrame extends Envelope, StreamPosition {
  readonly type: "message.delete";
  readonly payload: { readonly message_id: string };
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
export interface ServerMessageFrame extends Envelope, StreamPosition {
  readonly type: "message.create" | "message.update" | "media.create";
  readonly payload: ServerMessage;
}

export type ClientFrame =
  | (Envelope & { readonly type: "message.send" | "media.send"; readonly payload: MessagePayload })
  | (Envelope & { readonly type: "ping" })
  | AckFrame
  | TypingFrame;

export type ServerFrame =
  | ServerMessageFrame
  | DeleteFrame
  | HelloFrame
  | MessageAckFrame
  | GapFrame
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
