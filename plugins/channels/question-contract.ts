/** Questions as the application asks them, their outcomes and counters. */
import type { Question, QuestionSettlement } from "../conversations/contract.ts";

/** A question for the people of a session. */
export interface QuestionInput extends Omit<
  Question,
  "state" | "settled" | "expiresAt" | "durable"
> {
  /** The text as Markdown of at most 64 KiB. It contains everything a person needs, because
   *  some channels show nothing else. */
  readonly content: string;
  /** Milliseconds until the question expires: at most seven days. @defaultValue never */
  readonly timeoutMs?: number;
  /** Settles the question: `lost` for a reason with the code `application_ended` or `not_running`,
   *  otherwise `withdrawn`. */
  readonly signal?: AbortSignal;
}

/** A question that outlives the application: its answer arrives as a message with `answer`. */
export interface DurableQuestionInput extends QuestionInput {
  /** Identifies the question for the application: 1 to 128 characters. */
  readonly durable: string;
}

/** The outcome of a question, for the application. */
export interface QuestionResult extends QuestionSettlement {
  /** Whether the chosen option allows what was asked. Without `allow`, the answer is no. */
  readonly effect?: "allow" | "deny";
}

/** Asks the people of a session. Never rejects because of their answer. */
export interface Ask {
  /**
   * Asks a question whose answer arrives later, as a message with `answer`.
   *
   * @returns The id of the question.
   */
  (question: DurableQuestionInput): Promise<{ readonly id: string }>;
  /**
   * Asks a question.
   *
   * @returns The outcome. It is stored before the application receives it.
   * @throws invalid_question, unsupported_question for a question of a wrong form.
   * @throws too_many_questions with 16 open questions in the session, or 256 in the process.
   * @throws unsupported if the channel cannot update messages; not_running; stopped; or an error of
   *   the channel or the store, and then no client has seen the question.
   */
  (question: QuestionInput): Promise<QuestionResult>;
}

/** Counters of questions since the start. */
export interface QuestionCounts {
  /** Questions that are open. */
  readonly open: number;
  /** Settled questions, by outcome and origin. */
  readonly settled: readonly (Pick<QuestionSettlement, "outcome" | "via"> & {
    /** How many. */
    readonly count: number;
  })[];
  /** How long answered questions waited. */
  readonly waits: {
    /** Seconds, ascending. */
    readonly bounds: readonly number[];
    /** Questions within each of `bounds`, cumulative. */
    readonly counts: readonly number[];
    /** All questions. */
    readonly count: number;
    /** Seconds. */
    readonly sum: number;
  };
}
