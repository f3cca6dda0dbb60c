/** The channels service: its calls, the contract of a channel, and the events. */
import type { Awaitable, Release } from "../../kernel/index.ts";
import type {
  Address,
  AnswerEnd,
  EndOptions,
  GrowingMessage,
  HistoryOptions,
  InboundMessage,
  AnswerResult,
  OpenQuestion,
  OutboundMessage,
  Page,
  QuestionAnswer,
  QuestionVia,
  RunningMessage,
  Sender,
  Stopper,
  StopResult,
  Turn,
  Usage,
} from "../conversations/contract.ts";
import type {
  Ask,
  DurableQuestionInput,
  QuestionCounts,
  QuestionInput,
  QuestionResult,
} from "./question-contract.ts";

export type * from "./question-contract.ts";
export type * from "../conversations/messages.ts";

/** Delivery status of a sent message. It only advances: written or buffered, then delivered or
 *  undelivered. */
export interface Receipt {
  /** Id of the sent message: 32 hexadecimal digits, made by the channels plugin. Empty if a reply
   *  stream ended without text. */
  readonly id: string;
  /** `written`: given to a socket. `buffered`: kept, because no client is connected.
   *  `delivered`: acknowledged by the client. `undelivered`: lost, for `reason`. */
  readonly status: "written" | "buffered" | "delivered" | "undelivered";
  /** Why the message is `undelivered`: a short code such as `overflow`, `expired` or `aborted`. */
  readonly reason?: string;
}

/** A message as the application receives it. */
export interface Message extends InboundMessage {
  /** Acknowledges the message before the application returns, for work that takes minutes. The next
   *  message of the session may then arrive, for example a request to stop. */
  accept(): void;
  /** Sends a message to this session that names this one as `inReplyTo`. `final: false` announces
   *  updates, as in `Channels.send`, and rejects like it. */
  reply(message: OutboundMessage & { readonly final?: boolean }): Promise<Receipt>;
  /**
   * Replaces a reply to this message, and keeps its `kind`, `inReplyTo` and the tool calls that the
   * update does not repeat. Rejects like `reply`.
   *
   * @param id - The one of its receipt.
   */
  update(
    id: string,
    message: OutboundMessage & Pick<GrowingMessage, "final" | "added">,
  ): Promise<Receipt>;
  /** Opens a reply that grows. It names this message as `inReplyTo`. */
  stream(options?: StreamOptions): ReplyStream;
  /** Asks the people of this session, and waits for their answer. */
  readonly ask: Ask;
  /**
   * Aborts when a client stops this message (`stopped`), and when the kernel stops (`not_running`).
   * Pass it to the text generator. Replies after a stop reject with `stopped`.
   */
  readonly signal: AbortSignal;
  /**
   * Reads the turns of both sides in this session, oldest first, without this message. The page is
   * empty unless the plugin `conversations` has a durable store.
   *
   * @throws store_unavailable if the store cannot be read.
   */
  history(options?: HistoryOptions): Promise<Page<Turn>>;
  /** Adds facts about the end of the answer. Does not end it: the answer ends when the application
   *  has returned and all its streams have ended. A `finishReason` marks the text as complete, so
   *  that a later stop does not change the outcome. */
  end(options: EndOptions): void;
}

/** Options of a growing reply. */
export interface StreamOptions extends Pick<OutboundMessage, "kind" | "inReplyTo" | "model"> {
  /** Aborts the stream with `no_client` when no client of the session has been connected for
   *  `afterMs`, or for the time in which the channel lets clients resume: 300 s for pico, 0 if the
   *  channel names none. Without it the reply continues for clients that return.
   *  @defaultValue `false` */
  readonly cancelWhenAlone?: boolean | { readonly afterMs: number };
}

/** A message that is shown while it grows. The first text sends it; updates with the full text
 *  so far follow, at most ten per second; the last update is final. A channel that cannot update
 *  messages receives the whole text at the end. */
