/** Types of the conversations service: history for pages, commands and applications. */
import type { Awaitable, Clock, Log, Release } from "../../kernel/index.ts";
import type {
  Address,
  AnswerEnd,
  AnswerResult,
  GrowingMessage,
  InboundMessage,
  Media,
  Question,
  QuestionAnswer,
  QuestionVia,
  OpenQuestion,
  RunningMessage,
  Sender,
  Stopper,
  StopResult,
  ToolResult,
  Usage,
} from "./messages.ts";
import type { StoredQuestions } from "./question-frames.ts";
import type { SharedRecords } from "../records/contract.ts";
import type { TokenSync } from "../token-store/index.ts";
import type { StoreConfig, StoreInput } from "./config.ts";
import type { LogListeners, SessionLog } from "./log/session-log.ts";
import type { TakenIds } from "./taken-ids.ts";

export type * from "./messages.ts";
export type * from "./taken-ids.ts";
export type { QuestionMark, StoredQuestion, StoredQuestions } from "./question-frames.ts";

/** One page of a longer list. */
export interface Page<T> {
  /** At most `limit` items, in the order that the call documents; empty if there are none. */
  readonly items: readonly T[];
  /** Pass it as `before` to read the next page; absent on the last one. */
  readonly before?: string;
}

/** A message of one side with its latest text. There is one turn per message id. */
export interface Turn {
  /** Id of the message. */
  readonly id: string;
  /** Position in the conversation: turns are ordered by it. A turn keeps it when it grows. */
  readonly seq: number;
  /** `user`: a client wrote it. `assistant`: the application wrote it. `tool`: a client sent the
   *  results of tools. */
  readonly role: "user" | "assistant" | "tool";
  /** The latest text of the message. May be empty if the turn has attachments or results. */
  readonly content: string;
  /** Marks content that views may fold, and a `notice`, which is not the agent's. Absent for plain
   *  text. */
  readonly kind?: "thought" | "tool_calls" | "plan" | "notice";
  /** Absent if the turn is complete; `false` if its application ended before the final text. */
  readonly complete?: false;
  /** How the answer to a turn of the role `user` ended; `lost`: the process was killed before. Of
   *  another turn: a stop of the kernel cut it. Absent if the answer runs, or its text is complete
   *  and its end was not stored. */
  readonly outcome?: AnswerEnd["outcome"] | "lost";
  /** The code of that end. */
  readonly code?: string;
  /** The sentence of that end, if the application wrote one: at most 1,000 characters. */
  readonly message?: string;
  /** Tokens of the answer to a turn of the role `user`. */
  readonly usage?: Usage;
  /** Messages that the answer to a turn of the role `user` offers to send next. */
  readonly suggestions?: readonly string[];
  /** Milliseconds from the arrival of a turn of the role `user` to the end of its answer. */
  readonly answerMs?: number;
  /** The id that the client gave a turn of the role `user`; turns that answer it repeat it. */
  readonly requestId?: string;
  /** `requestId` of the turn that this turn of the role `user` is a new version of. */
  readonly replaces?: string;
  /** Id of the message that this turn answers. */
  readonly inReplyTo?: string;
  /** The calls of a turn of the kind `tool_calls`, as the application sent them. */
  readonly toolCalls?: readonly unknown[];
  /** The entries of a turn of the kind `plan`, as the application sent them. */
  readonly entries?: readonly unknown[];
  /** The results of a turn of the role `tool`. */
  readonly toolResults?: readonly ToolResult[];
  /** The author of a turn of the role `user`, as the server knows it. */
  readonly sender?: Sender;
  /** The protocol of a turn of the role `user`, for example `pico` or `dashboard`. */
  readonly door?: string;
  /** Images and files. Bytes that are stored inside the log are `data:` URLs in `url`. */
  readonly attachments?: readonly Media[];
  /** Name of the language model. */
  readonly model?: string;
  /** The question that the turn asks, with its settlement. */
  readonly question?: Question;
  /**
   * Why nothing has followed an answered `question` that was not denied. `waiting`: no application
   * has taken the answer of a durable one yet. `ended`: the application ended after the answer and
   * wrote nothing more, so it may have acted or not. Absent otherwise.
   */
  readonly unfinished?: "waiting" | "ended";
  /** Unix milliseconds of the first entry of this turn. */
  readonly at: number;
}

