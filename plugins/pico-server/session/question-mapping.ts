// Converts answers between channels and the wire.
import type { AnswerPayload } from "../../../lib/pico-wire/index.ts";
import { defined } from "../../../lib/util.ts";
import type { QuestionAnswer } from "../../channels/index.ts";

/** @returns The answer of a client, without the id of the question. */
export const toAnswer = ({
  option,
  options,
  values,
  text,
  dismiss,
}: AnswerPayload): QuestionAnswer =>
  defined({ option, options, values, text, dismiss }) as QuestionAnswer;