export interface ReplyStream {
  /**
   * Adds text. Does nothing after an abort. Another value than a text, or more than
   * 8,388,608 characters, ends the stream: `end` rejects, and the message fails.
   *
   * @returns `false` if more than 65,536 characters wait to be shown: await `drained()`.
   * @throws stream_ended after `end`.
   */
  write(text: string): boolean;
  /**
   * Replaces the text so far.
   *
   * @throws stream_ended after `end`.
   */
  replace(text: string): void;
  /** Resolves when less text waits to be shown, or the stream has ended. */
  drained(): Promise<void>;
  /**
   * Sends the whole text and ends the reply.
   *
   * @returns The receipt; after an abort, the receipt of the text that was sent.
   * @throws undeliverable if the channel could not send the text.
   * @throws too_large if the text exceeds the limit of the channel.
   * @throws not_running if the kernel is not running.
   */
  end(
    last?: Pick<
      OutboundMessage,
      "attachments" | "contextUsage" | "model" | "usage" | "finishReason" | "suggestions"
    >,
  ): Promise<Receipt>;
  /** Ends the reply with the text so far, and aborts `signal` with this reason. */
  abort(reason?: unknown): void;
  /** Aborts when the stream does: by `abort`, when the kernel stops (`not_running`), when the
   *  channel rejects the text, and with `cancelWhenAlone` (`no_client`). Pass it to the text
   *  generator. */
  readonly signal: AbortSignal;
}

/**
 * A function that processes messages. `signal` aborts when the kernel stops. A message whose
 * function then returns within the time for that is accepted; all others are rejected as
 * `not_running`, so that their clients send them again.
 */
export type Application = (message: Message, signal: AbortSignal) => Awaitable<void>;

/** Options of an application. */
export interface ApplicationOptions {
  /** Messages of one session that run in parallel until they are accepted. @defaultValue `1`: in
   *  order */
  readonly perSession?: number;
  /**
   * When the next message of a session follows: when this one is accepted, or when its answer has
   * ended. With `"ended"`, an application may accept a message immediately, so that a repetition
   * of it is a duplicate, and still work on one at a time. @defaultValue `"accepted"`
   */
  readonly order?: "accepted" | "ended";
  /** Seconds after which a stopped message no longer occupies its session. @defaultValue `10` */
  readonly stopGraceS?: number;
  /**
   * For an application that queues messages itself: removes a message that it has not begun with.
   * Called for each message that a client stops, latest first, before any of them is aborted.
   *
   * @param message - The object that the application received.
   * @returns False if the application has begun with the message.
   */
  readonly withdraw?: (message: Message) => boolean;
  /** Messages that chat pages offer to begin with: at most four, each of 1 to 80 characters.
   *  @defaultValue those of the page */
  readonly suggestions?: readonly string[];
  /**
   * Reads what the application can do now. `tools`: it calls tools of clients, and follows
   * `toolChoice`. `continue`: it continues a last turn of the role `assistant`.
   * @defaultValue nothing
   */
  readonly can?: () => readonly string[];
  /**
   * Says how the application is now, for the overview, the doctor and the chat page. Called often,
   * so it must be fast. Call `statusChanged` of the service `channels` after changes.
   *
   * @defaultValue nothing is shown
   */
  readonly status?: () => ApplicationStatus | undefined;
}

