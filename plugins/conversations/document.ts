// Conversations and turns as text for people: documents in JSON and Markdown, and their parts.
import { fenceOf } from "../../lib/util.ts";
import type { Media } from "./messages.ts";
import type { ConversationHistory, ConversationSummary, Turn } from "./contract.ts";

const pageSize = 100;
/** Characters of the arguments or the result of a tool call. The JSON document has all of them. */
const maxCallText = 2_000;

/** A tool call of a turn, as text. */
export interface TurnCall {
  /** Name of the function. */
  readonly name: string;
  /** Arguments as the model wrote them, usually JSON. May be empty. */
  readonly arguments: string;
  /** The value that the tool returned. Absent without a result. */
  readonly result?: string;
  /** Why the call failed. Takes the place of `result`. */
  readonly error?: string;
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {};
/** Everything but text becomes JSON. */
const toText = (value: unknown): string | undefined =>
  value === undefined || value === null || typeof value === "string"
    ? (value ?? undefined)
    : JSON.stringify(value);

/**
 * Reads the tool calls of a turn, or the results that a client sent.
 *
 * @returns One item per call or result; empty if the turn has none.
 * @example
 * import { readCalls } from "doorward/plugins/conversations";
 * readCalls({ toolCalls: [{ id: "1", function: { name: "clock", arguments: "{}" } }] });
 */
export function readCalls({
  toolCalls = [],
  toolResults = [],
}: Pick<Turn, "toolCalls" | "toolResults">): readonly TurnCall[] {
  const results = toolResults.map(({ id, name = id, content, isError }) => ({
    name,
    arguments: "",
    ...(isError ? { error: content } : { result: content }),
  }));
  const calls = toolCalls.map((call) => {
    const { function: inner, result, error } = fieldsOf(call);
    const { name, arguments: text } = fieldsOf(inner);
    const failure = toText(error);
    const output = failure === undefined ? toText(result) : undefined;
    return {
      name: toText(name) || "Tool",
      arguments: toText(text) ?? "",
      ...(output !== undefined && { result: output }),
      ...(failure !== undefined && { error: failure }),
    };
  });
  return [...calls, ...results];
}

/**
 * Names the author of a turn, as `doorward conversations show` and exported documents do: the name
 * or id of the sender, else `User` or `Assistant`, and the kind of the message. A new version of an
 * earlier message says so, and a notice has no author.
 *
 * @example
 * import { turnLabel } from "doorward/plugins/conversations";
 * turnLabel({ role: "assistant", kind: "thought" }); // "Assistant, thought"
 */
export function turnLabel({
  role,
  sender,
  kind,
  replaces,
}: Pick<Turn, "role" | "sender" | "kind" | "replaces">): string {
  const author = sender?.name ?? sender?.id ?? (role === "assistant" ? "Assistant" : "User");
  if (role === "tool") return `${author}, results of tools`;
  if (replaces !== undefined) return `${author}, replaces an earlier message`;
  if (kind === "notice") return "Notice";
  if (kind === undefined) return author;
  return `${author}, ${kind === "tool_calls" ? "tool calls" : kind}`;
}

/**
 * Says which turns of a conversation cannot be shown, as `doorward conversations show` and exported
 * documents do.
 *
 * @returns Undefined if the store keeps all of them.
 * @example
 * import { droppedTurns } from "doorward/plugins/conversations";
 * droppedTurns({ dropped: 1716 }); // "1,716 earlier messages are no longer kept"
 */
export function droppedTurns({
  dropped = 0,
}: Pick<ConversationSummary, "dropped">): string | undefined {
  if (dropped === 0) return undefined;
  const count = dropped.toLocaleString("en-US");
  return `${count} earlier ${dropped === 1 ? "message is" : "messages are"} no longer kept`;
}

const unfinishedTexts = {
  waiting: "the answer waits for the application",
  ended: "the application ended after this answer and wrote nothing more; check what it did",
};

/**
 * Says how the answer to a turn of a person ended, or what became of an answered question, as
 * `doorward conversations show` and exported documents do. An error without a sentence of the
 * application has its code.
 *
 * @returns Undefined for a complete answer, and for other turns.
 * @example
 * import { turnEnd } from "doorward/plugins/conversations";
 * turnEnd({ role: "user", outcome: "failed", message: "Full." }); // "failed: Full."
 */
export function turnEnd({
  role,
  outcome,
  code,
  message,
  unfinished,
}: Pick<Turn, "role" | "outcome" | "code" | "message" | "unfinished">): string | undefined {
  if (unfinished !== undefined) return unfinishedTexts[unfinished];
  if (role === "assistant" || outcome === undefined || outcome === "completed") return undefined;
  const why = message ?? (outcome === "failed" ? code : undefined);
  return why === undefined ? outcome : `${outcome}: ${why}`;
}

const escapeMarkdown = (text: string): string => text.replace(/[\\`*_[\]<>#|]/g, "\\$&");

/** Data URLs are left out: the JSON document has them. */
function mediaLine({ type, url = "", filename }: Media): string {
  const name = escapeMarkdown(filename ?? type);
  return /^https?:[^\s<>]*$/.test(url) ? `\n[${name}](<${url}>)\n` : `\n(${name})\n`;
}

function codeBlock(text: string): string {
  const fence = fenceOf(text);
  return `${fence}\n${text}\n${fence}\n`;
}

/** A surrogate pair is not divided. */
function callText(text: string): string {
  if (text.length <= maxCallText) return codeBlock(text);
  const start = text.slice(0, maxCallText).replace(/[\uD800-\uDBFF]$/, "");
  return `${codeBlock(start)}\n(${text.length - start.length} more characters)\n`;
}

function callSection({ name, arguments: given, result, error }: TurnCall): string {
  const output = error ?? result;
  const label = error === undefined ? "Result" : "Error";
  return (
    `\n**${escapeMarkdown(name.replace(/\s+/g, " "))}**\n` +
    (given === "" ? "" : `\n${callText(given)}`) +
    (output === undefined ? "" : `\n${label}:\n\n${callText(output)}`)
  );
}

export function toSection(turn: Turn): string {
  const { content, attachments = [], complete, at } = turn;
  const ended = turnEnd(turn);
  const note = complete === false ? "incomplete" : ended && escapeMarkdown(ended);
  const end = note === undefined ? "" : `\n(${note})\n`;
  const heading = `\n## ${escapeMarkdown(turnLabel(turn))}, ${new Date(at).toISOString()}\n`;
  const calls = readCalls(turn).map(callSection);
  const text = content === "" && calls.length > 0 ? "" : `\n${content}\n`;
  return `${heading}${text}${calls.join("")}${attachments.map(mediaLine).join("")}${end}`;
}

/** Reads all turns, page by page. */
async function* turnsOf(
  history: Pick<ConversationHistory, "read">,
  id: string,
): AsyncIterable<Turn> {
  let after = ":0";
  for (;;) {
    const { items } = await history.read(id, { after, limit: pageSize });
    yield* items;
    const last = items.at(-1);
    if (last === undefined) return;
    after = `:${last.seq}`;
  }
}

/** Writes `{"conversation": …, "turns": [ … ]}`, one turn per line. */
async function* toJson(
  conversation: ConversationSummary,
  turns: AsyncIterable<Turn>,
): AsyncIterable<string> {
  yield `{"conversation":${JSON.stringify(conversation)},"turns":[`;
  let separator = "\n";
  for await (const turn of turns) {
    yield separator + JSON.stringify(turn);
    separator = ",\n";
  }
  yield "\n]}\n";
}

async function* toMarkdown(
  { title, channel, session, dropped = 0 }: ConversationSummary,
  turns: AsyncIterable<Turn>,
): AsyncIterable<string> {
  yield `# ${escapeMarkdown(title || session)}\n\n`;
  yield `Channel ${escapeMarkdown(channel)}, session ${escapeMarkdown(session)}\n`;
  if (dropped > 0) yield `\n(${droppedTurns({ dropped })})\n`;
  for await (const turn of turns) yield toSection(turn);
}

/**
 * Writes a conversation as one document, piece by piece. Reads it page by page, so that memory does
 * not grow with its length.
 *
 * @throws not_found when the reading begins, if there is no such conversation.
 */
export async function* exportConversation(
  history: Pick<ConversationHistory, "get" | "read">,
  id: string,
  format: "json" | "markdown",
): AsyncIterable<string> {
  const conversation = await history.get(id);
  const turns = turnsOf(history, id);
  yield* format === "json" ? toJson(conversation, turns) : toMarkdown(conversation, turns);
}