/** The end of an answer, as the history keeps it. */
export interface StoredEnd extends Pick<
  AnswerEnd,
  "outcome" | "code" | "message" | "usage" | "suggestions"
> {
  /** Milliseconds from the arrival of the message to the end of its answer. */
  readonly answerMs: number;
}

/**
 * Identifies a conversation for the lifetime of its store: 1 to 64 characters of `A-Z a-z 0-9 _ -`,
 * safe in a URL. Two conversations never have the same id, also after one of them was forgotten.
 */
export type ConversationId = string;

/** One conversation in a list, without its content. */
export interface ConversationSummary extends Address {
  /** Made by the store, and independent of the session id. */
  readonly id: ConversationId;
  /** The first words of the first message, or the name a person gave. At most 200 characters. */
  readonly title: string;
  /** True if a person chose the title. */
  readonly renamed: boolean;
  /** Unix milliseconds of the first entry. */
  readonly createdAt: number;
  /** Unix milliseconds of the latest entry. */
  readonly usedAt: number;
  /** Turns of both sides that are not deleted. */
  readonly turns: number;
  /** How many of them, the earliest, the store keeps no longer. Absent if it keeps all. */
  readonly dropped?: number;
  /**
   * The text of the latest message of either side, without the markup of markdown, in one line of
   * at most 120 characters. Only in lists, and absent if the last eight turns have no text.
   */
  readonly preview?: string;
  /** The protocol of the latest message of a person, as in `Turn.door`. Only in lists. */
  readonly door?: string;
  /** The author of the latest message of a person. Only in lists. */
  readonly sender?: Sender;
}

/** Options of `rename`. */
export interface RenameOptions {
  /**
   * `application`: the title replaces the first words, and a title that a person chose stays.
   *
   * @defaultValue `person`
   */
  readonly by?: "person" | "application";
}

/** One place where a search found its words. */
export interface SearchHit {
  /** The conversation that contains the turn. */
  readonly conversation: ConversationSummary;
  /** The whole turn, not only the excerpt. */
  readonly turn: Turn;
  /** The words around the match: plain text of at most 200 characters, no markup. */
  readonly excerpt: string;
}

/** Where a reader of turns stands: `EPOCH:SEQ`, as in the pico channel. */
export type TurnCursor = string;

/** The state of the store, for pages, doctor and metrics. */
export interface StoreHealth {
  /** Form of the store. Only `sqlite` and `redis` survive a restart. */
  readonly kind: "memory" | "sqlite" | "redis";
  /** `away`: the store cannot be reached, and calls reject with `store_unavailable`. */
  readonly state: "up" | "away";
  /** Unix milliseconds since when it has been in this state. */
  readonly since: number;
  /** One sentence for the owner about what is wrong; absent while all is well. */
  readonly problem?: string;
  /** How the owner can fix the problem, or follow the notice. */
  readonly fix?: string;
  /** One sentence for the owner about something to check, for example the system clock. */
  readonly notice?: string;
  /** Path of the file, of the SQLite form. */
  readonly path?: string;
  /** Bytes on disk, of the SQLite form. */
  readonly bytes?: number;
  /** Number of conversations. */
  readonly conversations: number;
  /** Unix milliseconds of the oldest entry. */
  readonly oldestAt?: number;
  /** Bytes that wait to be stored. */
  readonly waitingBytes: number;
  /** Deleted conversations of which something is left on the disk; absent if there are none. */
  readonly removing?: number;
  /** The nodes that share the store, of the Redis form. */
  readonly nodes?: readonly NodeView[];
  /** False if `search` rejects with `not_supported`. */
  readonly searches: boolean;
}

/**
 * Reads, renames and forgets conversations. All calls may reject with `store_unavailable`; a call
 * that names a conversation that does not exist rejects with `not_found`.
 */
