// Types of the link.
import type {
  Attachment,
  Cursor,
  Hello,
  ReceivedFrame,
  ServerFrame,
  ServerMessage,
  UserTurn,
} from "../pico-wire/index.ts";
import type { PlanEntry, StepDetail, StepState } from "../step-details.ts";
import type { Client, ConnectOptions } from "./connect.ts";
import type { Dial } from "./dial.ts";
import type { ChatAnswered, ChatQuestion, KnownQuestion } from "./questions.ts";

/** These values, or others that a later version or another server sends. */
type Open<T extends string> = T | (string & {});

/**
 * State of a client. `waiting`: until the next attempt. `blocked`: the user must change something;
 * there is one attempt every five minutes. `closed`: there are no more attempts.
 */
export type ChatState = "connecting" | "open" | "waiting" | "blocked" | "closed";

/** State of a link. `idle`: it was not started. */
export type LinkState = "idle" | ChatState;

/** XState's `Clock` plus `now()` in Unix milliseconds. */
export interface Clock {
  now(): number;
  setTimeout(run: () => void, ms: number): unknown;
  clearTimeout(id: unknown): void;
}

/** A change of the state. */
export interface ChatStateChange {
  /** State before the change; `idle` in the first one. */
  readonly from: ChatState | "idle";
  /** State after the change; the same one if only the reason changed. */
  readonly to: ChatState;
  /** The number of failures in a row. */
  readonly attempt: number;
  /** Why it changed; the code of a rejection or a close is possible too. Empty without a cause. */
  readonly reason: Open<"network" | "timeout" | "heartbeat" | "hole" | "closed">;
  /** A question that leads the user to the cause. Present in `blocked`. */
  readonly check?: string;
  /** Milliseconds to the next attempt. Present in `waiting` and `blocked`. */
  readonly retryInMs?: number;
}

/** A tool call of a language model. */
export interface ChatToolCall {
  /** Identifies the call among the calls of one answer. */
  readonly id: string;
  /** Name of the function. */
  readonly name: string;
  /** Arguments as JSON text, as the model wrote them. */
  readonly arguments: string;
  /** The text that the tool returned. Absent while it runs, or if the application does not say. */
  readonly result?: string;
  /** Why the call failed. */
  readonly error?: string;
  /** Says in the words of the application what the step does. */
  readonly title?: string;
  /** Kind of the step, for an icon: `read`, `edit`, `execute` and others. */
  readonly kind?: string;
  /** How far the step is. Absent if the application does not say. */
  readonly state?: Open<StepState>;
  /** The change of a file, a text, or the output of a command. */
  readonly details?: readonly StepDetail[];
  /** Files that the step is about; `line` counts from 1. */
  readonly locations?: readonly { readonly path: string; readonly line?: number }[];
}

/** The present state of a server message. */
export interface ChatMessage {
  /**
   * Identifies the message on the server: its `message_id`, or an id made by the link for servers
   * that do not name their messages. At most 256 bytes.
   */
  readonly id: string;
  /**
   * `text`: a reply. `thought` and `tool_calls`: content that precedes a reply, and that pages may
   * fold. `plan`: a list of steps, which updates replace. `notice`: words of Doorward or a bridge,
   * not of the agent.
   */
  readonly kind: Open<"text" | "thought" | "tool_calls" | "plan" | "notice">;
  /** The full text so far. */
  readonly content: string;
  /** The calls of a message of the kind `tool_calls`; empty without any. */
  readonly toolCalls: readonly ChatToolCall[];
  /** The steps of a message of the kind `plan`. */
  readonly entries?: readonly PlanEntry[];
  /** Name of the language model that wrote the message, if the server sends it. */
  readonly model?: string;
  /**
   * The id of the message that it answers, if the server sends it. That may be a message of another
   * client in this conversation.
   */
  readonly requestId?: string;
  /**
   * Files of the message; empty without any. Paths on the server are resolved to full URLs.
   * `fetchMedia` loads them.
   */
  readonly attachments: readonly Attachment[];
  /** Unix milliseconds. */
  readonly at: number;
  /**
   * True if the text is complete. A server without the extension sends thoughts and tool calls as a
   * whole.
   */
  readonly final: boolean;
  /**
   * Present if `final` is a guess: the server does not mark the end of a message, and has sent
   * nothing for `silenceMs`. The message may be incomplete.
   */
  readonly assumed?: true;
}

/** A message that a person sent from another device. */
export interface ChatTurn extends Omit<
  UserTurn,
  "message_id" | "request_id" | "replaces" | "tool_results"
