import type { Attachment, Cursor, Hello, ServerFrame } from "../pico-wire/index.ts";
import type { Dial } from "./dial.ts";

/** `waiting`: for the next try. `blocked`: a person has to change something; one slow try every five minutes. */
export type LinkState = "idle" | "connecting" | "open" | "waiting" | "blocked" | "stopped";

/** XState's `Clock` plus `now()` in Unix milliseconds. */
export interface Clock {
  now(): number;
  setTimeout(run: () => void, ms: number): unknown;
  clearTimeout(id: unknown): void;
}

export interface LinkChange {
  readonly from: LinkState;
  readonly to: LinkState;
  /** Failures in a row. */
  readonly attempt: number;
  /** A code: of the server's refusal, of a close, or `network`, `timeout`, `heartbeat`, `hole`. */
  readonly reason: string;
  /** What a person should look at; there in `blocked`. */
  readonly check?: string;
  /** Until the next try, in `waiting` and `blocked`. */
  readonly retryInMs?: number;
}

/** A message of the server, as it stands. */
export interface LinkMessage {
  readonly id: string;
  /** The whole text so far. */
  readonly content: string;
  /** The message of ours, or of another client in this conversation, that it answers, where the server says so. */
  readonly requestId?: string;
  readonly attachments: readonly Attachment[];
  /** Unix milliseconds. */
  readonly at: number;
  /** True if nothing will be added. */
  readonly final: boolean;
  /** Present if `final` is a guess: the server does not mark the end of a message, and sent nothing more for
   *  `silenceMs`. The message may be incomplete. */
  readonly assumed?: true;
}

/** Messages that will not come: from and to are numbers of the stream, inclusive. Without a range, the server cannot
 *  know which: it began anew. */
export interface LinkGap {
  readonly from?: number;
  readonly to?: number;
  /** `overflow`, `epoch_changed`, or `missing`: the server skipped numbers. */
  readonly reason: string;
}

/** `delivered`: the application has it. `written`: it left for a server that confirms nothing. */
export interface LinkReceipt {
  readonly id: string;
  readonly status: "delivered" | "written";
}

export interface OutboxEntry {
  readonly id: string;
  readonly text: string;
  readonly bytes: number;
  readonly expiresAt: number;
  /** On the present connection. */
  readonly sent: boolean;
}

/** A message that is not whole yet. */
export interface PartialMessage {
  readonly message: LinkMessage;
  /** Unix milliseconds after which the message is assumed to be complete; `Infinity` if the server marks the end. */
  readonly wholeAt: number;
}

/** What is known of the present connection. */
export interface ConnectionData {
  readonly openedAt: number;
  readonly heardAt: number;
  readonly pingedAt: number;
  /** Undefined while neither a `hello` nor anything else came. */
  readonly mode?: "plain" | "extension" | undefined;
  readonly hasSpoken: boolean;
  /** Where the stream goes on behind the gap that was announced. */
  readonly next?: Cursor | undefined;
  /** The server announced that an epoch is over. */
  readonly epochIsOver: boolean;
  readonly unacked: number;
  readonly ackedAt: number;
  /** When the messages written so far are due, at the rate servers take; at most a burst ahead. */
  readonly paceAt: number;
}

export interface LinkData {
  readonly state: LinkState;
  readonly reason: string;
  /** Events of an older socket carry an older number and are ignored. */
  readonly generation: number;
  readonly attempt: number;
  /** Refusals of the present token in a row. */
  readonly refusals: number;
  /** Unix milliseconds: end of `connecting`, next try of `waiting` and `blocked`; else `Infinity`. */
  readonly due: number;
  readonly connection?: ConnectionData | undefined;
  /** Of the newest server; bounds and timing stay valid between connections. */
  readonly hello?: Hello | undefined;
  readonly cursor?: Cursor | undefined;
  /** The number a reconnect was tried for; a second hole there is a gap. */
  readonly holeAt?: number | undefined;
  readonly outbox: readonly OutboxEntry[];
  readonly parts: readonly PartialMessage[];
  /** The latest ids passed to `onMessage`: later updates of them do not repeat it. */
  readonly told: readonly string[];
  /** The server is known to lack the extension. Outlives connections, until a server sends `hello`. */
  readonly isPlain: boolean;
  /** Milliseconds of earlier connections that ended before the server sent anything. */
  readonly quietMs: number;
  /** The server does not know `typing.*`. */
  readonly isTypingUnknown: boolean;
}

export interface HandshakeRejection {
  /** HTTP status; undefined: nothing answered. */
  readonly status?: number | undefined;
  /** `error` of the answer's body. */
  readonly code?: string | undefined;
  readonly retryAfterMs?: number | undefined;
}