export interface ConversationHistory {
  /**
   * Lists conversations, the latest used first.
   *
   * @param options.limit - 1 to 200. @defaultValue `50`
   * @param options.before - The `before` of the previous page.
   * @param options.query - Only conversations with this text in the title or the session id, at
   *   most 200 characters.
   * @param options.ids - Only these conversations, at most 200, on one page. The other options have
   *   no effect, and an id that does not exist is left out.
   */
  list(options?: {
    readonly before?: string;
    readonly limit?: number;
    readonly query?: string;
    readonly ids?: readonly ConversationId[];
  }): Promise<Page<ConversationSummary>>;
  /** Finds the conversation of a session; undefined if nothing was ever said there. */
  find(address: Address): Promise<ConversationSummary | undefined>;
  /** Reads one summary. */
  get(id: ConversationId): Promise<ConversationSummary>;
  /**
   * Reads turns in order, oldest first: the last `limit` ones, those before a cursor or those after
   * one. The `before` of the result reads the turns that precede it.
   *
   * @param options.limit - 1 to 200. @defaultValue `50`
   */
  read(
    id: ConversationId,
    options?: {
      readonly before?: TurnCursor;
      readonly after?: TurnCursor;
      readonly limit?: number;
    },
  ): Promise<Page<Turn>>;
  /**
   * Searches the text of both sides. Text that the index cannot parse is searched as plain words,
   * and so is the beginning of a word with fewer than three letters, such as `wo*`.
   *
   * @param text - At most 200 characters.
   * @param options.limit - 1 to 100. @defaultValue `20`
   * @throws not_supported if the store has no index.
   */
  search(text: string, options?: { readonly limit?: number }): Promise<readonly SearchHit[]>;
  /**
   * Sets the title, at most 200 characters. An empty one restores the title of the application, or
   * the first words.
   */
  rename(id: ConversationId, title: string, options?: RenameOptions): Promise<void>;
  /**
   * Deletes a conversation with all traces in the store, and ends its answers. Its session
   * continues as a new conversation with a new epoch, and connected clients receive a gap.
   */
  forget(id: ConversationId): Promise<void>;
  /** Writes a conversation as one document, piece by piece. */
  export(id: ConversationId, format: "json" | "markdown"): AsyncIterable<string>;
}

/** Counters of a store since the start of the process. */
export interface StoreMetrics {
  /** Failed batches, by the code of their error. */
  readonly errors: Readonly<Record<string, number>>;
  /** How many batches were written within each of `bounds`, cumulative, and in total. */
  readonly commits: {
    /** Seconds, ascending. */
    readonly bounds: readonly number[];
    readonly counts: readonly number[];
    readonly count: number;
    /** Seconds. */
    readonly sum: number;
  };
  /** Counters of a store that several nodes share. */
  readonly shared?: {
    /** Messages that were passed to the application of another node. */
    readonly passed: number;
    /** Sessions that this node has taken from a node that was gone. */
    readonly takenOver: number;
    /** Sessions whose clients here had to reconnect, because they have a new epoch. */
    readonly renewed: number;
    /** Nodes with beats, this one included. */
    readonly nodes: number;
  };
}

/** One of the processes that share a store. */
export interface NodeView {
  /** Made at each start of the process. */
  readonly id: string;
  /** Name for people: the setting `store.node`, or the name of the machine. */
  readonly name: string;
  /** `away`: this node cannot reach the store. `gone`: nothing was heard of it for 5 s. */
  readonly state: "up" | "away" | "gone";
  /** Unix milliseconds. */
  readonly lastSeenAt: number;
  /** True for the node that answers. */
  readonly isSelf: boolean;
  /** Sessions with a client at this node. */
  readonly sessions: number;
  /** True if its settings of a channel are not those of the node that answers. */
  readonly differs: boolean;
}

/**
 * The record of one channel. Calls resolve when the entry is stored, and reject like
 * `SessionLog.append`. A text that is too long for a frame of 512 KiB is cut.
 */
export interface ConversationRecord {
  /** False for session names that the log cannot have. */
  canKeep(session: string): boolean;
  /**
   * Adds the message of a person.
   *
   * @throws The error of a store that refuses it immediately.
   */
  turn(message: InboundMessage): Awaitable<unknown>;
  /** Adds a message of the application, sent at this time (Unix milliseconds). */
  sent(session: string, id: string, message: GrowingMessage, at: number): Promise<unknown>;
  /** Replaces the text of a message. */
  updated(session: string, id: string, message: GrowingMessage, at: number): Promise<unknown>;
  /** Removes a message. `asked`: it was a question, which no client has seen. */
  removed(session: string, id: string, at: number, asked?: boolean): Promise<unknown>;
}

