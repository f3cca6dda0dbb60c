// Shows questions of the application as interrupts, and reads the answers that resume a run.
import { defined, isObject } from "../../../lib/util.ts";
import type { Question, QuestionAnswer } from "../../channels/index.ts";
import type { ClientAnswer } from "../answers.ts";
import { own, unsupported, requireText, readOptionalList, type JsonObject } from "../fields.ts";
import { toApproval, toChoice, type RunQuestion } from "../questions.ts";
import { readItems } from "../turn.ts";

/** At most as many questions as a session can have open. */
const maxEntries = 16;

const text = { type: "string" };

/** The form of the payload that answers a question. */
function responseSchemaOf({ kind, options = [], multiple, other, schema }: Question): object {
  if (kind === "form" && schema) return schema;
  const option = { type: "string", enum: options.map(({ id }) => id) };
  const properties = multiple
    ? { options: { type: "array", items: option } }
    : { ...(options.length > 0 && { option }) };
  if (kind !== "approval")
    return { type: "object", properties: { ...properties, ...(other && { text }) } };
  const approved = { type: "boolean" };
  const all = { approved, ...properties, reason: text };
  return { type: "object", properties: all, required: ["approved"] };
}

function reasonOf({ question, call }: RunQuestion): string {
  if (call) return "tool_call";
  return question.kind === "approval" ? "confirmation" : "input_required";
}

export function toInterrupt(asked: RunQuestion): object {
  const { id, content, question, call } = asked;
  const { kind, title, options, url, expiresAt } = question;
  return {
    id,
    reason: reasonOf(asked),
    message: content,
    ...(call && { toolCallId: call.id }),
    responseSchema: responseSchemaOf(question),
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
    metadata: { doorward: defined({ kind, title, options, url }) },
  };
}

/** A chosen option counts only if it says the same as `approved`. */
function toApprovalAnswer(payload: JsonObject, question: Question): QuestionAnswer {
  const { approved, option: id, reason, text: said } = payload;
  const isApproved = approved === true;
  const words = typeof reason === "string" ? reason : typeof said === "string" ? said : undefined;
  const answer = toApproval(question, isApproved, words);
  const option = question.options?.find((each) => each.id === id);
  if (option && (approved === undefined || (option.effect === "allow") === isApproved))
    return { ...answer, option: option.id };
  if (id === undefined) return answer;
  return option ? toApproval(question, false, words) : { option: String(id) };
}

function readEntry(entry: JsonObject, param: string): ClientAnswer {
  const id = requireText(entry, "interruptId", param);
  const status = own(entry, "status");
  if (status === "cancelled") return { id, toAnswer: () => ({ dismiss: true }) };
  if (status !== "resolved")
    throw unsupported(`${param}.status`, `${param}.status must be resolved or cancelled.`);
  const payload = own(entry, "payload");
  const toAnswer = (question: Question | undefined): QuestionAnswer => {
    if (!question) return {};
    if (question.kind !== "approval") return toChoice(payload, question);
    return toApprovalAnswer(isObject(payload) ? payload : {}, question);
  };
  return { id, toAnswer };
}

/** Reads the answers of a run that continues another one. */
export function readResume(body: JsonObject): readonly ClientAnswer[] {
  const entries = readItems(readOptionalList(body, "resume"), "resume", readEntry);
  if (entries.length <= maxEntries) return entries;
  throw unsupported("resume", `A run may answer at most ${maxEntries} interrupts.`);
}
