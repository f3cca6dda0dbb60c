// Questions within an answer, and the forms in which clients of other products answer them.
import { defined, isObject } from "../../lib/util.ts";
import type { Question, QuestionAnswer, QuestionSettlement, ToolCall } from "../channels/index.ts";

/** A question as the message of an answer carries it. */
export interface AskedQuestion {
  /** The text that asks, without the sentence that settles it. */
  readonly content: string;
  readonly question: Question;
  /** The call of the application that the question is about, if the answer has it. */
  readonly call?: ToolCall | undefined;
  /** True if the answer goes on without the settlement: it may end before. */
  readonly isDurable?: boolean;
}

/** A question of an answer. */
export interface RunQuestion extends AskedQuestion {
  readonly id: string;
  /** Says how it was settled; empty while it is open. */
  readonly sentence: string;
}

export function runQuestionOf(
  { id, text }: { readonly id: string; readonly text: string },
  asked: AskedQuestion,
): RunQuestion {
  const { content, question } = asked;
  const sentence = question.state === "open" ? "" : text.slice(content.length).trim();
  return { ...asked, id, sentence };
}

/** The subject of a question in one line. */
export const titleOf = ({ content, question }: Pick<RunQuestion, "content" | "question">): string =>
  question.title ?? content.split("\n", 1)[0]!.slice(0, 200);

/** Returns the id of the message that delivers the answer of a durable question. */
export const toAnswerId = (question: string): string => `answer:${question}`;

export const isAnswerId = (request: string): boolean => request.startsWith(toAnswerId(""));

/** Leads to the page that answers. */
export const waitingLine = (address: string): string => `Waiting for an answer: ${address}`;

/** The outcome of a question, for clients. */
export function toFacts(settled: QuestionSettlement) {
  const { outcome, option, options, values, text, by, via, at } = settled;
  return defined({ outcome, option, options, values, text, by, via, at });
}

/** Whether the settlement allows what was asked. */
export const isAllowed = ({ options = [], settled }: Question): boolean =>
  settled?.outcome === "answered" &&
  options.some(({ id, effect }) => id === settled.option && effect === "allow");

const maxReason = 1_000;

/**
 * Converts a yes or no to an answer. A yes never chooses an option that the application remembers.
 *
 * @returns An answer without a choice, which is not valid, if the question has no such option.
 */
export function toApproval(
  { options = [] }: Pick<Question, "options">,
  isApproved: boolean,
  reason?: string,
): QuestionAnswer {
  const chosen = isApproved
    ? options.find(({ effect, lasting }) => effect === "allow" && !lasting)
    : options.find(({ effect }) => effect === "deny");
  const text = reason === undefined || reason === "" ? {} : { text: reason.slice(0, maxReason) };
  return { ...(chosen && { option: chosen.id }), ...text };
}

const isText = (value: unknown): value is string => typeof value === "string";

/** Converts what a client sends: the values of a form, an option, options, or a text. */
export function toChoice(
  output: unknown,
  { kind, multiple, options = [] }: Pick<Question, "kind" | "multiple" | "options">,
): QuestionAnswer {
  if (kind === "form") return { values: isObject(output) ? output : {} };
  if (isObject(output)) {
    const { option, options: chosen, text, dismiss } = output;
    return {
      ...(isText(option) && { option }),
      ...(Array.isArray(chosen) && { options: chosen.filter(isText) }),
      ...(isText(text) && { text }),
      ...(dismiss === true && { dismiss }),
    };
  }
  if (Array.isArray(output)) return { options: output.filter(isText) };
  if (!isText(output)) return {};
  if (!options.some(({ id }) => id === output)) return { text: output };
  return multiple ? { options: [output] } : { option: output };
}
