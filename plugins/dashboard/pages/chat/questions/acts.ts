/** Sends the answer to a question. @module */
import type { AnsweredView, QuestionAnswer } from "../../../shared/question-views.ts";
import { requestAsOwner } from "../../live/owner.ts";
import type { ConversationTarget } from "../state/store.ts";
import type { Answer } from "../state/groups.ts";
import type { AppMessage, AskedQuestion } from "../state/thread.ts";

/** The conversation, as far as a card uses it. */
export interface QuestionActs {
  /** The conversation of the question. */
  readonly place: () => ConversationTarget;
  /** Reads the stored messages again. */
  readonly reload: () => Promise<void>;
}

/** The question, and how its buttons answer it. */
export interface AnswerProps {
  readonly asked: AskedQuestion;
  /** True while an answer is under way. */
  readonly isSending: boolean;
  readonly send: (answer: QuestionAnswer) => void;
}

/** The message of a question, in its answer. */
export interface CardProps {
  readonly answer: Answer;
  readonly message: AppMessage;
  readonly acts: QuestionActs;
}

/** The effect of an answer. `late`: another one came first. */
export type Sent =
  | { readonly state: "settled" | "late" }
  | { readonly state: "failed"; readonly problem: string };

const endCodes: readonly unknown[] = ["already_settled", "unknown_question"];

/**
 * Sends an answer once. Nothing is kept for later: the question may be settled by then.
 *
 * @param id - Id of the question.
 */
export async function sendAnswer(
  { place, reload }: QuestionActs,
  id: string,
  answer: QuestionAnswer,
): Promise<Sent> {
  const { channel, session } = place();
  const path = `/api/questions/${encodeURIComponent(id)}`;
  const result = await requestAsOwner<AnsweredView>("POST", path, { channel, session, ...answer });
  // The channel reports the settlement, if it is connected.
  const isSettled = !("error" in result) || endCodes.includes(result.error.code);
  if (isSettled) await reload();
  if (!("error" in result)) return { state: "settled" };
  const { status, code, message } = result.error;
  if (code === "already_settled") return { state: "late" };
  return {
    state: "failed",
    problem: status === 0 ? "Not sent. Try again." : `Not sent. ${message}`,
  };
}