/** The status of an application, in its own words. Texts are plain, in one line. */
export interface ApplicationStatus {
  /** `needs_action`: a person must do something first. `failed`: it cannot answer. */
  readonly state: "ready" | "starting" | "needs_action" | "failed";
  /** Name for people, such as "OpenCode 1.18". At most 80 characters. */
  readonly name?: string;
  /** A sentence about the state. At most 500 characters. */
  readonly message?: string;
  /** How to repair it, such as "Run `agent login` in a terminal". At most 500 characters. */
  readonly fix?: string;
  /** Id of the present mode. */
  readonly mode?: string;
  /** Modes that it has, at most 32. `unguarded`: in it, the application acts without asking. */
  readonly modes?: readonly {
    readonly id: string;
    readonly name: string;
    readonly unguarded?: boolean;
  }[];
  /** Commands that a person can write as `/name`, at most 256: the chat page offers them. `hint`
   *  says what may follow the name. */
  readonly commands?: readonly {
    readonly name: string;
    readonly description?: string;
    readonly hint?: string;
  }[];
  /** Numbers for the overview, at most 16, such as `{ label: "Asked", value: 3 }`. */
  readonly counts?: readonly { readonly label: string; readonly value: number }[];
}

/** The channels service. Calls that send reject with `not_running`, `too_large`, `rate_limited`,
 *  `unsupported` or `undeliverable`. */
export interface Channels {
  /**
   * Attaches a channel.
   *
   * @throws channel_invalid if it lacks a name or `send`.
   * @throws channel_taken if a channel with this name is attached.
   */
  attach(adapter: ChannelAdapter): ChannelHandle;
  /**
   * Registers the application.
   *
   * @returns A function that removes it.
   * @throws application_invalid if it is not a function.
   * @throws application_taken if the kernel already has an application.
   * @throws suggestions_invalid if there are too many suggestions, or one is too long or blank.
   */
  handle(application: Application, options?: ApplicationOptions): Release;
  /** Sends a message. `final: false` announces updates, the last of which has `final: true`;
   *  otherwise clients treat the message as complete. */
  send(to: Address, message: OutboundMessage & { readonly final?: boolean }): Promise<Receipt>;
  /** Replaces the content of a sent message. `id` is the one of its receipt. With `added`, the rest
   *  of the content is what the last successful call sent. */
  update(
    to: Address,
    id: string,
    message: OutboundMessage & Pick<GrowingMessage, "final" | "added">,
  ): Promise<Receipt>;
  /** Returns the milliseconds between two updates of a message that grows, for applications that
   *  send them by `update`. */
  updateMs(channel: string): number;
  /** Removes a sent message for all clients. `id` is the one of its receipt. */
  remove(to: Address, id: string): Promise<Receipt>;
  /** Shows or hides the typing indicator of a session. Does nothing on a channel without one. */
  typing(to: Address, on: boolean): void;
  /** Opens a message that grows. */
  stream(to: Address, options?: StreamOptions): ReplyStream;
  /**
   * Stops a message of a client, or all messages of the session that run or wait. The
   * `message.signal` of the application aborts. A waiting message is rejected as `stopped`, and
   * never reaches the application: waiting messages are removed before any other is stopped.
   *
   * @param id - Id of the message. @defaultValue all
   * @param by - The person who stops it.
   * @returns The effect on each message. It never rejects: the status is `unknown` if several nodes
   *   share the conversations and the one that has the session cannot be asked.
   */
  stop(to: Address, id?: string, by?: Stopper): Promise<readonly StopResult[]>;
  /** Resolves when the application works on no message of any channel. While the kernel stops, that
   *  is when the answers have ended, or were cut at the end of their time. */
  drained(): Promise<void>;
  /** Asks the people of a session, without a message of theirs: see `Message.ask`. */
  ask(to: Address, question: DurableQuestionInput): Promise<{ readonly id: string }>;
  /** Resolves with the settlement of the question. */
  ask(to: Address, question: QuestionInput): Promise<QuestionResult>;
  /**
   * Answers a question. The first valid answer counts.
   *
   * @param id - Id of the question.
   * @param by - The person who answers, as the server knows them.
   * @param via - Where the answer came from.
   * @throws store_unavailable if the answer could not be stored; the question stays open.
   */
  answer(
    to: Address,
    id: string,
    answer: QuestionAnswer,
    by: Sender | undefined,
    via: QuestionVia,
  ): Promise<AnswerResult>;
  /** Lists the open questions, oldest first. */
  questions(filter?: Partial<Address>): readonly OpenQuestion[];
  /** Lists the open questions of all nodes, oldest first. While a shared store is away, it lists
   *  those that this node has. */
  allQuestions(filter?: Partial<Address>): Promise<readonly OpenQuestion[]>;
  /** Finds the session of a question that is open, or was settled recently. */
  findQuestion(id: string): Address | undefined;
  /** Delivers the answers of durable questions that no application has accepted, in order. Called
   *  by an application that starts again. */
  deliverAnswers(): void;
  /** Lists the sessions of a channel in which a message of a client runs or waits. */
  busySessions(channel: string): readonly string[];
  /** Lists the attached channels, in the order in which they were attached. */
  list(): readonly AttachedChannel[];
  /**
   * Delivers a message of the owner to a session of a channel with `accepts: "console"`. A repeated
   * id counts as one message. Settles like `ChannelHandle.deliver`.
   *
   * @throws unsupported if the channel does not accept messages of the console.
   */
  deliver(
    to: Address,
    message: Pick<InboundMessage, "id" | "content" | "sender">,
  ): Promise<"accepted" | "duplicate">;
  /**
   * Reads the turns of both sides in a session, oldest first. The page is empty for an unknown
   * session, and unless the plugin `conversations` has a durable store.
   *
   * @throws store_unavailable if the store cannot be read.
   */
  history(to: Address, options?: HistoryOptions): Promise<Page<Turn>>;
  /**
   * Sets the title of a stored conversation; one that a person chose stays.
   * @throws title_invalid unless the text has 1 to 200 characters.
   */
  title(to: Address, text: string): Promise<void>;
  /** Whether the application has this capability now. */
  can(name: "tools" | "continue"): boolean;
  /** The `suggestions` of the application; undefined if it has none. */
  suggestions(): readonly string[] | undefined;
  /** Reads the status of the application; undefined if it gives none. */
  applicationStatus(): ApplicationStatus | undefined;
  /** Announces that the status has changed, at most every 250 ms. */
  statusChanged(): void;
  /**
   * Records the times of the newest 200 messages, without their content.
   *
   * @returns A function that ends the recording.
   */
  recordTimes(): Release;
  /** The recorded times, oldest first; empty while no plugin records them. */
  times(): readonly RequestTimes[];
  /** Counts the messages of all channels. */
  traffic(): ChannelTraffic;
  /** Counts the questions. */
  questionCounts(): QuestionCounts;
}