/** What a socket tells the link. After `closed` or `failed` it says nothing. */
export type SocketEvent =
  /** `heard`: a sign of life that is no message. */
  | { readonly type: "opened" | "heard" }
  | { readonly type: "message"; readonly data: string | Uint8Array }
  /** It never opened. */
  | ({ readonly type: "failed" } & HandshakeRejection)
  | { readonly type: "closed"; readonly code: number; readonly reason: string };

export type LinkEvent =
  | { readonly type: "start" | "stop" | "tick" }
  /** The token is another one, or somebody knows that a try is worth it now. */
  | { readonly type: "retry" }
  | { readonly type: "send"; readonly id: string; readonly text: string; readonly bytes: number }
  | { readonly type: "typing"; readonly on: boolean }
  | (Exclude<SocketEvent, { type: "message" }> & { readonly generation: number })
  | { readonly type: "flushed"; readonly generation: number }
  | {
      readonly type: "frame";
      readonly generation: number;
      readonly frame: ServerFrame | undefined;
    };

/** Where to go on, and as whom. */
export interface ResumePoint {
  readonly cursor: Cursor;
  readonly conn: string;
}

export type Effect =
  | {
      readonly type: "connect";
      readonly generation: number;
      readonly resume: ResumePoint | undefined;
    }
  | { readonly type: "drop" }
  | { readonly type: "write"; readonly text: string }
  | { readonly type: "confirmed"; readonly id: string; readonly status: LinkReceipt["status"] }
  | {
      readonly type: "refused";
      readonly id: string;
      readonly code: string;
      readonly message?: string;
    }
  | NotifyEffect;

/** What the owner of a link can hear; the names are those of its handlers. */
export interface LinkNotifications {
  /** A whole answer, once. */
  readonly onMessage: LinkMessage;
  /** An answer's text so far, and the whole one: what a page shows. */
  readonly onUpdate: LinkMessage;
  /** The id of a message the server took back. */
  readonly onRemoved: string;
  readonly onTyping: boolean;
  readonly onState: LinkChange;
  readonly onGap: LinkGap;
  /** An error of the server that belongs to no message of ours. */
  readonly onError: { readonly code: string; readonly message: string };
  /** Everything the server sent but its `hello`, each numbered frame once. */
  readonly onFrame: ServerFrame;
}

export type NotifyEffect = {
  readonly [K in keyof LinkNotifications]: {
    readonly type: "tell";
    readonly handler: K;
    readonly news: LinkNotifications[K];
  };
}[keyof LinkNotifications];

export type LinkHandlers = {
  readonly [K in keyof LinkNotifications]?: (news: LinkNotifications[K]) => void;
};

/** Runs the steps: one event after the other, none inside another. */
export type Driver = (run: {
  readonly initial: LinkData;
  readonly step: (linkData: LinkData, event: LinkEvent) => readonly [LinkData, readonly Effect[]];
  readonly perform: (effects: readonly Effect[], linkData: LinkData) => void;
}) => { send(event: LinkEvent): void; core(): LinkData };

export interface LinkOptions extends LinkHandlers {
  /** `ws:`, `wss:`, `http:` or `https:` address of the channel. */
  readonly url: string;
  /** A function is asked before each try. */
  readonly token: string | (() => string | Promise<string>);
  readonly sessionId: string;
  /** Loaded by the first try, when it is a promise. */
  readonly dial: Dial | Promise<Dial>;
  readonly clock: Clock;
  /** From 0 up to, but without, 1. */
  readonly random: () => number;
  /** A new name that nobody had before. */
  readonly newId: () => string;
  readonly drive?: Driver;
  /** Milliseconds without an update after which a message is assumed to be complete, for servers that do not mark the
   *  end. At most one hour. @defaultValue 30,000 */
  readonly silenceMs?: number | undefined;
}

export interface LinkOutgoing {
  readonly content: string;
  /** Images as `data:` URLs. */
  readonly media?: readonly (string | { readonly url: string; readonly filename?: string })[];
  /** Bridges the message has crossed. */
  readonly hops?: number;
  /** Unset: a new one. */
  readonly id?: string;
}

export interface Link {
  readonly sessionId: string;
  start(): void;
  /** Settles when the server confirmed the message. Rejects with a `LinkError`: `outbox_full`, `too_large`, `expired`,
   *  `stopped`, `id_reused` (another message with this id is still to be confirmed), or what the server answered. */
  send(message: string | LinkOutgoing): Promise<LinkReceipt>;
  typing(on: boolean): void;
  state(): LinkState;
  /** Tries at once instead of waiting: the token is another one, or the network came back. */
  retry(): void;
  /** For good. Messages nobody confirmed reject `stopped`. */
  stop(): void;
}
