// Types of the frames: one JSON object per WebSocket message.

/** The sender of a frame. */
export type Role = "client" | "server";

/** The fields that every frame may have. */
export interface Envelope {
  /** Identifies the frame; replies repeat it as `request_id`. */
  readonly id?: string;
  readonly session_id?: string;
  /** Unix milliseconds. */
  readonly timestamp?: number;
}

/** An image inside a message; on the wire `data:<type>;base64,<base64>`. */
export interface InlineImage {
  /** `image/jpeg`, `image/png`, `image/gif`, `image/webp` or `image/bmp`. */
  readonly type: string;
  /** Standard alphabet with padding; never empty. */
  readonly base64: string;
  /** A name for users; not safe as a path. */
  readonly filename?: string;
}

/** An attachment of a client message that the server does not support. */
export interface SkippedAttachment {
  /** The position in `media`; the positions of `attachments` follow. */
  readonly index: number;
  /** The file name that the client sent. */
  readonly filename?: string;
  /** The media type that the client sent. */
  readonly content_type?: string;
}

/** The content of a client message. */
export interface MessagePayload {
  readonly content: string;
  readonly media: readonly InlineImage[];
  /** Attachments that the application does not receive. Absent if there are none. */
  readonly skipped?: readonly SkippedAttachment[];
  /** The number of bridges that the message has crossed. */
  readonly hops: number;
}

/** A file that a server message refers to. */
export interface Attachment {
  readonly type?: string;
  /** `data:`, `https:`, or a path on the server; the link resolves paths. */
  readonly url: string;
  readonly filename?: string;
  readonly content_type?: string;
}

/**
 * The position of a frame. Only frames that must not be lost have a number: creates that are not
 * placeholders, final updates, and deletes. The numbers of an epoch have no gaps. Only clients of
 * extension 1 receive them.
 */
export interface StreamPosition {
  readonly seq?: number;
  readonly epoch?: string;
}

/** A complete message; in an update, the full text so far. */
export interface ServerMessage {
  /** Empty in a create of a server that does not name its messages. */
  readonly message_id: string;
  readonly content: string;
  /** The `id` of the client message that it answers. */
  readonly request_id?: string;
  readonly kind?: "thought" | "tool_calls";
  /** Present together with `kind: "thought"`. */
  readonly thought?: boolean;
  readonly tool_calls?: readonly unknown[];
  /** Shows that the application works; the real message replaces it. */
  readonly placeholder?: boolean;
  /** The text is complete. On creates and updates of extension 1. */
  readonly final?: boolean;
  readonly attachments?: readonly Attachment[];
  readonly model_name?: string;
  readonly context_usage?: unknown;
}

/** The content of an `error` frame. */
export interface ErrorPayload {
  /** One of `messageErrors`; a newer server may send others. */
  readonly code: string;
  readonly message: string;
  readonly request_id?: string;
}

/** The first frame to a client of extension 1, with the data for a resume. */
export interface Hello {
  /** The version of the extension: 1. */
  readonly version: number;
  /**
   * A secret of this client. A client that shows it, together with the token, takes over the
   * connection.
   */
  readonly conn_id: string;
  readonly session_id: string;
  /** Never empty, because a connection opens the stream of its session. */
  readonly epoch: string;
  /** The last number of the stream. A client that did not resume starts at `seq - replay`. */
  readonly seq: number;
  /** True if all frames after the cursor of the client follow. */
  readonly resumed: boolean;
  /** The number of numbered frames from before this connection that follow immediately. */
  readonly replay: number;
  /** True if a `gap` frame follows, because missed frames are lost. */
  readonly gap: boolean;
  /** Seconds between pings. */
  readonly ping_interval: number;
  /** Seconds without a frame after which the server closes the connection. */
  readonly read_timeout: number;
  /** Maximum bytes of one frame from the client. */
  readonly max_payload: number;
  /**
   * Limits of the frames kept for clients that reconnect, and how long they are kept after the last
   * connection.
   */
  readonly window: { readonly frames: number; readonly bytes: number; readonly ttl_s: number };
  /** Bounds of the client's backoff in milliseconds. */
  readonly retry: { readonly min: number; readonly max: number };
}

/**
 * Frames that the client will not receive. Without a range, the numbers belong to an earlier epoch.
 */
export interface Gap {
  readonly from?: number;
  /** Inclusive. */
  readonly to?: number;
  /** One of `gapReasons`; a newer server may send others. */
  readonly reason: string;
}

/** Information about a client message that is not an error. */
export interface Notice {
  /** `attachments_skipped`; a newer server may send others. */
  readonly code: string;
  /** A sentence for people. */
  readonly message: string;
  /** The `id` of the client message that the notice refers to. */
  readonly request_id?: string;
  /** The attachments that the server skipped. */
  readonly attachments?: readonly SkippedAttachment[];
}

/** Greets a client of extension 1. */
export interface HelloFrame extends Envelope {
  readonly type: "hello";
  readonly payload: Hello;
}
/** The application accepted the message, now or (`duplicate`) when it was sent before. */
export interface MessageAckFrame extends Envelope {
  readonly type: "message.ack";
  readonly payload: { readonly request_id: string; readonly status: "accepted" | "duplicate" };
}
/**
 * Informs a client of extension 1 about its message. `decodeServer` omits `attachments`, because
 * the link ignores these frames.
 */
export interface NoticeFrame extends Envelope {
  readonly type: "notice";
  readonly payload: Notice;
}
/** Reports frames that cannot be replayed. */
export interface GapFrame extends Envelope {
  readonly type: "gap";
  readonly payload: Gap;
}
/** The client has received everything up to `seq`. */
export interface AckFrame extends Envelope {
  readonly type: "ack";
  readonly payload: { readonly seq: number };
}
/** Removes a message. */
export interface DeleteFrame extends Envelope, StreamPosition {
  readonly type: "message.delete";
  readonly payload: { readonly message_id: string };
}

/** Starts or stops the typing indicator. */
export interface TypingFrame extends Envelope {
  readonly type: "typing.start" | "typing.stop";
}
/** Answers a `ping` frame. */
export interface PongFrame extends Envelope {
  readonly type: "pong";
}
/** Reports a rejected message or an error of the server. */
export interface ErrorFrame extends Envelope {
  readonly type: "error";
  readonly payload: ErrorPayload;
}
/** Creates or updates a message. */
export interface ServerMessageFrame extends Envelope, StreamPosition {
  readonly type: "message.create" | "message.update" | "media.create";
  readonly payload: ServerMessage;
}

/** A frame that a client sends. */
export type ClientFrame =
  | (Envelope & { readonly type: "message.send" | "media.send"; readonly payload: MessagePayload })
  | (Envelope & { readonly type: "ping" })
  | AckFrame
  | TypingFrame;

/** A frame that a server sends. */
export type ServerFrame =
  | ServerMessageFrame
  | DeleteFrame
  | HelloFrame
  | MessageAckFrame
  | NoticeFrame
  | GapFrame
  | ErrorFrame
  | PongFrame
  | TypingFrame;

/** A frame of the protocol. */
export type Frame = ClientFrame | ServerFrame;

/** The body of `POST /pico/messages`. */
export interface MessageRequest {
  readonly id?: string;
  readonly session_id?: string;
  readonly payload: MessagePayload;
}
