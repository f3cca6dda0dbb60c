// The interface of the session log: every message to a session passes through it.
import type { Awaitable } from "../../../kernel/index.ts";
import type { Cursor, ServerFrame } from "../../../lib/pico-wire/index.ts";
import type { QuestionMark } from "../question-frames.ts";

export type { Cursor } from "../../../lib/pico-wire/index.ts";

/** A complete WebSocket message. In a string, each character is one byte. */
export type EncodedFrame = string | Buffer;

/**
 * How an entry changes the text of a message, so that readers with the text before it can be sent
 * the added part only.
 */
export interface TextGrowth {
  /** Length of the text after this entry, in UTF-16 code units. */
  readonly length: number;
  /** Text that the entry adds at the end. Undefined: the entry replaces the text. */
  readonly added: string | undefined;
  /** Unix milliseconds. */
  readonly time: number;
  /** True if the text is complete. */
  readonly final: boolean;
  /**
   * `added`: only readers that are sent the added text need the entry, and one with `whole` and the
   * same text follows for the others, or a later text. @defaultValue all readers need it
   */
  readonly only?: "added" | "whole";
}

/** A frame for the log. */
export interface LogEntry {
  /** A complete frame: a JSON object in UTF-8, encoded once and shared by all subscribers. */
  readonly frame: Uint8Array;
  /** The same frame as a complete WebSocket message, if the writer encoded one. */
  readonly framed?: EncodedFrame | undefined;
  /** Type of the frame, if the writer set it. */
  readonly type?: ServerFrame["type"] | undefined;
  /**
   * True for frames that must not be lost: creates, final updates and deletes. Typing frames and
   * intermediate updates have no number.
   */
  readonly numbered: boolean;
  /**
   * Id of the message. For entries without a number, the latest one is kept until the message is
   * final or deleted.
   */
  readonly message?: string | undefined;
  /** For the turn of a person, the id that its client gave the message. */
  readonly request?: string | undefined;
  /**
   * The id of the message that this complete text answers. A store notes in the same step that the
   * application has taken that message.
   */
  readonly answers?: string | undefined;
  /** True for the complete text of a message. */
  readonly final?: boolean | undefined;
  /** True for a message of the kind `notice`, false for others, if the writer set it. */
  readonly notice?: boolean | undefined;
  /** Set if the entry asks or settles a question: a store keeps an index of them. */
  readonly question?: QuestionMark | undefined;
  /** Present while the entry is delivered to its subscribers. */
  readonly growth?: TextGrowth | undefined;
}
/** A log entry with its session and position. */
export interface SequencedEntry extends LogEntry {
  /** Session that the entry belongs to: at most 256 bytes of UTF-8. */
  readonly session: string;
  /** The position of a numbered entry; for other entries, the position of the last numbered one. */
  readonly cursor: Cursor;
  /** True if another process appended the entry. Absent if the log belongs to one process. */
  readonly isForeign?: boolean | undefined;
}
/** A subscriber of a session. An object instead of a function, because every connection is one. */
export interface Subscriber {
  /** Receives each entry of the session, in order. */
  onEntry(entry: SequencedEntry): void;
}
/** The result of appending an entry. */
export interface AppendResult {
  /** Undefined if the session has no stream. */
  readonly cursor: Cursor | undefined;
  /** How many subscribers in this process received the entry. */
  readonly subscribers: number;
  /** True if no receipt will follow, because the entry is kept for no client. */
  readonly settled?: boolean;
}
/** Frames that cannot be replayed. `from` and `to` are the first and last missing number. */
export type Gap =
  | { readonly reason: "overflow"; readonly from: number; readonly to: number }
  | { readonly reason: "epoch_changed" };

/** Frames that a reader has missed. */
export interface Replay {
  /** Undefined if the session has no stream. */
  readonly top: Cursor | undefined;
  /** The missing frames, which precede `frames`. */
  readonly gap?: Gap;
  /** Numbered frames without a gap, ending at `top`. */
  readonly frames: readonly Uint8Array[];
  /** The latest update of each unfinished message. */
  readonly partials: readonly Uint8Array[];
  /** The ends of the latest answers, oldest first, if the log keeps them: see `wantsEnds`. */
  readonly ends?: readonly Uint8Array[];
}

/** The numbers from `after + 1` to `upTo`. */
export interface SequenceRange {
  /** Epoch that the numbers belong to: 16 hexadecimal digits, made when a stream is created. */
  readonly epoch: string;
  /** Number before the first of the range; 0 starts at the first frame. */
  readonly after: number;
  /** Last number of the range, inclusive. */
  readonly upTo: number;
}
/**
 * How far entries have got.
 * `written`: written to a client without acknowledgements that has received everything before.
 * `answered`: sent in response to a request that waited for these entries alone.
 * `sent`: written to a client that will acknowledge them.
 * `acknowledged`: acknowledged by a client.
 */
export type DeliveryProgress = "written" | "answered" | "sent" | "acknowledged";

/**
 * Where a reader without a cursor starts.
 * `written`: after everything that was written to some client.
 * `acknowledged`: after everything that a client has acknowledged, or that was written to a client
 * without acknowledgements.
 */
export type DefaultStart = "written" | "acknowledged";

