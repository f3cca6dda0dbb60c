/** One session of a channel: everything that belongs to it, and the order in which it ends. */
import type { Release } from "../../kernel/index.ts";
import type {
  Address,
  DeliveryCallbacks,
  GrowingMessage,
  InboundMessage,
  OpenQuestion,
  QuestionOutcome,
  QuestionResult,
  QuestionSettlement,
  ReplyStream,
  Sender,
  Stopper,
  StopResult,
} from "./contract.ts";
import { mayStop } from "./stop-rights.ts";

/** Where a task runs. One object per session: it belongs to no single task. */
export interface Slot {
  /** Frees the place for the next task, while this one may continue. At most once. */
  release(): void;
  /** Forgets a task that has ended. At most once, after `release`. */
  forget(task: Task): void;
}

export interface Task {
  /** Calls `release` and `forget` of the slot, now or later. Must not throw. */
  start(slot: Slot): void;
}

/** The messages that the application works on, and those that wait for it. */
export interface SessionQueue<T extends Task = Task> {
  waiting: T[];
  /** Tasks that have started and are not forgotten. */
  readonly started: T[];
  /** Started tasks that occupy a place. */
  running: number;
  /** True while the next task is being started; prevents re-entrant calls. */
  isDraining: boolean;
  readonly slot: Slot;
}

/** The first delivery under a message id. */
export interface DeliveryRecord {
  readonly id: string;
  readonly digest: string;
  /** Milliseconds of the monotonic clock. */
  readonly at: number;
  isAccepted: boolean;
  /** True if it was stopped before the application accepted it. */
  isStopped: boolean;
  /** The message was accepted or stopped, and the store of conversations does not know it yet. */
  mustSettle: boolean;
  /** The conversation was deleted, so the store must not learn of the message any more. */
  isDiscarded: boolean;
  /** Callbacks of repeated deliveries that wait for the outcome of the first. */
  waiting: DeliveryCallbacks[] | undefined;
}

/** The known ids of messages. When `newer` is full it becomes `older`, whose ids are forgotten. */
export interface SessionIds {
  /** Deliveries without an outcome, or with one that the store does not know yet. */
  readonly open: Map<string, DeliveryRecord>;
  /** Settled deliveries. */
  newer: Map<string, DeliveryRecord>;
  older: Map<string, DeliveryRecord> | undefined;
  /** True if all ids are here that the store of conversations has kept. */
  isComplete: boolean;
  /** Messages that the conversation has, and that the application has not accepted. */
  begun: Set<string> | undefined;
}

export type MessageKey = Pick<InboundMessage, "channel" | "session" | "id">;

/** A delivery that is held back. */
export interface HeldDelivery {
  readonly message: MessageKey & Pick<InboundMessage, "sender">;
  /** False for a caller that only waits for the ids. */
  readonly isMessage: boolean;
  /** Its id is looked up before it runs. */
  readonly isDeduplicated: boolean;
  /** A client has stopped the message. */
  isStopped?: boolean;
  run(): void;
  /** Rejects it with its conversation, which is deleted. */
  discard(): void;
  reject(error: unknown): void;
}

/** The deliveries that wait, oldest first. It exists while there are some. */
export interface HeldDeliveries {
  readonly deliveries: HeldDelivery[];
  /** True while the conversation of the session is deleted. */
  isHeld: boolean;
  /** True while they are being worked off. */
  isWorking: boolean;
}

/** A message for another node, or one whose node is not known yet. */
export interface PassedMessage {
  readonly message: InboundMessage;
  readonly callbacks: DeliveryCallbacks;
  readonly options: { readonly dedupe?: boolean };
  /** True if a client has stopped it here: it is rejected instead of handed over. */
  isStopped?: boolean;
  /** True if its outcome was reported because its conversation is deleted. */
  isDropped?: boolean;
}

/** Messages on their way to the node that has the session. */
export interface SessionPasses {
  /** Messages that wait until it is known which node that is. */
  claiming: { readonly items: PassedMessage[]; readonly done: Promise<void> } | undefined;
  /** Messages whose outcome another node will report. */
  readonly passed: Set<PassedMessage>;
  /** Messages that are handed over again shortly. */
  readonly returned: Set<PassedMessage>;
}

/** A run that asks. Its end settles its questions. */
export interface Asker {
  /** Id of the client message that is answered. */
  readonly request: string;
  /** Runs when a question is sent. */
  readonly asks: () => void;
  /** Runs when a stop has settled a question, before the application learns that. */
  readonly stopped: () => void;
}

/** A question that is not settled, or whose application has not been told. */
export interface QuestionEntry extends OpenQuestion {
  at: number;
  readonly owner: Session;
  readonly asker: Asker | undefined;
  /** Monotonic milliseconds. */
  readonly startedAt: number;
  /** Pending while the question is being sent, or its settlement stored. Never rejects. */
  busy: Promise<void> | undefined;
  /** Set when Doorward settles the question: no answer counts from now on. */
  closing: { readonly outcome: QuestionOutcome; readonly by?: Sender | undefined } | undefined;
  settled: QuestionSettlement | undefined;
  /** True after a store failed: it may have stored a settlement all the same. */
  isUnsure: boolean;
  /** Passes the outcome to the application, once. */
  tell: ((result: QuestionResult) => void) | undefined;
  cancelExpiry: Release | undefined;
}

