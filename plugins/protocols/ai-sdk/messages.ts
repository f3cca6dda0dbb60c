// Converts the turns of a conversation to the messages that a page shows.
import type { Turn } from "../../conversations/index.ts";
import { toDataUrl, type FileUrl } from "../media.ts";
import type { OpenQuestion } from "../../channels/index.ts";
import { titleOf } from "../questions.ts";
import { askTool, toInput } from "./cards.ts";
import { mediaTypeOf } from "./chunks.ts";
import { toClientId } from "./request.ts";

interface UiMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly parts: object[];
  /** True for a message of the user whose id is the one of the page. */
  readonly isNamed: boolean;
}

function toOpenCard({ id, content, question }: OpenQuestion): object {
  const isApproval = question.kind === "approval";
  return {
    type: "dynamic-tool",
    toolName: askTool,
    toolCallId: id,
    input: toInput({ content, question }),
    title: titleOf({ content, question }),
    ...(isApproval
      ? { state: "approval-requested", approval: { id }, providerExecuted: true }
      : { state: "input-available" }),
  };
}

function toParts({ content, kind, complete, attachments = [] }: Turn, fileUrl: FileUrl): object[] {
  if (kind === "tool_calls") return [];
  const type = kind === "thought" ? "reasoning" : "text";
  const state = complete === false ? "streaming" : "done";
  const files = attachments.map((media) => ({
    type: "file",
    url: toDataUrl(media, fileUrl),
    mediaType: mediaTypeOf(media),
    ...(media.filename !== undefined && { filename: media.filename }),
  }));
  return [...(content === "" ? [] : [{ type, text: content, state }]), ...files];
}

/** The answer names the message of the user by the id that the page gave it. */
function nameQuestion(messages: UiMessage[], requestId: string): void {
  const at = messages.findLastIndex(({ role }) => role === "user");
  const question = messages[at];
  if (!question || question.isNamed || !requestId.startsWith("ai:")) return;
  const id = toClientId(requestId);
  const earlier = messages.findIndex((message) => message.id === id);
  messages[at] = { ...question, id, isNamed: true };
  // The page had regenerated or edited the message.
  if (earlier !== -1) messages.splice(earlier, at - earlier);
}

/** A page answers cards of its last message only, and only as one of the assistant. */
function addCards(messages: UiMessage[], open: readonly OpenQuestion[]): void {
  const [first] = open;
  if (!first) return;
  if (messages.at(-1)?.role !== "assistant")
    messages.push({ id: first.id, role: "assistant", parts: [], isNamed: false });
  messages.at(-1)!.parts.push(...open.map(toOpenCard));
}

interface ConversationOptions {
  /** Returns the id of the message that answers this one. */
  readonly answerIdOf: (requestId: string) => string;
  readonly fileUrl: FileUrl;
  /** The questions that can be answered now. */
  readonly open: readonly OpenQuestion[];
}

/**
 * Joins the turns that answer one message. A message that was edited or regenerated replaces the
 * earlier one and everything after it, as in the page.
 */
export function toUiMessages(
  turns: readonly Turn[],
  { answerIdOf, fileUrl, open }: ConversationOptions,
): readonly object[] {
  const messages: UiMessage[] = [];
  for (const turn of turns) {
    const { role, inReplyTo } = turn;
    // The results are in the message of the assistant that the answer to them continues.
    if (role === "tool") continue;
    if (open.some(({ id: asked }) => asked === turn.id)) {
      if (inReplyTo !== undefined) nameQuestion(messages, inReplyTo);
      continue;
    }
    const isAnswer = role === "assistant" && inReplyTo !== undefined;
    const id = isAnswer ? answerIdOf(inReplyTo) : turn.id;
    const known = messages.find((message) => message.id === id);
    if (known) known.parts.push(...toParts(turn, fileUrl));
    else {
      if (isAnswer) nameQuestion(messages, inReplyTo);
      messages.push({ id, role, parts: toParts(turn, fileUrl), isNamed: false });
    }
  }
  addCards(messages, open);
  return messages.map(({ isNamed: _, ...message }) => message);
}
