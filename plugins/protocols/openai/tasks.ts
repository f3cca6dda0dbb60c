// Recognises the requests for titles, tags and follow-ups that chat programs send on their own.
import type { IncomingMessage } from "node:http";
import { unsupported } from "../fields.ts";
import { readHeader } from "../session.ts";
import type { ParsedRequest } from "./request.ts";

export type TaskKind = "title" | "tags" | "follow_ups" | "queries" | "autocomplete" | "other";
/** A recognised task. `isPlain`: the client expects the bare title. */
interface Task {
  readonly kind: TaskKind;
  readonly isPlain: boolean;
}

/** Values of the header, as Open WebUI names its tasks. */
const kindsByName: Readonly<Record<string, TaskKind>> = {
  title_generation: "title",
  tags_generation: "tags",
  follow_up_generation: "follow_ups",
  query_generation: "queries",
  autocomplete_generation: "autocomplete",
};

/** Sentences of the templates that Open WebUI ships. */
const openWebUiTemplates: readonly (readonly [RegExp, TaskKind])[] = [
  [/Generate a concise.{0,40} title/i, "title"],
  [/broad tags/i, "tags"],
  [/Predict 3-5 useful messages|follow-up/i, "follow_ups"],
  [/search queries/i, "queries"],
  [/autocompletion/i, "autocomplete"],
];

const libreChatTitle = (text: string): boolean =>
  (text.includes("Provide a concise, 5-word-or-less title for the conversation") &&
    text.includes("Only return the title itself")) ||
  (text.includes("Analyze this conversation and provide") && text.includes("detected language"));

/** @returns The task, or undefined for a turn of a person. */
export function recogniseTask(
  request: IncomingMessage,
  { turn: { content }, stream, messageCount }: ParsedRequest,
): Task | undefined {
  const name = readHeader(request, "x-doorward-task");
  if (name !== undefined)
    return {
      kind: Object.hasOwn(kindsByName, name) ? kindsByName[name]! : "other",
      isPlain: false,
    };
  if (messageCount !== 1) return undefined;
  if (!stream && content.startsWith("### Task:\n") && /<chat_history>|<text>/.test(content)) {
    const found = openWebUiTemplates.find(([pattern]) => pattern.test(content));
    if (found) return { kind: found[1], isPlain: false };
  }
  return libreChatTitle(content) ? { kind: "title", isPlain: true } : undefined;
}

/** @returns The text between the two marks, or undefined if one of them is missing. */
function textBetween(text: string, open: string, close: string): string | undefined {
  const start = text.indexOf(open);
  const end = start < 0 ? -1 : text.indexOf(close, start + open.length);
  return end < 0 ? undefined : text.slice(start + open.length, end);
}

/** Six words longer than this are cut before they are counted. */
const maxWords = 1_000;

/** The first words of the first message of the person in a quoted conversation. */
function titleOf(content: string): string {
  const history = textBetween(content, "<chat_history>", "</chat_history>");
  const [, quoted] = /^[ \t]*(?:USER|User|Human):\s*(.+)/m.exec(history ?? content) ?? [];
  const start = (quoted ?? history ?? "").trim().slice(0, maxWords);
  const words = start.split(/\s+/).slice(0, 6).join(" ");
  return words === "" ? "Conversation" : words.slice(0, 80);
}

/** @throws Refusal for a task that has no local reply. */
export function replyToTask({ kind, isPlain }: Task, content: string): string {
  switch (kind) {
    case "title":
      return isPlain ? titleOf(content) : JSON.stringify({ title: titleOf(content) });
    case "tags":
      return '{"tags":[]}';
    case "follow_ups":
      return '{"follow_ups":[]}';
    case "queries":
      return '{"queries":[]}';
    case "autocomplete":
      return '{"text":""}';
    default:
      throw unsupported("x-doorward-task", "Doorward has no reply to this task.");
  }
}
