// Types of the frames: one JSON object per WebSocket message.
import type { QuestionAckFrame, QuestionAnswerFrame, WireQuestion } from "./question.ts";

/** The sender of a frame. */
export type Role = "client" | "server";

/** The fields that every frame may have. */
export interface Envelope {
  /** Identifies the frame; replies repeat it as `request_id`. */
  readonly id?: string;
  /**
   * Session that the frame belongs to: at most 256 bytes of UTF-8 without control characters.
   * Absent in a client frame means the session of the URL. Empty text counts as absent.
   */
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

/** A file that the client has uploaded to the session of the message before. */
export interface FileReference {
  /** The id that the upload returned: `m_` and at most 126 letters, digits, `-` or `_`. */
  readonly id: string;
}

/** An attachment of a client message that the server does not support. */
export interface SkippedAttachment {
  /** The position in `media`; the positions of `attachments` follow. */
  readonly index: number;
  /** The file name that the client sent: at most 256 characters, untrusted. */
  readonly filename?: string;
  /** The media type that the client sent: at most 256 characters, untrusted. */
  readonly content_type?: string;
}

/** The content of a client message. */
export interface MessagePayload {
  /** Text of the message: at most 1 MiB as UTF-8. Empty or blank only if `media` has an item. */
  readonly content: string;
  /**
   * Images in `data:` URLs, each at most 20 MiB decoded, and uploaded files, in the order of the
   * client. At most 64.
   */
  readonly media: readonly (InlineImage | FileReference)[];
  /** Attachments that the application does not receive. Absent if there are none. */
  readonly skipped?: readonly SkippedAttachment[];
  /** Bridges that the message has crossed, 0 to 255; 0 if the client names none. */
  readonly hops: number;
  /**
   * Id of an earlier client message of the session. This message and its answer are a new version
   * of that message and of everything that followed it.
   */
  readonly replaces?: string;
}

/** A file that a server message refers to. */
export interface Attachment {
  /** Kind of the file for display: `image`, `audio`, `video` or `file`. */
  readonly type?: string;
  /** `data:`, `https:`, or a path on the server; the link resolves paths. */
  readonly url: string;
  /** A name for users; not safe as a path. */
  readonly filename?: string;
  /** Media type such as `image/png`, if the server knows it. */
  readonly content_type?: string;
  /** Bytes, if the server knows them. */
  readonly size?: number;
}

/**
 * The position of a frame. Only frames that must not be lost have a number: creates that are not
 * placeholders, final updates, and deletes. The numbers of an epoch have no gaps. Only clients of
 * extension 1 receive them.
 */
export interface StreamPosition {
  /**
   * Number of the frame in its epoch, counting from 1. The client repeats it in `ack` and `resume`.
   */
  readonly seq?: number;
  /** Epoch that `seq` belongs to: at most 256 bytes; 16 hexadecimal digits from this server. */
  readonly epoch?: string;
}

/** A complete message; in an update, the full text so far. */
export interface ServerMessage {
  /** Empty in a create of a server that does not name its messages. */
  readonly message_id: string;
  /** Text for the user; in an update, the full text so far. May be empty. */
  readonly content: string;
  /** The `id` of the client message that it answers. */
  readonly request_id?: string;
  /** Marks messages that precede a reply and that clients may fold. Absent for replies. */
  readonly kind?: "thought" | "tool_calls" | "plan" | "notice";
  /** Present together with `kind: "thought"`. */
  readonly thought?: boolean;
  /**
   * `{"id", "type": "function", "function": {"name", "arguments"}}`, where `arguments` is JSON
   * text, and the optional `title`, `kind`, `state`, `details` and `locations` of the application.
   * Not validated by the decoder.
   */
  readonly tool_calls?: readonly unknown[];
  /**
   * The plan: `{"content", "priority"?, "state"}`. `content` of the message has the same as a
   * Markdown list. Not validated by the decoder.
   */
  readonly entries?: readonly unknown[];
  /** Shows that the application works; the real message replaces it. */
  readonly placeholder?: boolean;
  /** The text is complete. On creates and updates of extension 1. */
  readonly final?: boolean;
  /** Files in the order of the application, at most 64. Absent means none. */
  readonly attachments?: readonly Attachment[];
  /** Name of the language model that wrote the message. For display only. */
  readonly model_name?: string;
  /**
   * `{"used_tokens", "total_tokens", "history_tokens"?, "compress_at_tokens"?,
   * "summarize_at_tokens"?, "used_percent"?}`. Not validated by the decoder.
   */
  readonly context_usage?: unknown;
  /** The question that the message asks. Its last update settles it. */
  readonly question?: WireQuestion;
}

/** The content of an `error` frame. */
export interface ErrorPayload {
  /** One of `messageErrors`; a newer server may send others. */
  readonly code: string;
  /**
   * A sentence for people that names the cause and the fix. Its wording may change; programs
   * compare `code`.
   */
  readonly message: string;
  /** The `id` of the client message that was rejected. Absent if the frame had none. */
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
  /** Session of the connection: the one of the URL, or one that the server made. */
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
  /** The names of `pico_can` that the server knows. Absent if the client asked for none. */
  readonly can?: readonly string[];
  /**
   * The messages that the application works on, oldest first. Only for clients that asked for a
   * capability, and absent if the server does not know. `decodeServer` omits it.
   */
  readonly running?: readonly RunningRequest[];
  /**
   * Ids of the open questions, oldest first: others are settled. Those that the replay lacks follow
   * it, whole and without a number. Only for clients with `questions`, and absent if the server
   * does not know.
   */
  readonly questions?: readonly string[];
}

/** A message that the application works on: its `answer.end` will follow. */
export interface RunningRequest {
  /** The `id` of the client message. */
  readonly request_id: string;
  /** Unix milliseconds at which it arrived. */
  readonly at: number;
}

/**
 * Frames that the client will not receive. Without a range, the numbers belong to an earlier epoch.
 */
export interface Gap {
  /** First missing number. Absent with `epoch_changed`. */
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
  /** Always the first frame of a connection with extension 1. */
  readonly type: "hello";
  /** Everything that a later resume needs. */
  readonly payload: Hello;
}
/**
 * The application accepted the message, now or (`duplicate`) when it was sent before. To a client
 * with `turns`, `seq` and `epoch` are the position of its own turn, which it does not receive.
 */
export interface MessageAckFrame extends Envelope, StreamPosition {
  /** Sent to clients of extension 1 only; keep a message until its ack. */
  readonly type: "message.ack";
  /** `request_id` is the `id` of the client message. */
  readonly payload: { readonly request_id: string; readonly status: "accepted" | "duplicate" };
}
/**
 * Informs a client of extension 1 about its message. `decodeServer` omits `attachments`, because
 * the link ignores these frames.
 */
export interface NoticeFrame extends Envelope {
  /** Ignore notices with an unknown `code`. */
  readonly type: "notice";
  /** The client message, and what happened to it. */
  readonly payload: Notice;
}
/** Reports frames that cannot be replayed. */
export interface GapFrame extends Envelope {
  /** Precedes the frames that follow the gap. */
  readonly type: "gap";
  /** Range and reason of the missing frames. */
  readonly payload: Gap;
}
/** The client has received everything up to `seq`. */
export interface AckFrame extends Envelope {
  /** Clients of extension 1 send it once per second or every 32 numbers. */
  readonly type: "ack";
  /** `seq` acknowledges all numbers of the epoch up to this one. */
  readonly payload: { readonly seq: number };
}
/** Removes a message. */
export interface DeleteFrame extends Envelope, StreamPosition {
  /** Has a sequence number, so it survives a reconnect. */
  readonly type: "message.delete";
  /** `message_id` of the `message.create` that is removed for all clients. */
  readonly payload: { readonly message_id: string };
}

/** Starts or stops the typing indicator. */
export interface TypingFrame extends Envelope {
  /** Both sides may send it. It has no reply and no number, and may be lost. */
  readonly type: "typing.start" | "typing.stop";
}
/** Answers a `ping` frame. */
export interface PongFrame extends Envelope {
  /** Repeats the `id` of the `ping`. */
  readonly type: "pong";
}
/** Reports a rejected message or an error of the server. */
export interface ErrorFrame extends Envelope {
  /** The connection stays open, unless a close frame follows. */
  readonly type: "error";
  /** Code and text of the error. */
  readonly payload: ErrorPayload;
}
/** Creates or updates a message. */
export interface ServerMessageFrame extends Envelope, StreamPosition {
  /**
   * An update replaces the message with the same `message_id`. `media.create` is a create with
   * attachments.
   */
  readonly type: "message.create" | "message.update" | "media.create";
  /** The complete message, also in an update. */
  readonly payload: ServerMessage;
}

/** Names of `pico_can`: additions to extension 1 that a client asks for. */
export type Capability = "append" | "notices" | "questions" | "stop" | "turns" | "waiting";

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
  /** The sentence of the error, if the application wrote one: at most 1,000 characters. */
  readonly message?: string;
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

/** A frame that a client sends. */
export type ClientFrame =
  | QuestionAnswerFrame
  | (Envelope & { readonly type: "message.send" | "media.send"; readonly payload: MessagePayload })
  | (Envelope & { readonly type: "ping" })
  | AckFrame
  | StopFrame
  | TypingFrame;

/** A frame that a server sends. */
export type ServerFrame =
  | ServerMessageFrame
  | AppendFrame
  | DeleteFrame
  | HelloFrame
  | MessageAckFrame
  | NoticeFrame
  | GapFrame
  | UserTurnFrame
  | StopAckFrame
  | QuestionAckFrame
  | AnswerEndFrame
  | ErrorFrame
  | PongFrame
  | TypingFrame;

/** A frame as `decode` reads it from a server. */
export type ReceivedFrame = ServerFrame | UnknownFrame;

/** A frame of the protocol. */
export type Frame = ClientFrame | ServerFrame;

/** The body of `POST /pico/messages`. */
export interface MessageRequest {
  /**
   * Identifies the message within its session, so that a repeated request is a duplicate: at most
   * 256 bytes without control characters, chosen by the client. Without it, no request counts as a
   * duplicate.
   */
  readonly id?: string;
  /**
   * Session of the message: at most 256 bytes without control characters. Without it, the server
   * makes one.
   */
  readonly session_id?: string;
  /** The message; on the wire its fields are next to `id`, without `payload`. */
  readonly payload: MessagePayload;
}