/**
 * Receives the final status of a message.
 * @param id - Id of the message.
 */
export type ReceiptListener = (
  session: string,
  id: string,
  status: "delivered" | "undelivered",
  reason?: "overflow" | "expired",
) => void;

/** How much a log keeps for clients that return, and for how long. */
export interface LogLimits {
  /** Frames that are kept for one session. */
  readonly frames: number;
  /** Bytes of these frames. The older ones are dropped when either limit is reached. */
  readonly bytes: number;
  /** Milliseconds that a stream is kept after its last subscriber left. */
  readonly retentionMs: number;
}

/** Options of a subscription. */
export interface SubscribeOptions {
  /**
   * The subscriber may return with a cursor, so the position is kept even if the stream is empty.
   *
   * @defaultValue `false`
   */
  readonly resumes?: boolean;
  /**
   * The subscriber receives the turns of people.
   *
   * @defaultValue `false`
   */
  readonly turns?: boolean;
  /**
   * The subscriber receives the ends of answers.
   *
   * @defaultValue `false`
   */
  readonly ends?: boolean;
}

/** Options of a subscription that begins with a replay. */
export interface JoinOptions extends SubscribeOptions {
  /** Reads the frames after this cursor; without one, the frames after the default start. */
  readonly after: Cursor | undefined;
  /** @defaultValue `"written"` */
  readonly defaultStart?: DefaultStart | undefined;
}

/** The callbacks of a channel that opened a log. */
export interface LogListeners {
  /** Receives the final status of messages whose first receipt was not final. */
  readonly onReceipt: ReceiptListener;
  /** The first subscriber of this session has joined. */
  readonly sessionActive: (session: string) => void;
  /** The last subscriber of this session has left. */
  readonly sessionIdle: (session: string) => void;
  /** The stream of this session ended. Its clients must connect again. */
  readonly renewed: (session: string) => void;
  /**
   * The node that worked on the messages of this session is gone, and the answers that it had begun
   * are over.
   */
  readonly interrupted?: (session: string) => void;
  /**
   * A client of this session has connected to another node.
   *
   * @param isSame - True for the secret that `replaceElsewhere` received there.
   */
  readonly replaced?: (session: string, isSame: (secret: string) => boolean) => void;
}

/**
 * Stores and distributes the frames of all sessions. Callers must not assume that one process has
 * the whole log.
 */
export interface SessionLog {
  /**
   * Limits of the frames that are kept for clients that return. The `hello` frame announces them.
   */
  readonly limits: LogLimits;
  /** True if other processes append to the log too. */
  readonly isShared?: boolean;
  /**
   * Appends an entry. A numbered entry creates the stream of the session. Subscribers receive it
   * after it was stored.
   * @throws undeliverable if there is no room for another stream.
   * @throws store_unavailable if the entry could not be stored.
   * @throws store_busy if too many entries wait to be stored.
   * @throws not_owner if another node has taken over the session.
   */
  append(session: string, entry: LogEntry): Awaitable<AppendResult>;
  /**
   * Reads the frames after a cursor: all of them, or none and a gap up to the top. Without a
   * cursor, reads the frames after the default start, and a gap for those that were dropped. Does
   * not create a stream.
   */
  readAfter(
    session: string,
    cursor: Cursor | undefined,
    defaultStart?: DefaultStart,
  ): Awaitable<Replay>;
  /**
   * Subscribes to a session and creates its stream. The stream exists while it has a subscriber.
   * The subscriber receives all entries that are appended after the call.
   */
  subscribe(session: string, subscriber: Subscriber, options?: SubscribeOptions): Awaitable<void>;
  /**
   * Subscribes and reads in fewer steps than both calls need. Absent if that saves nothing.
   *
   * @returns The frames after the cursor or the default start.
   */
  join?(session: string, subscriber: Subscriber, options: JoinOptions): Promise<Replay>;
  /** Ends a subscription. Does nothing if there is none. */
  unsubscribe(session: string, subscriber: Subscriber): void;
  /**
   * True if the turns of people must be appended: the log keeps them for history, or a subscriber
   * of the stream has asked for them.
   */
  wantsTurns(session: string): boolean;
  /**
   * True if the log has the message of a client under this id. A store looks at the newest 1,000
   * turns, memory at the frames that it keeps for clients that return.
   * @throws store_unavailable if the store cannot be read.
   */
  hasTurn(session: string, request: string): Awaitable<boolean>;
  /**
   * True if the end of an answer must be appended, without a number and with the type `answer.end`:
   * a client of some node may have asked for it. Absent if the log belongs to one process.
   */
  wantsEnds?(session: string): boolean;
  /** @returns The position of the last numbered frame; undefined if there is no stream. */
  top(session: string): Awaitable<Cursor | undefined>;
  /**
   * Closes the former connection of a client of this session on another node. Absent if the log
   * belongs to one process.
   *
   * @param secret - Identifies the connection. Other nodes receive a keyed digest of it.
   */
  replaceElsewhere?(session: string, secret: string): void;
  /** Records how far a subscriber has got. Numbers of another epoch are ignored. */
  note(session: string, sequenceRange: SequenceRange, progress: DeliveryProgress): void;
}