> {
  /** Identifies the turn on the server: at most 256 bytes. */
  readonly id: string;
  /** The id that its sender gave the message. Answers have it as `requestId`. */
  readonly requestId: string;
  /** `requestId` of the turn that this one is a new version of. */
  readonly replaces?: string;
  /** Unix milliseconds. */
  readonly at: number;
}

/** The end of the work on a message. */
export interface ChatEnd {
  /** The id of the message. */
  readonly requestId: string;
  /** How it ended. */
  readonly outcome: Open<"completed" | "stopped" | "failed">;
  /** Code of the error, with the outcome `failed`. */
  readonly code?: string;
  /** The sentence of the error, if the application wrote one: at most 1,000 characters. */
  readonly message?: string;
  /** Why the text ended. */
  readonly finishReason: Open<"stop" | "length" | "content_filter" | "stopped" | "error">;
  /** Tokens of the answer, if the application named them. */
  readonly usage?: ChatUsage;
  /** Messages to offer next, if the application named some: at most four, each of 1 to 80
   *  characters. */
  readonly suggestions?: readonly string[];
}

/** Tokens that a language model used for an answer. An absent field is unknown, never 0. */
export interface ChatUsage {
  /** Tokens that the model read. */
  readonly input?: number;
  /** Tokens that the model wrote. */
  readonly output?: number;
  /** The part of `output` that the model used to think. */
  readonly reasoning?: number;
  /** The part of `input` that the model had cached. */
  readonly cached?: number;
}

/** The effect of a stop on one message. */
export interface StoppedAnswer {
  /** The id of the message. */
  readonly requestId: string;
  /**
   * `stopping`: the application was asked to stop. `removed`: the message had not reached it.
   * `over`: the answer had ended before. `unknown`: the conversation has no such message.
   */
  readonly status: Open<"stopping" | "removed" | "over" | "unknown">;
}

/** A stop that the server has not answered. */
export interface StopRequest {
  /** The `id` of the frame. */
  readonly id: string;
  /** The message to stop; undefined: all messages. */
  readonly requestId: string | undefined;
  /** Unix milliseconds. */
  readonly at: number;
  /** Messages that were never sent, so this side has removed them. */
  readonly removed: readonly StoppedAnswer[];
  /** True if it was sent on the present connection. */
  readonly sent: boolean;
}

/**
 * Messages that will not arrive. `from` and `to` are sequence numbers, inclusive. Without a range,
 * the server started a new stream and cannot know the numbers.
 */
export interface ChatGap {
  /** First missing number. Absent with `epoch_changed`. */
  readonly from?: number;
  /** Last missing number, inclusive. Absent with `epoch_changed`. */
  readonly to?: number;
  /** `missing`: the server skipped numbers. */
  readonly reason: Open<"overflow" | "epoch_changed" | "missing">;
}

/**
 * `delivered`: the application has accepted it. `written`: it was sent to a server that confirms
 * nothing.
 */
export interface ChatReceipt {
  /** Id of the message: the one of `ChatOutgoing`, or 32 hexadecimal digits. */
  readonly id: string;
  /** How far the message got when the promise resolved. */
  readonly status: "delivered" | "written";
}

/** The latest text of an unfinished message, and the fields that stay as it grows. */
export type GrowingText = Pick<
  ServerMessage,
  "message_id" | "content" | "request_id" | "kind" | "thought"
>;

/**
 * A frame of the server as `onFrame` receives it: a `message.append` becomes a `message.update`
 * with the whole text.
 */
export type ChatFrame = Exclude<ServerFrame, { type: "message.append" }>;

/** Why a handshake failed. */
export interface HandshakeRejection {
  /** HTTP status; undefined if there was no response. */
  readonly status?: number | undefined;
  /** The field `error` of the response body. */
  readonly code?: string | undefined;
  readonly retryAfterMs?: number | undefined;
}

/** An event of a socket. After `closed` or `failed` there are no more. */
export type SocketEvent =
  /** `heard`: a ping arrived, so the server is alive. */
  | { readonly type: "opened" | "heard" }
  | { readonly type: "message"; readonly data: string | Uint8Array }
  /** The socket never opened. */
  | ({ readonly type: "failed" } & HandshakeRejection)
  | { readonly type: "closed"; readonly code: number; readonly reason: string };

