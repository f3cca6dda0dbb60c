// Finds the settled questions of a conversation among its turns.
import type { Conversations, ConversationSummary, Turn } from "../conversations/contract.ts";
import { defined, isObject } from "../../lib/util.ts";
import type { Decision, DecisionLine } from "./contract.ts";

const pageSize = 200;
/** A conversation of more turns is read up to here, from the end. */
const maxPages = 100;

/** @returns The turns of a conversation, oldest first, and whether these are all. */
export async function readTurns(
  conversations: Pick<Conversations, "read">,
  id: string,
): Promise<{ readonly turns: readonly Turn[]; readonly isComplete: boolean }> {
  const pages: (readonly Turn[])[] = [];
  let before: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const options = { limit: pageSize, ...(before !== undefined && { before }) };
    const { items, before: next } = await conversations.read(id, options);
    pages.unshift(items);
    if (next === undefined) return { turns: pages.flat(), isComplete: true };
    before = next;
  }
  return { turns: pages.flat(), isComplete: false };
}

/** The last paragraph of the text says how the question was settled. */
const askedOf = (content: string): string => {
  const end = content.lastIndexOf("\n\n");
  return end === -1 ? content : content.slice(0, end);
};

const isSettled = ({ question }: Turn): boolean => question?.settled !== undefined;

/** @returns The parts of a settled question that name no session, text or argument. */
function toLine({ id, question }: Turn): DecisionLine {
  const { kind, options = [], settled } = question!;
  const { outcome, option, via, by, at } = settled!;
  const effect = options.find((each) => each.id === option)?.effect;
  return { id, at, kind, outcome, via, ...defined({ effect, by: by?.id }) };
}

/** A call in the form of a program or of OpenAI. */
function toCall(call: unknown): { readonly id?: unknown; name?: string; arguments?: string } {
  if (!isObject(call)) return {};
  const inner = isObject(call["function"]) ? call["function"] : call;
  const { name, arguments: given } = inner;
  const text = typeof given === "string" || given === undefined ? given : JSON.stringify(given);
  return {
    id: call["id"],
    ...(typeof name === "string" && { name }),
    ...(text !== undefined && { arguments: text }),
  };
}

/** Says what the answer that asked did afterwards: the end of its message, or of the one that
 *  delivered the answer to a durable question. */
function followedOf({ id, inReplyTo }: Turn, turns: readonly Turn[]): object {
  const find = (request: string | undefined): Turn | undefined =>
    turns.findLast(
      ({ role, requestId }) => role === "user" && requestId !== undefined && requestId === request,
    );
  const turn = find(`answer:${id}`) ?? find(inReplyTo);
  if (turn?.outcome === undefined) return {};
  return { followed: defined({ outcome: turn.outcome, code: turn.code }) };
}

function toDecision(
  { id: conversation, channel, session, title }: ConversationSummary,
  turn: Turn,
  turns: readonly Turn[],
): Decision {
  const { question, content, at: askedAt } = turn;
  const { title: subject, options = [], toolCallId, settled } = question!;
  const { option, options: several = [], text, values, by } = settled!;
  const calls = toolCallId === undefined ? [] : turns.flatMap(({ toolCalls = [] }) => toolCalls);
  const call = calls.map(toCall).findLast((each) => each.id === toolCallId);
  const ids = [...(option === undefined ? [] : [option]), ...several];
  const chosen = ids.map((each) => options.find((one) => one.id === each)?.label ?? each);
  return {
    ...toLine(turn),
    ...{ channel, session, conversation, title, askedAt, question: askedOf(content) },
    ...defined({ subject, tool: call?.name, arguments: call?.arguments, text, values }),
    ...defined({ person: by?.name }),
    ...(chosen.length > 0 && { chosen }),
    ...followedOf(turn, turns),
  };
}

export const decisionsIn = (
  summary: ConversationSummary,
  turns: readonly Turn[],
): readonly Decision[] => turns.filter(isSettled).map((turn) => toDecision(summary, turn, turns));

export const linesIn = (turns: readonly Turn[]): readonly DecisionLine[] =>
  turns.filter(isSettled).map(toLine);