/** The service of the plugin: the log of every channel, and the history of what was said. */
export interface Conversations extends ConversationHistory {
  /** Opens the log of a channel. Each channel opens its log once. */
  open(channel: string, listeners: LogListeners): SessionLog;
  /**
   * Records what is said over a channel that has streams of its own. It opens the log of the
   * channel, so each channel is recorded once.
   */
  record(channel: string): ConversationRecord;
  /** Ids of accepted and stopped messages, so that a repeated message is recognised. Absent if they
   *  end with the process, which remembers them itself. */
  readonly taken?: TakenIds;
  /** Describes the store, without waiting for it. */
  health(): StoreHealth;
  /**
   * Unix milliseconds of the clock by which the store deletes what is old: no single reading of the
   * system clock moves it. Absent if the store keeps none.
   */
  steadyTime?(): number;
  /** Reads the counters; undefined for conversations in memory. */
  metrics(): StoreMetrics | undefined;
  /**
   * Compares settings that should be equal on all nodes; absent unless several nodes share the
   * store. Other nodes receive a keyed digest.
   */
  announce?(settings: string): void;
  /**
   * Adds the end of an answer to the turn of the message, a moment later: a kill may lose it. Does
   * nothing for an unknown conversation. Absent if the store keeps no history.
   *
   * @param request - Id of the message.
   * @param end - Undefined if the message is answered again.
   */
  noteEnd?(address: Address, request: string, end: StoredEnd | undefined): void;
  /** Open questions of earlier processes; absent if the store keeps none. */
  readonly questions?: StoredQuestions;
  /** Hands sessions to nodes; absent unless several nodes share the store. */
  readonly ownership?: SessionOwnership;
  /**
   * Adds a step that is awaited before conversations are deleted, and again when a person has
   * deleted one, so that their data elsewhere goes too. Absent if conversations cannot be deleted.
   * In Redis, a conversation that expires has no step.
   */
  beforeDeletion?(step: (addresses: readonly Address[]) => Promise<void>): void;
  /** Keeps the records of plugins; absent unless several nodes share the store. */
  readonly records?: SharedRecords;
  /** Sets the listener for deletions, once; absent if conversations cannot be deleted. */
  watchDeletions?(listener: DeletionListener): void;
}

/** Receives the outcome of a message that another node has passed on. */
export interface PassOutcome {
  /** The application accepted it, now or before. */
  accepted(status: "accepted" | "duplicate"): void;
  /** It was rejected, with the error for the channel. */
  rejected(error: unknown): void;
}

/** Options of a message that is passed to another node. */
export interface PassOptions {
  /** The channel may deliver the message again under the same id. */
  readonly dedupe?: boolean;
  /** A client has stopped the message: it is rejected, and known when it is repeated. */
  readonly stopped?: boolean;
}

/** The session and id of a question, its answer, who gave it, and where. */
export type GivenAnswer = [
  address: Address,
  id: string,
  answer: QuestionAnswer,
  by: Sender | undefined,
  via: QuestionVia,
];

/** The calls of an ownership to the node that it belongs to. */
export interface OwnershipListener {
  /** Another node passes a message to the application of this one. */
  passed(message: InboundMessage, outcome: PassOutcome, options: PassOptions): void;
  /** Another node asks to stop messages. */
  stopped(
    address: Address,
    id: string | undefined,
    by: Sender | undefined,
  ): Promise<readonly StopResult[]>;
  /** Another node asks for the messages that the application works on. */
  running(address: Address): readonly RunningMessage[];
  /** Another node asks for the open questions of a session. */
  questions(address: Address): Promise<readonly OpenQuestion[]>;
  /** Another node passes an answer to a question of a session of this one. */
  answered(...answer: GivenAnswer): Promise<AnswerResult>;
  /**
   * Another node has taken the session: its messages must stop here. Call `forget` when they have.
   */
  lost(address: Address): void;
  /** True while the application works on a message of the session. */
  isBusy(address: Address): boolean;
  /** The session is this node's from now on. Data about it in memory is out of date. */
  taken(address: Address): void;
}

/**
 * Decides which node hands the messages of a session to its application: one node at a time. Only
 * a store that several nodes share has an ownership.
 */
