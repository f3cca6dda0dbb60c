// The interface of a ownership: which node hands the messages of a session to its application.
import type { Awaitable } from "../../kernel/index.ts";
import type {
  Address,
  AnswerResult,
  InboundMessage,
  QuestionAnswer,
  QuestionVia,
  RunningMessage,
  Sender,
  StopResult,
} from "./messages.ts";

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

/** The calls of a ownership to the node that it belongs to. */
export interface OwnershipListener {
  /** Another node passes a message to the application of this one. */
  passed(message: InboundMessage, outcome: PassOutcome, options: PassOptions): void;
  /** Another node asks to stop messages. */
  stopped(
    address: Address,
    id: string | undefined,
    by: Sender | undefined,
  ): Awaitable<readonly StopResult[]>;
  /** Another node asks for the messages that the application works on. */
  running(address: Address): readonly RunningMessage[];
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
 * a store that several nodes share has a ownership.
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
  claim(address: Address): Awaitable<"own" | { readonly node: string }>;
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
  stop(address: Address, id?: string, by?: Sender): Awaitable<readonly StopResult[] | undefined>;
  /**
   * Lists the messages that the node that has the session works on, oldest first.
   *
   * @returns Undefined if that node does not answer.
   */
  running(address: Address): Awaitable<readonly RunningMessage[] | undefined>;
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