/** The times of one message of a client. `…Ms` are milliseconds since it arrived. */
export interface RequestTimes extends Address {
  /** Id of the message. */
  readonly id: string;
  /** Unix milliseconds of the arrival. */
  readonly at: number;
  /** Name of the protocol that the message arrived through. */
  readonly protocol?: string;
  /** The application accepted it. */
  readonly acceptedMs?: number;
  /** The first text of the answer was sent. */
  readonly firstTextMs?: number;
  /** The answer ended. */
  readonly endedMs?: number;
  /** How it ended. */
  readonly outcome?: AnswerEnd["outcome"];
  /** Code of the error, with the outcome `failed`. */
  readonly code?: string;
  /** Tokens of the answer, if the application named them. */
  readonly usage?: Usage;
  /** Name of the language model. */
  readonly model?: string;
  /** The messages of the answer, in order: at most 100. */
  readonly parts: readonly RequestTimesPart[];
  /** Number of later messages and updates that `parts` lacks. */
  readonly left: number;
}

/** The times of one message of the application. */
export interface RequestTimesPart {
  /** Id of the message. */
  readonly id: string;
  /** Kind of its content. */
  readonly kind: "text" | "thought" | "tool_calls" | "plan" | "notice";
  /** It was sent. */
  readonly fromMs: number;
  /** It was updated for the last time. */
  readonly toMs: number;
  /** How often it was updated. */
  readonly updates: number;
  /** True if its text is complete. */
  readonly final: boolean;
}

