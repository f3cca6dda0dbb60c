import type { Awaitable } from "../../../kernel/index.ts";
import type { Cursor, ServerFrame } from "../../../lib/pico-wire/index.ts";
import type { EncodedFrame } from "../frame-encoding.ts";

export type { Cursor } from "../../../lib/pico-wire/index.ts";

export interface LogEntry {
  /** A whole frame as UTF-8, a JSON object, serialised once and shared by all who hear it. */
  readonly frame: Uint8Array;
  /** The same as a whole WebSocket message, where its writer made that. */
  readonly framed?: EncodedFrame | undefined;
  /** Of the frame, where its writer told. */
  readonly type?: ServerFrame["type"] | undefined;
  /** It must not be lost: creates, final updates, deletes. Typing and updates on the way are not numbered. */
  readonly numbered: boolean;
  /** The message it is about. Without a number, the latest is kept until the message is final or deleted. */
  readonly message?: string | undefined;
  /** It is held and nobody hears it for now: it may take less room. */
  rest?(): void;
}
export interface SequencedEntry extends LogEntry {
  readonly session: string;
  /** Its own place when it is numbered, else that of the last numbered one. */
  readonly cursor: Cursor;
}
/** Who listens to a session: an object and no function, as there is one for each connection. */
export interface Subscriber {
  onEntry(entry: SequencedEntry): void;
}
export interface AppendResult {
  /** Undefined: the session has no stream. */
  readonly cursor: Cursor | undefined;
  /** Listeners that heard it here. */
  readonly heard: number;
  /** It is held for nobody: no news of it will come. Default false. */
  readonly settled?: boolean;
}
export type Gap =
  | { readonly reason: "overflow"; readonly from: number; readonly to: number }
  | { readonly reason: "epoch_changed" };

export interface Replay {
  /** Undefined: the session has no stream. */
  readonly top: Cursor | undefined;
  /** Comes before `frames`, which go on behind it. */
  readonly gap?: Gap;
  /** Numbered, without a hole, ending at `top`. */
  readonly frames: readonly Uint8Array[];
  /** The latest update of each message in progress. */
  readonly partials: readonly Uint8Array[];
}

/** Numbers after `after` up to `upTo`. */
export interface SequenceRange {
  readonly epoch: string;
  readonly after: number;
  readonly upTo: number;
}
/** `written`: to a socket that acknowledges nothing and had all before them. `answered`: to one that asked for these
 *  alone. `sent`: to one that will acknowledge. `taken`: it has acknowledged. */
export type DeliveryProgress = "written" | "answered" | "sent" | "taken";

/** Where a reader without a cursor begins. `given`: behind what some socket was given. `confirmed`: behind what a
 *  client has acknowledged, or a socket that acknowledges nothing was given. */
export type DefaultStart = "given" | "confirmed";

/** News of a message, as receipts have it: `id` is the message's. */
export type ReceiptListener = (
  session: string,
  id: string,
  status: "delivered" | "undelivered",
  reason?: "overflow" | "expired",
) => void;

/** Everything sent to a session passes here. Nothing outside may assume that one process holds it. */
export interface SessionLog {
  /** A numbered entry begins the session's stream when there is none. Rejects `undeliverable` when there is no room for
   *  another. */
  append(session: string, entry: LogEntry): Awaitable<AppendResult>;
  /** After a cursor: everything, or a gap up to the top and nothing, never a part. Without one: what is behind the
   *  beginning, and a gap for what was not kept of it. Begins no stream. */
  readAfter(
    session: string,
    cursor: Cursor | undefined,
    defaultStart?: DefaultStart,
  ): Awaitable<Replay>;
  /** Begins the session's stream when there is none, and keeps it while somebody listens. `resumes`: the listener may
   *  come back with a cursor, so that the place is kept although nothing was said yet. */
  subscribe(
    session: string,
    subscriber: Subscriber,
    options?: { readonly resumes?: boolean },
  ): void;
  /** Nothing happens when it does not listen. */
  unsubscribe(session: string, subscriber: Subscriber): void;
  top(session: string): Awaitable<Cursor | undefined>;
  /** How far a listener got; numbers of another epoch mean nothing. */
  note(session: string, sequenceRange: SequenceRange, progress: DeliveryProgress): void;
}
