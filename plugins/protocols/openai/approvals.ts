// Shows approvals in the form that the protocol has for tools of other servers, and reads answers.
import { isObject } from "../../../lib/util.ts";
import type { ToolCall } from "../../channels/index.ts";
import { own, readFlag, readText, unsupported, requireText, type JsonObject } from "../fields.ts";
import { titleOf, toApproval, type RunQuestion } from "../questions.ts";
import type { ClientAnswer } from "../answers.ts";
import { questionOfApproval } from "./places.ts";

/** At most as many questions as a session can have open. */
const maxApprovals = 16;

/** The call that an item asks for. */
interface Approval {
  readonly name: string;
  readonly arguments: string;
}

/** Answers to the questions of one session. */
export interface Approvals {
  /** The name of the session, as the ids of the items tell it; undefined if they do not. */
  readonly name: string | undefined;
  readonly answers: readonly ClientAnswer[];
  /** Question -> the item with which the client received it, if the input has it. */
  readonly requests: ReadonlyMap<string, Approval>;
}

/** Clients parse the arguments as JSON, also of a call without any. */
export const argumentsOf = ({ arguments: text }: ToolCall): string => text.trim() || "{}";

export function approvalOf(asked: Omit<RunQuestion, "id" | "sentence">): Approval {
  const { content, question, call } = asked;
  const { options = [] } = question;
  const shown = { content, options: options.map(({ label, effect }) => ({ label, effect })) };
  const text = call ? argumentsOf(call) : JSON.stringify(shown);
  return { name: (call?.name ?? titleOf(asked)).slice(0, 200), arguments: text };
}

function readAnswer(item: JsonObject, param: string) {
  const { question: id, name } = questionOfApproval(
    requireText(item, "approval_request_id", param),
  );
  const isApproved = readFlag(item, "approve", param);
  const reason = readText(item, "reason", param);
  const toAnswer: ClientAnswer["toAnswer"] = (question) =>
    toApproval(question ?? {}, isApproved, reason);
  return { name, answer: { id, toAnswer } };
}

function readRequests(input: readonly unknown[]): ReadonlyMap<string, Approval> {
  const requests = new Map<string, Approval>();
  for (const item of input) {
    if (!isObject(item) || own(item, "type") !== "mcp_approval_request") continue;
    const [id, name, text] = [own(item, "id"), own(item, "name"), own(item, "arguments")];
    if (typeof id === "string" && typeof name === "string" && typeof text === "string")
      requests.set(questionOfApproval(id).question, { name, arguments: text });
  }
  return requests;
}

/** Reads the answers at the end of the input. @returns Undefined if there are none. */
export function readApprovals(body: JsonObject): Approvals | undefined {
  const input = own(body, "input");
  if (!Array.isArray(input)) return undefined;
  const isAnswer = (item: unknown): boolean =>
    isObject(item) && own(item, "type") === "mcp_approval_response";
  const first = input.findLastIndex((item) => !isAnswer(item)) + 1;
  if (first === input.length) return undefined;
  if (input.length - first > maxApprovals)
    throw unsupported("input", `A request may answer at most ${maxApprovals} approvals.`);
  const read = input
    .slice(first)
    .map((item, index) => readAnswer(item as JsonObject, `input[${first + index}]`));
  const [name, ...others] = new Set(read.map((each) => each.name));
  return {
    name: others.length > 0 ? undefined : name,
    answers: read.map(({ answer }) => answer),
    requests: readRequests(input.slice(0, first)),
  };
}