/** Messages since the start. Updates of a message are not messages of their own. */
export interface ChannelTraffic {
  /** Messages of clients, without duplicates. */
  readonly received: number;
  /** Messages of the application. */
  readonly sent: number;
  /** Completed answers, oldest first: at most the newest 1,000. */
  readonly answers: readonly {
    /** Unix milliseconds of the end. */
    readonly at: number;
    /** Milliseconds since the message arrived. */
    readonly ms: number;
  }[];
}

/** A channel that is attached. */
export interface AttachedChannel {
  /** Value of `channel` in addresses. */
  readonly name: string;
  /** True if its messages are in the conversations of this kernel. */
  readonly isKept: boolean;
  /** True if the console may write into its sessions. */
  readonly acceptsConsole: boolean;
  /** Messages of clients since the start, without duplicates. */
  readonly received: number;
  /** Messages of the application since the start. */
  readonly sent: number;
  /** Sessions with a client, if the channel reports them: at most 10,000 are counted. */
  readonly sessions: number;
}

/** A message of a client, as a channel delivers it. */
export type DeliveredMessage = Pick<InboundMessage, "session" | "id" | "content"> &
  Partial<InboundMessage>;

/** Callbacks for the outcome of a delivery: one of them runs, once. */
export interface DeliveryCallbacks {
  /** The application accepted the message, now or (`duplicate`) when it was delivered before. */
  accepted(status: "accepted" | "duplicate"): void;
  /** The application or Doorward rejected the message. Errors of Doorward have the codes of
   *  `deliver`; errors of the application are passed on as they were thrown. */
  rejected(error: unknown): void;
}

/** The calls that an attached channel makes. */
export interface ChannelHandle {
  /**
   * Delivers a message to the application. While the promise is pending, the channel pauses. The
   * defaults are the name of the channel, `media: []`, `hops: 0`, and the present time for `at`.
   *
   * @returns A promise that resolves when the application has accepted the message. It rejects with
   *   the error of the application.
   * @throws not_running before the kernel is ready and after it stops.
   * @throws no_application if the kernel has no application.
   * @throws id_reused if another message of the session used the id.
   * @throws loop if the message has crossed more than 4 bridges.
   * @throws message_invalid if session, id or content is not a text.
   */
  deliver(
    message: DeliveredMessage,
    options?: { dedupe?: boolean },
  ): Promise<"accepted" | "duplicate">;
  /** Delivers without a promise, for channels with many messages. A callback may run before this
   *  call returns. */
  hand(
    message: DeliveredMessage,
    deliveryCallbacks: DeliveryCallbacks,
    options?: { dedupe?: boolean },
  ): void;
  /** Reports a later status of a sent message: delivered, undelivered. */
  receipt(session: string, receipt: Receipt): void;
  /** Reports that the client of a session began or stopped typing. */
  typing(session: string, on: boolean): void;
  /** Reports that the first client of the session has connected. */
  sessionActive(session: string): void;
  /** Reports that the last client of the session has disconnected. */
  sessionIdle(session: string): void;
  /** Stops a message of the session, or all of them, as `Channels.stop` does. */
  stop(session: string, id?: string, by?: Stopper): Promise<readonly StopResult[]>;
  /** Answers a question of the session, as `Channels.answer` does, for channels with buttons.
   *  @defaultValue the name of the channel for `via` */
  answer(
    session: string,
    id: string,
    answer: QuestionAnswer,
    by?: Sender,
    via?: QuestionVia,
  ): Promise<AnswerResult>;
  /** Returns true while the application processes a message of this session (default: of any
   *  session), even after it has acknowledged the message. */
  isBusy(session?: string): boolean;
  /**
   * Lists the messages of the session that the application works on, oldest first.
   *
   * @returns Undefined if another node has the session and does not answer.
   */
  running(session: string): Promise<readonly RunningMessage[] | undefined>;
  /**
   * Lists the open questions of the session, oldest first.
   *
   * @returns Undefined if another node has the session and does not answer.
   */
  questions(session: string): Promise<readonly OpenQuestion[] | undefined>;
  /** Resolves as `Channels.drained` does. */
  drained(): Promise<void>;
  /**
   * Divides a stop of this many milliseconds.
   *
   * @returns `answerMs`: how long the answers of this channel may continue. `graceMs`: how long the
   *   application has to return after that.
   */
  stopTimes(stopMs: number): { readonly answerMs: number; readonly graceMs: number };
  /** Detaches the channel. Later deliveries are rejected as `not_running`; other calls do
   *  nothing. */
  close(): void;
}

