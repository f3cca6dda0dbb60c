// Questions of the application, and the answers of this client. An answer is never kept for later:
// the question may have been settled in the meantime.
import {
  questionContent,
  type AnswerPayload,
  type QuestionAck,
  type ServerMessage,
  type WireQuestion,
} from "../pico-wire/index.ts";
import { maxKnownQuestions } from "./limits.ts";
import { addEffect, notify, update, type StepContext } from "./step-context.ts";

/** A question of the application, open or settled. */
export interface ChatQuestion extends Omit<WireQuestion, "tool_call_id" | "expires_at"> {
  /** Identifies the question: pass it to `answer`. */
  readonly id: string;
  /** The text as Markdown; of a settled question, with its settlement. */
  readonly content: string;
  /** Id of the message whose answer asks. */
  readonly requestId?: string;
  /** Id of the tool call behind the question. */
  readonly toolCallId?: string;
  /** Unix milliseconds at which the question expires; absent for never. */
  readonly expiresAt?: number;
}

/** An answer: one of `option`, `options`, `values`, `text` alone, or `dismiss`. */
export type ChatAnswer = Omit<AnswerPayload, "message_id">;

/** The effect of an answer. */
export interface ChatAnswered {
  /**
   * `settled`: this answer counts. `already`: an earlier one does. `unknown`: there is no such
   * question. `invalid`: the answer does not fit. `forbidden`: this client cannot answer. `failed`:
   * it could not be stored, and the question is still open.
   */
  readonly status: QuestionAck["status"];
  /** How the question was settled, with `settled` and `already`. */
  readonly settled?: QuestionAck["settled"];
  /** The problem, with `invalid`, `forbidden` and `failed`. */
  readonly problem?: string;
}

/** A question that was reported. */
export interface KnownQuestion {
  readonly id: string;
  /** Undefined after it was settled. */
  readonly open: ChatQuestion | undefined;
}

/** Reports a question once while it is open, and once when it is settled. */
function report(context: StepContext, question: ChatQuestion): void {
  const { id, state } = question;
  const { asked } = context.core;
  const known = asked.find((one) => one.id === id);
  if (known && (known.open === undefined || state === "open")) return;
  const others = asked.filter((one) => one !== known).slice(1 - maxKnownQuestions);
  const open = state === "open" ? question : undefined;
  update(context, { asked: [...others, { id, open }] });
  notify(context, "onQuestion", question);
}

/** Reports the questions that were settled while this client was away, and not replayed. */
export function settleMissing(context: StepContext, openIds: readonly string[]): void {
  for (const { id, open } of context.core.asked)
    if (open && !openIds.includes(id)) report(context, { ...open, state: "settled" });
}

/** Reports the question of a message. */
export function handleQuestion(context: StepContext, message: ServerMessage): void {
  const { message_id: id, content, request_id: requestId, question } = message;
  if (!question) return;
  const { tool_call_id: toolCallId, expires_at: expiresAt, ...rest } = question;
  report(context, {
    id,
    content: questionContent(content),
    ...(requestId !== undefined && { requestId }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...rest,
  });
}

/** Sends an answer, if the link is open and its server knows questions. */
export function sendAnswer(context: StepContext, id: string, text: string): void {
  const { connection, hello, answers } = context.core;
  const refuse = (code: string): void => addEffect(context, { type: "refused", id, code });
  if (!connection?.mode) return refuse("not_sent");
  if (connection.mode === "plain" || !hello?.can?.includes("questions"))
    return refuse("unsupported");
  addEffect(context, { type: "write", text });
  update(context, { answers: [...answers, id] });
}

/** Rejects the answers of a connection that has ended: they may have been settled. */
export function failAnswers(context: StepContext): void {
  const { connection, answers } = context.core;
  if (connection || answers.length === 0) return;
  for (const id of answers) addEffect(context, { type: "refused", id, code: "unconfirmed" });
  update(context, { answers: [] });
}

/** Reports the effect of an answer. */
export function handleQuestionAck(context: StepContext, payload: QuestionAck): void {
  const { request_id: id, message_id: _, ...result } = payload;
  const { answers } = context.core;
  if (id === undefined || !answers.includes(id)) return;
  update(context, { answers: answers.filter((other) => other !== id) });
  addEffect(context, { type: "answered", id, result });
}

/** The server rejected the frame, for example because of its rate. */
export function rejectAnswer(
  context: StepContext,
  { code, message, request_id: id }: { code: string; message: string; request_id?: string },
): boolean {
  const { answers } = context.core;
  if (id === undefined || !answers.includes(id)) return false;
  update(context, { answers: answers.filter((other) => other !== id) });
  addEffect(context, { type: "refused", id, code, message });
  return true;
}
