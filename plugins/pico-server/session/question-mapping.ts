// Converts questions, answers and settlements between channels and the wire.
import type { AnswerPayload } from "../../../lib/pico-wire/index.ts";
import { defined } from "../../../lib/util.ts";
import type { Question, QuestionAnswer } from "../../channels/index.ts";
import type { QuestionMark } from "../../conversations/index.ts";

/** Outcomes of a durable question whose answer the application receives as a message. */
const delivered: readonly string[] = ["answered", "dismissed", "expired"];

/** @returns What the log notes about the message of a question. */
export function toMark({ state, settled, durable }: Question): QuestionMark {
  if (state === "open") return { state, durable };
  const isDelivered = durable !== undefined && delivered.includes(settled!.outcome);
  // A lost question does not bring its conversation to the front.
  const isQuiet = settled!.outcome === "lost";
  return { state: isDelivered ? "undelivered" : "settled", durable, isQuiet };
}

/** @returns The answer of a client, without the id of the question. */
export const toAnswer = ({
  option,
  options,
  values,
  text,
  dismiss,
}: AnswerPayload): QuestionAnswer =>
  defined({ option, options, values, text, dismiss }) as QuestionAnswer;
