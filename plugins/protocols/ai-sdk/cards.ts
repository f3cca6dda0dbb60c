// Shows questions of the application as calls of tools, which is how a page asks its person.
import { defined, isObject } from "../../../lib/util.ts";
import type { QuestionAnswer } from "../../channels/index.ts";
import type { ClientAnswer } from "../answers.ts";
import {
  invalidType,
  own,
  readFlag,
  readObject,
  readText,
  requireText,
  type JsonObject,
} from "../fields.ts";
import { toApproval, toChoice, type RunQuestion } from "../questions.ts";

const isText = (value: unknown): value is string => typeof value === "string";

/** The tool of questions that are not about a call of the application. */
export const askTool = "doorward_ask";
/** At most as many questions as a session can have open. */
const maxAnswers = 16;

/** The answer of a page to one question. */
export interface PageAnswer extends ClientAnswer {
  /** Id of the call that shows it. */
  readonly toolCallId: string;
  readonly isApproval: boolean;
}

/** The part of a question that a page shows: version 6 shows nothing but this. */
export const toInput = ({
  content,
  question,
  call,
}: Omit<RunQuestion, "id" | "sentence">): object => {
  const { kind, options, multiple, other, schema, url, expiresAt } = question;
  return {
    kind,
    content,
    ...defined({ options, multiple, other, schema, url, expires_at: expiresAt }),
    ...(call && { tool: call.name, arguments: call.arguments }),
  };
};

/** The parts of the last step: earlier ones have been answered. */
function lastStep(message: JsonObject): readonly JsonObject[] {
  const parts = own(message, "parts");
  if (!Array.isArray(parts)) return [];
  const isStart = (part: unknown): boolean => isObject(part) && part["type"] === "step-start";
  return parts.slice(parts.findLastIndex(isStart) + 1).filter(isObject);
}

function readApproval(part: JsonObject, param: string): PageAnswer | undefined {
  if (own(part, "state") !== "approval-responded") return undefined;
  const approval = readObject(part, "approval", param) ?? {};
  const id = readText(approval, "id", `${param}.approval`) ?? "";
  const isApproved = readFlag(approval, "approved", `${param}.approval`);
  const reason = readText(approval, "reason", `${param}.approval`);
  const toolCallId = readText(part, "toolCallId", param) ?? id;
  return {
    id,
    toolCallId,
    isApproval: true,
    toAnswer: (question) => toApproval(question ?? {}, isApproved, reason),
  };
}

function readOutput(part: JsonObject, param: string): PageAnswer | undefined {
  const isAsked = own(part, "toolName") === askTool || own(part, "type") === `tool-${askTool}`;
  const isOwn = isAsked && own(part, "providerExecuted") !== true;
  if (!isOwn || own(part, "state") !== "output-available") return undefined;
  const id = readText(part, "toolCallId", param) ?? "";
  const output = own(part, "output");
  const toAnswer: PageAnswer["toAnswer"] = (question) =>
    question ? toChoice(output, question) : {};
  return { id, toolCallId: id, isApproval: false, toAnswer };
}

/** Reads the body of an answer that a page sends while its stream is open. */
export function readAnswer(body: JsonObject): PageAnswer {
  const id = requireText(body, "message_id");
  const options = own(body, "options");
  if (options !== undefined && !(Array.isArray(options) && options.every(isText)))
    throw invalidType("options", "a list of ids");
  const answer = defined({
    option: readText(body, "option"),
    options,
    values: readObject(body, "values"),
    text: readText(body, "text"),
    dismiss: readFlag(body, "dismiss") || undefined,
  }) as QuestionAnswer;
  return { id, toolCallId: id, isApproval: false, toAnswer: () => answer };
}

/** Reads the answers in the last message of a chat, which is one of the assistant. */
export function readAnswers(message: JsonObject, param: string): readonly PageAnswer[] {
  if (own(message, "role") !== "assistant") return [];
  const answers = lastStep(message).flatMap(
    (part) => readApproval(part, param) ?? readOutput(part, param) ?? [],
  );
  if (answers.length > maxAnswers)
    throw invalidType(param, `a message with at most ${maxAnswers} answers`);
  return answers;
}
