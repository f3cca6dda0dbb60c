/** Questions as pages and commands receive them. @module */
import type { Turn } from "../../conversations/index.ts";
import type { OpenQuestion, Question, QuestionSettlement } from "../../channels/index.ts";

export type { QuestionAnswer } from "../../channels/index.ts";

/** An open question. */
export interface QuestionView extends Omit<OpenQuestion, "question"> {
  /** The question, without the key of a durable one. */
  readonly question: Omit<Question, "durable">;
  /** If nothing followed the answer: see `Turn`. */
  readonly unfinished?: Turn["unfinished"];
}

/** An open question in a list. */
export interface ListedQuestion extends QuestionView {
  /** The title, or the first line. Hidden characters are visible. */
  readonly label: string;
  /** On the command line: the tool call behind the question, in the form of the program. */
  readonly call?: unknown;
}

/** `GET /api/questions`. */
export interface QuestionsView {
  /** Oldest first. */
  readonly questions: readonly ListedQuestion[];
}

/** The response to an answer. */
export interface AnsweredView {
  /** `settled`: this answer counts. `already`: an earlier one does. */
  readonly status: "settled" | "already" | "unknown" | "invalid";
  /** Code of the error, unless the answer counts. */
  readonly error?: string;
  /** The problem, for people. */
  readonly message?: string;
  /** How the question was settled, with `settled` and `already`. */
  readonly settled?: QuestionSettlement;
}