/** The receipt a channel returns. */
export interface AdapterReceipt extends Receipt {
  /** True if no later status will follow, so that the message need not be tracked. */
  readonly isLast?: boolean;
}

/**
 * A plugin's implementation of a channel. A missing method is rejected as `unsupported`. A method
 * that returns nothing instead of a receipt has written the message.
 */
export interface ChannelAdapter {
  /** Value of `channel` in addresses and messages. Each name can be attached once in a kernel. */
  readonly name: string;
  /** Milliseconds that a client may be away and still receive what it missed. @defaultValue `0` */
  readonly resumeMs?: number;
  /**
   * Milliseconds between two updates of a message that grows, at least.
   *
   * @defaultValue `112`, nine updates per second
   */
  readonly updateMs?: number;
  /** Milliseconds that answers may continue when the kernel stops. @defaultValue the time of the
   *  stop, without the reserve for its other steps */
  readonly drainMs?: number;
  /**
   * True: the plugin `channels` adds the messages of both sides to the conversations, if the kernel
   * has the plugin `conversations`. False: the author of the channel keeps them elsewhere.
   * `itself`: the channel appends to the log of its name, as `pico` does.
   *
   * @defaultValue true
   */
  readonly keeps?: boolean | "itself";
  /**
   * `console`: the owner may write into the sessions of this channel from the chat page. Such a
   * message has `protocol: "dashboard"`, and `turn` shows it to the client.
   */
  readonly accepts?: "console";
  /**
   * Sends a new message. With `final: false`, updates follow, and the last one has `final: true`.
   *
   * @param id - Id for later updates: 32 hexadecimal digits, never used before.
   * @returns The receipt, with the same id. Nothing means `written`.
   * @throws too_large, rate_limited or undeliverable, which reach the caller of `Channels.send`. An
   *   error without a code becomes `undeliverable`.
   */
  send(session: string, id: string, message: GrowingMessage): Awaitable<AdapterReceipt | void>;
  /** Replaces the content of a sent message by the full text so far, whose end is `added` if the
   *  rest is what the channel has. Fails like `send`. */
  update?(session: string, id: string, message: GrowingMessage): Awaitable<AdapterReceipt | void>;
  /** Removes a sent message for all clients of the session. Fails like `send`. */
  remove?(session: string, id: string): Awaitable<AdapterReceipt | void>;
  /** Shows or hides the typing indicator. A loss is harmless, so it has no receipt. */
  typing?(session: string, on: boolean): void;
  /** Reports that the application failed after it had accepted this message, so that the client
   *  stops waiting for a reply. */
  failed?(session: string, id: string, error: unknown): void;
  /**
   * Adds the message to the conversation, so that other clients of the session see it. Called once
   * for each message that the application accepts: then, or before the first text of its answer.
   * The message is accepted when a returned promise has settled.
   */
  turn?(message: InboundMessage): Awaitable<void>;
  /** Reports the end of the answer to this message, after its last text. A stop of the kernel waits
   *  for a returned promise, which must not reject. */
  ended?(session: string, id: string, end: AnswerEnd): Awaitable<void>;
  /** The conversation of this session is being deleted: drops everything that is kept of it. */
  forgotten?(session: string): void;
}