/** An unconfirmed message. */
export interface OutboxEntry {
  readonly id: string;
  readonly text: string;
  readonly bytes: number;
  readonly expiresAt: number;
  /** True if it was sent on any connection, so the server may have it. */
  readonly attempted?: boolean;
  /** True if it was sent on the present connection. */
  readonly sent: boolean;
}

/** An unfinished message. */
export interface PartialMessage {
  readonly message: ChatMessage;
  /**
   * Unix milliseconds after which the message is assumed to be complete; `Infinity` if the server
   * marks the end.
   */
  readonly wholeAt: number;
}

/** The data of the present connection. */
export interface ConnectionData {
  readonly openedAt: number;
  readonly heardAt: number;
  readonly pingedAt: number;
  /** Undefined until the first frame or the hello deadline. */
  readonly mode?: "plain" | "extension" | undefined;
  readonly hasSpoken: boolean;
  /** The cursor after the announced gap. */
  readonly next?: Cursor | undefined;
  /** True if the server announced the end of an epoch. */
  readonly epochIsOver: boolean;
  readonly unacked: number;
  /** The open questions of `hello`, and how many frames of the replay come before they count. */
  readonly open?: { readonly ids: readonly string[]; readonly replay: number } | undefined;
  readonly ackedAt: number;
  /**
   * The time at which the messages written so far are permitted by the rate limit. At most one
   * burst in the future.
   */
  readonly paceAt: number;
  /** The unfinished messages of this connection, which may grow. */
  readonly texts: readonly GrowingText[];
}

/** The complete state of a link, as plain data. */
export interface LinkData {
  readonly state: LinkState;
  readonly reason: string;
  /**
   * Number of the present socket. Events with a lower number are from an older socket and are
   * ignored.
   */
  readonly generation: number;
  readonly attempt: number;
  /** Rejections of the present token in a row. */
  readonly rejections: number;
  /**
   * Unix milliseconds: the end of `connecting`, or the next attempt in `waiting` and `blocked`;
   * otherwise `Infinity`.
   */
  readonly due: number;
  readonly connection?: ConnectionData | undefined;
  /** The latest hello. Its limits and times remain valid between connections. */
  readonly hello?: Hello | undefined;
  readonly cursor?: Cursor | undefined;
  /**
   * The missing number that caused the last reconnect. If it is missing again, it is reported as a
   * gap.
   */
  readonly holeAt?: number | undefined;
  readonly outbox: readonly OutboxEntry[];
  readonly parts: readonly PartialMessage[];
  readonly stops: readonly StopRequest[];
  /** The latest questions that were reported. */
  readonly asked: readonly KnownQuestion[];
  /** The frame ids of answers that the server has not confirmed. */
  readonly answers: readonly string[];
  /** The latest ids of messages sent by this link. */
  readonly ownIds: readonly string[];
  /** The latest ids passed to `onMessage`. Later updates of these messages do not call it again. */
  readonly completedIds: readonly string[];
  /**
   * True if the server lacks the extension. Remains valid between connections, until a server sends
   * `hello`.
   */
  readonly isPlain: boolean;
  /** Total milliseconds of earlier connections that ended before the server sent anything. */
  readonly quietMs: number;
  /** True if the server does not support `typing.*`. */
  readonly isTypingUnknown: boolean;
}

/** An event for `step`. */
export type LinkEvent =
  | { readonly type: "start" | "close" | "tick" }
  /** The token has changed, or the caller expects that an attempt can succeed now. */
  | { readonly type: "retry" }
  | { readonly type: "send"; readonly id: string; readonly text: string; readonly bytes: number }
  | { readonly type: "typing"; readonly on: boolean }
  | { readonly type: "halt"; readonly id: string; readonly requestId?: string | undefined }
  | { readonly type: "answer"; readonly id: string; readonly text: string }
  | (Exclude<SocketEvent, { type: "message" }> & { readonly generation: number })
  | { readonly type: "flushed"; readonly generation: number }
  | {
      readonly type: "frame";
      readonly generation: number;
      readonly frame: ReceivedFrame | undefined;
    };

/** The position from which to resume, and the id of the former connection. */
export interface ResumePoint {
  readonly cursor: Cursor;
  readonly conn: string;
}

/** A side effect that `step` asks for. */
export type Effect =
  | {
      readonly type: "connect";
      readonly generation: number;
      readonly resume: ResumePoint | undefined;
    }
  | { readonly type: "drop" }
  | { readonly type: "write"; readonly text: string }
  | { readonly type: "halted"; readonly id: string; readonly stopped: readonly StoppedAnswer[] }
  | { readonly type: "answered"; readonly id: string; readonly result: ChatAnswered }
  | { readonly type: "confirmed"; readonly id: string; readonly status: ChatReceipt["status"] }
  | {
      readonly type: "refused";
      readonly id: string;
      readonly code: string;
      readonly message?: string;
    }
  | NotifyEffect;