/** The answer of a durable question that no application has accepted. */
export interface WaitingAnswer {
  readonly message: InboundMessage;
  isDelivering: boolean;
  hasFailed: boolean;
}

/** A text that the application writes piece by piece. */
export interface StreamWriter {
  readonly stream: ReplyStream;
  /** No client is connected. */
  left(): void;
  /** A client is connected again. */
  returned(): void;
  questionsChanged(): void;
  /** Resolves when the final update was sent or failed. */
  settled(): Promise<unknown>;
}

/** The latest deletion of the conversation of a session. */
interface Deletion {
  readonly number: number;
  /** Ids of messages that were sent before the deletion are lower, those sent later are higher. */
  readonly boundary: string;
}

/** The parts that end with a session. */
export interface SessionEnds {
  /** Settles the questions here only: their node or their conversation is gone. */
  endQuestions(session: Session, outcome: "withdrawn" | "lost"): void;
  /** Removes the messages that wait for the application, and asks it to stop the others. */
  stopTasks(
    session: Session,
    id: string | undefined,
    by: Stopper | undefined,
  ): readonly StopResult[];
  /** Rejects and stops the messages, as another node has the session. */
  abandon(session: Session): void;
  /** Ends the messages whose conversation is deleted. @returns Lets later ones continue. */
  endMessages(session: Session): Release;
  /** Notes the deletion, so that old answers stay deleted. */
  noteDeletion(session: Session): void;
  /** The channel and the plugins learn of the deletion. */
  tellDeleted(session: Session): void;
  /** Aborts the streams. */
  endStreams(session: Session): void;
}

export class Session implements Address {
  readonly channel: string;
  readonly session: string;
  private readonly ends: () => SessionEnds;
  /** Milliseconds of the monotonic clock. */
  usedAt: number;
  /** True if it was used since it was last spared. */
  isUsed = false;
  queue: SessionQueue | undefined;
  ids: SessionIds | undefined;
  held: HeldDeliveries | undefined;
  passes: SessionPasses | undefined;
  /** By id of the message, oldest first. */
  questions: Map<string, QuestionEntry> | undefined;
  /** Settled questions that a late answer still finds, oldest first. */
  settled: Map<string, QuestionSettlement> | undefined;
  /** The questions that an earlier process asked are being read. */
  loading: Promise<void> | undefined;
  /** By id of the question. */
  answers: Map<string, WaitingAnswer> | undefined;
  /** The latest state of replies that are not final, by their ids. */
  replies: Map<string, GrowingMessage> | undefined;
  streams: Set<StreamWriter> | undefined;
  /** Title of the conversation, until its first message is stored. */
  title: string | undefined;
  deletion: Deletion | undefined;

  constructor({ channel, session }: Address, usedAt: number, ends: () => SessionEnds) {
    this.channel = channel;
    this.session = session;
    this.usedAt = usedAt;
    this.ends = ends;
  }

  /** True if the application works on a message, or one waits here. */
  hasMessages(): boolean {
    const { queue } = this;
    return queue !== undefined && queue.started.length + queue.waiting.length > 0;
  }

  /** Lists the messages that are held back, or those with this id. */
  heldMessages(id?: string): readonly HeldDelivery[] {
    const { deliveries = [] } = this.held ?? {};
    return deliveries.filter(
      ({ message, isMessage }) => isMessage && (id ?? message.id) === message.id,
    );
  }

  /** True if a message is on its way to the node that has the session. */
  isPassing(): boolean {
    const { passes } = this;
    return passes !== undefined && (passes.claiming !== undefined || passes.passed.size > 0);
  }

  /** True if a question is open. Durable ones block nothing. */
  isAsking(): boolean {
    for (const { question } of this.questions?.values() ?? [])
      if (question.durable === undefined) return true;
    return false;
  }

  /** True if something of the session is in work, so that it cannot leave. */
  isBusy(): boolean {
    const { questions, answers, streams, held, loading, passes } = this;
    if (this.hasMessages() || this.isPassing() || held || loading) return true;
    return [questions, answers, streams, passes?.returned].some((each) => (each?.size ?? 0) > 0);
  }

  /** True if it remembers something that does not end with time. */
  isRemembering(): boolean {
    return [this.deletion, this.title, this.settled].some((each) => each !== undefined);
  }

  /**
   * Its conversation is being deleted: nothing of it is stored or sent any more.
   *
   * @returns A function that lets later messages of the session continue.
   */
  deleted(): Release {
    const ends = this.ends();
    ends.noteDeletion(this);
    ends.endQuestions(this, "withdrawn");
    this.answers?.clear();
    this.title = undefined;
    const release = ends.endMessages(this);
    ends.endStreams(this);
    ends.tellDeleted(this);
    return release;
  }

  /**
   * Stops one message here, or all. Messages that wait are removed first, so that none of them
   * follows one that ends.
   */
  stop(id?: string, by?: Stopper): readonly StopResult[] {
    const held = this.heldMessages(id).filter(({ message }) => mayStop(by, message.sender));
    for (const delivery of held) delivery.isStopped = true;
    const removed = held.map(({ message }): StopResult => ({ id: message.id, status: "removed" }));
    return [...removed, ...this.ends().stopTasks(this, id, by)];
  }

  /** Another node has the session: its answers end here, and nothing of them is stored. */
  lost(): void {
    const ends = this.ends();
    ends.endQuestions(this, "lost");
    this.answers?.clear();
    ends.abandon(this);
  }
}