export interface SessionOwnership {
  /** Sets the listener, once. */
  listen(listener: OwnershipListener): void;
  /**
   * Takes the session, if it is free or its node is gone.
   *
   * @returns `own` if it is this node's, otherwise the node that has it.
   * @throws store_unavailable if the store is away.
   */
  claim(address: Address): Promise<"own" | { readonly node: string }>;
  /**
   * Passes a message to the application of another node.
   *
   * @param outcome - Called once, before this node passes on any later entry of the other one. The
   *   errors `not_owner` and `node_gone` mean that the message must be handed to another node.
   */
  pass(node: string, message: InboundMessage, outcome: PassOutcome, options: PassOptions): void;
  /**
   * Asks the node that has the session to stop messages.
   *
   * @returns The effect on each message; undefined if no other node has the session.
   * @throws node_gone if that node does not answer; store_unavailable if the store is away.
   */
  stop(address: Address, id?: string, by?: Stopper): Promise<readonly StopResult[] | undefined>;
  /**
   * Lists the messages that the node that has the session works on, oldest first.
   *
   * @returns Undefined if that node does not answer.
   */
  running(address: Address): Promise<readonly RunningMessage[] | undefined>;
  /**
   * Lists the open questions that the node that has the session knows, oldest first.
   *
   * @returns Undefined if that node does not answer.
   */
  questions(address: Address): Promise<readonly OpenQuestion[] | undefined>;
  /**
   * Passes an answer to the node that has the session.
   *
   * @throws not_owner if it does not have the session any more; node_gone if it does not answer;
   *   store_unavailable if the answer could not be stored.
   */
  answer(node: string, ...answer: GivenAnswer): Promise<AnswerResult>;
  /** A session that was lost is no longer worked on here. */
  forget(address: Address): void;
}

/**
 * Ends everything that would write to a session whose conversation is deleted. Called before the
 * store deletes it, and on each other node when it was deleted.
 *
 * @returns A function that is called when the deletion has ended or failed. Until then the messages
 *   of clients to this session wait.
 */
export type DeletionListener = (address: Address) => Release;

/** The parts of the plugin scope that a store uses. */
export interface StoreScope {
  /** The clock of the kernel. */
  readonly clock: Clock;
  /** Receives problems of the store, never the content of messages. */
  readonly log: Log;
  /** Returns this many cryptographically random bytes. */
  readonly random: (bytes: number) => Uint8Array;
  /** Runs a function later, unless the plugin has stopped. */
  readonly after: (ms: number, run: () => void) => Release;
  /** Keeps the tokens of channels equal on all nodes; absent without a token store. */
  readonly tokens?: TokenSync | undefined;
  /** Reads the limits of the store. `keepDays` 0 keeps conversations indefinitely. */
  readonly limits: () => { readonly keepDays: number; readonly maxBytes: number };
  /** Runs for each session of which an entry was stored by this process. */
  readonly changed: (address: Address) => void;
  /** Runs when this process has deleted conversations. */
  readonly forgotten: (count: number) => void;
}

/**
 * Runs before a store is brought to a later version of its tables. If it rejects, the store is not
 * changed, and the start fails with its error.
 */
export type BeforeUpgrade = (upgrade: {
  /** Version of the tables in the file. */
  readonly from: number;
  /** Version that follows. */
  readonly to: number;
  /** Unix milliseconds. */
  readonly at: number;
}) => Promise<void>;

/** Conversations of a store that is open. */
export interface OpenConversations extends Conversations {
  /** Stores everything and closes the store. */
  close(): Promise<void>;
}

/** Opens the conversations at the start: `sqlite()`, or `redis()` of `doorward/plugins/redis`. */
export interface ConversationStore {
  /** If it rejects, the start of the plugin fails with its error. */
  open(scope: StoreScope): Promise<OpenConversations>;
}

/** Opens the store of a kind that the section `store` names. */
export interface ConfiguredStore {
  /** Called when the plugin starts, with the values of the section. */
  open(config: StoreConfig, scope: StoreScope): Promise<OpenConversations>;
}

/** Events of the conversations plugin, without content. */
export type ConversationsEvents = {
  /** Entries of a session were stored; at most one event for each batch. */
  "conversations:changed": {
    /** Name of the channel. */
    readonly channel: string;
    /** Session id within the channel. */
    readonly session: string;
  };
  /** Conversations were deleted, by a person or because they were too old. */
  "conversations:forgotten": {
    /** How many. */
    readonly count: number;
  };
};

/** The plugin's configuration, events and services. */
export type ConversationsShape = {
  /** Stored entries and deleted conversations. */
  emits: ConversationsEvents;
  /** The validated section `store`. */
  config: StoreConfig;
  /** The section as users write it: every field is optional. */
  section: { store: StoreInput };
  /** The token store, so that nodes that share a store have the same tokens. */
  uses: { tokenSync: TokenSync };
  /** History and logs, for pages, commands, channels and applications. */
  offers: { conversations: Conversations };
};