/** The notifications of a client. The names are those of the handlers. */
export interface ChatNotifications {
  /** A complete message of the kind `text`, once. */
  readonly onMessage: ChatMessage;
  /** Every update of a message of any kind, including the complete one, for display. */
  readonly onUpdate: ChatMessage;
  /** A question of the application: when it is asked, and again when it is settled. */
  readonly onQuestion: ChatQuestion;
  /** The server removed a message. */
  readonly onRemoved: { readonly id: string };
  /** A message that a person sent from another device. Only from servers with `turns`. */
  readonly onTurn: ChatTurn;
  /**
   * The work on a message is over. May be repeated after a reconnect. Only from servers with `stop`
   * or `turns`.
   */
  readonly onEnd: ChatEnd;
  /** `on` is true while the application types, false when it stops. */
  readonly onTyping: { readonly on: boolean };
  /** Each change of the state, the first connection included. */
  readonly onState: ChatStateChange;
  /** Messages that will not arrive, before the first one after the gap. */
  readonly onGap: ChatGap;
  /** An error of the server that does not belong to a sent message. */
  readonly onError: { readonly code: string; readonly message: string };
  /** Every frame except `hello`; each numbered frame once. */
  readonly onFrame: ChatFrame;
}

/** The effect that calls a handler. */
export type NotifyEffect = {
  readonly [K in keyof ChatNotifications]: {
    readonly type: "notify";
    readonly handler: K;
    readonly payload: ChatNotifications[K];
  };
}[keyof ChatNotifications];

/** Callbacks of a client, all optional. */
export type ChatHandlers = {
  readonly [K in keyof ChatNotifications]?: (payload: ChatNotifications[K]) => void;
};

/** Runs the steps one after the other; an event during a step waits. */
export type Driver = (run: {
  readonly initial: LinkData;
  readonly step: (linkData: LinkData, event: LinkEvent) => readonly [LinkData, readonly Effect[]];
  readonly perform: (effects: readonly Effect[], linkData: LinkData) => void;
}) => { send(event: LinkEvent): void; core(): LinkData };

/** Options of `createLink`. */
export interface LinkOptions extends ChatHandlers, Pick<ConnectOptions, "url" | "token"> {
  readonly sessionId: string;
  /** Opens sockets. A promise is awaited by the first attempt. */
  readonly dial: Dial | Promise<Dial>;
  readonly clock: Clock;
  /** Returns a number of at least 0 and less than 1. */
  readonly random: () => number;
  /** Returns a new unique id. */
  readonly newId: () => string;
  readonly drive?: Driver;
  readonly silenceMs?: ConnectOptions["silenceMs"] | undefined;
}

/** A message to send. */
export interface ChatOutgoing {
  /** Text for the application: at most 1 MiB as UTF-8. Blank text needs an item in `media`. */
  readonly content: string;
  /**
   * Images as `data:` URLs, each at most 20 MiB decoded, and `{ id }` of files that were uploaded
   * to this session. At most 64.
   */
  readonly media?: readonly (
    | string
    | { readonly url: string; readonly filename?: string }
    | { readonly id: string }
  )[];
  /** The number of bridges that the message has crossed. */
  readonly hops?: number;
  /**
   * Id of an earlier message of the conversation, which the application has accepted. This message
   * is a new version of it and of everything that followed. The server keeps the earlier version.
   */
  readonly replaces?: string;
  /**
   * Identifies the message in its session, so that a repeated one is not accepted twice: at most
   * 256 bytes without control characters. @defaultValue 32 random hexadecimal digits
   */
  readonly id?: string;
}

/** A message in the care of the client. */
export interface SentMessage {
  /** Id of the message; answers have it as `requestId`. */
  readonly id: string;
  /**
   * Resolves when the server has confirmed the message. Rejects with a `ChatError`: `outbox_full`,
   * `too_large`, `expired`, `closed`, `stopped` (`stop` removed it), `id_reused` (another message
   * with this id is unconfirmed), or a code of the server.
   */
  readonly accepted: Promise<ChatReceipt>;
}

/** A client without HTTP requests, which is started later. */
export interface Link extends Omit<Client, "state" | "fetchMedia" | "history"> {
  start(): void;
  state(): LinkState;
}
