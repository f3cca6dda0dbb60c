// Parses the body of a request of the chat transport.
import { isObject } from "../../../lib/util.ts";
import type { Media } from "../../channels/index.ts";
import { askTool, readAnswers, type PageAnswer } from "./cards.ts";
import {
  invalidType,
  missing,
  own,
  readList,
  readObject,
  readText,
  unsupported,
  withoutFields,
  requireText,
  type JsonObject,
} from "../fields.ts";
import { readFile } from "../files.ts";
import { refuse } from "../errors.ts";
import { isMessageId, shortDigest, toIgnored } from "../session.ts";
import { boundTools, readTool, readToolChoice, type ToolOffer } from "../tools.ts";
import {
  messageIndex,
  readItems,
  readParts,
  readRole,
  requireImage,
  toTurn,
  readMessages,
  type PartReader,
  type SourceTurn,
  type Turn,
} from "../turn.ts";
import type { Protocol } from "../protocol.ts";

/** A message for the application. */
export interface ChatRequest {
  /** Id of the chat, as the client names it. */
  readonly chat: string;
  readonly messageId: string;
  /** Undefined if there are `answers`. */
  readonly turn?: Turn;
  /** Answers to questions, in place of a message. */
  readonly answers?: readonly PageAnswer[];
  /** The parts of the request that were not applied, for a header. */
  readonly ignored: string;
}

const readFields = new Set([
  "id",
  "messages",
  "message",
  "trigger",
  "messageId",
  "tools",
  "toolChoice",
]);
const roles = { system: "system", user: "user", assistant: "assistant" } as const;

/** Between the id of a message and the mark of a repetition with other content. */
const repetition = "~";
const repetitionPattern = /~[0-9a-f]{8}$/;

/** Returns the id that the client gave a message, from the one that the application knows. */
export const toClientId = (id: string): string =>
  id.replace(/^air?:/, "").replace(repetitionPattern, "");

/** Returns the id of the message of the assistant that the answer to this one continues. */
export const continuedId = (id: string): string | undefined =>
  id.startsWith("air:") ? toClientId(id) : undefined;

/** @throws Refusal for a name that a URL cannot contain. */
export function assertChat(chat: string): string {
  if (chat !== "" && chat !== "." && chat !== "..") return chat;
  throw unsupported("id", "The id of the chat must not be empty, . or ..");
}

function readPart(part: JsonObject, param: string): string | Media | undefined {
  const type = own(part, "type");
  if (type === "text") return readText(part, "text", param) ?? "";
  if (type !== "file") return undefined;
  const mediaType = readText(part, "mediaType", param) ?? "";
  const url = readText(part, "url", param);
  if (/^image(?:\/|$)/.test(mediaType)) return requireImage(url, `${param}.url`);
  throw refuse("invalid_image_url", `${param} must be an image.`, { param });
}

/** Other files than images have a `data:` URL, too. */
const readPartOrFile: PartReader = (part, param) => {
  const mediaType = readText(part, "mediaType", param) ?? "";
  if (own(part, "type") !== "file" || /^image(?:\/|$)/.test(mediaType))
    return readPart(part, param);
  const data = readText(part, "url", param);
  if (!/^data:/i.test(data ?? ""))
    throw unsupported(`${param}.url`, `${param}.url must be a data: URL.`);
  const filename = readText(part, "filename", param);
  return readFile({ data: data!, type: mediaType || undefined, filename }, `${param}.url`);
};

const toText = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");

/** A part that shows a call of a tool of the page, with its result once the page has run it. */
interface ToolPart {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly result?: { readonly content: string; readonly isError: boolean };
}

function readToolPart(part: JsonObject, param: string): ToolPart | undefined {
  const type = readText(part, "type", param) ?? "";
  const isTool = type.startsWith("tool-") || type === "dynamic-tool";
  if (!isTool || own(part, "providerExecuted") === true) return undefined;
  const id = requireText(part, "toolCallId", param);
  const named = readText(part, "toolName", param) ?? type.slice("tool-".length);
  const call = { id: id.slice(0, 256), name: named.slice(0, 256), input: own(part, "input") ?? {} };
  if (call.name === askTool) return undefined;
  const state = own(part, "state");
  if (state === "output-available")
    return { ...call, result: { content: toText(own(part, "output") ?? ""), isError: false } };
  if (state !== "output-error") return call;
  const content = readText(part, "errorText", param) ?? "";
  return { ...call, result: { content, isError: true } };
}

/** Splits the parts of a message into the steps of the answers that it shows. */
function toSteps(parts: readonly unknown[]): (readonly unknown[])[] {
  const steps: unknown[][] = [[]];
  for (const part of parts)
    if (isObject(part) && part["type"] === "step-start") steps.push([]);
    else steps.at(-1)!.push(part);
  return steps;
}

/** The text and the calls of one step, and the results of its calls. */
function readStep(parts: readonly unknown[], param: string, read: PartReader): SourceTurn[] {
  const content = readParts(parts, param, read);
  const tools = readItems(parts, param, readToolPart).filter((part) => part !== undefined);
  const toolCalls = tools.map(({ id, name, input }) => ({ id, name, arguments: toText(input) }));
  const calls = toolCalls.length > 0 && { toolCalls };
  const results = tools.flatMap(({ id, result }): SourceTurn[] =>
    result
      ? [
          {
            turn: { role: "tool", content: result.content, toolCallId: id },
            param,
            isError: result.isError,
          },
        ]
      : [],
  );
  return [{ turn: { role: "assistant", ...content, ...calls }, param }, ...results];
}

function readMessage(message: JsonObject, param: string, read: PartReader): SourceTurn[] {
  const role = readRole(message, param, roles);
  const parts = own(message, "parts");
  if (!Array.isArray(parts)) throw invalidType(`${param}.parts`, "a list");
  if (role !== "assistant")
    return [{ turn: { role, ...readParts(parts, `${param}.parts`, read) }, param }];
  return toSteps(parts).flatMap((step) => readStep(step, `${param}.parts`, read));
}

/** Reads the tools of the page: a list, or an object with the names as keys. */
function readTools(body: JsonObject): ToolOffer {
  const given = own(body, "tools") ?? [];
  const list = isObject(given)
    ? Object.entries(given).map(([name, tool]) => (isObject(tool) ? { ...tool, name } : tool))
    : given;
  if (!Array.isArray(list)) throw invalidType("tools", "a list or an object");
  const tools = readItems(list, "tools", (tool, param) =>
    readTool(tool, param, own(tool, "inputSchema") === undefined ? "parameters" : "inputSchema"),
  );
  const toolChoice = readToolChoice(own(body, "toolChoice"));
  return { ...boundTools(tools, "tools"), ...(toolChoice !== undefined && { toolChoice }) };
}

/** The whole conversation, or only its last message. */
function readConversation(body: JsonObject): readonly unknown[] {
  const message = readObject(body, "message");
  if (message) return [message];
  const messages = readList(body, "messages");
  if (messages.length === 0) throw missing("messages");
  return messages;
}

interface IdOptions {
  readonly isRepeated: boolean;
  readonly newId: () => string;
}

/** Regenerated and edited messages keep the id of the client, so each receives a mark. */
function messageIdOf(message: JsonObject, { isRepeated, newId }: IdOptions): string {
  const given = readText(message, "id", "messages") ?? newId();
  const mark = isRepeated ? repetition + newId().slice(0, 8) : "";
  const id = `ai:${given}${mark}`;
  return isMessageId(id) ? id : `ai:${shortDigest(given)}${mark}`;
}

/** Names results, or a request to continue, by the message of the assistant that shows them. */
function continuationIdOf(
  message: JsonObject,
  { toolResults }: Turn,
  { newId }: Pick<IdOptions, "newId">,
): string {
  const given = readText(message, "id", "messages") ?? newId();
  const mark = toolResults ? shortDigest(JSON.stringify(toolResults)) : newId();
  const id = `air:${given}${repetition}${mark.slice(0, 8)}`;
  if (isMessageId(id)) return id;
  throw unsupported("messages.id", "The id of the last message is too long.");
}

/** @throws Refusal for the first field that is wrong. */
export function parseChat(body: JsonObject, { newId, channels, media }: Protocol): ChatRequest {
  const chat = assertChat(readText(body, "id") ?? "");
  const messages = readConversation(body);
  const trigger = readText(body, "trigger") ?? "submit-message";
  const isRegenerated = trigger === "regenerate-message";
  if (!isRegenerated && trigger !== "submit-message")
    throw unsupported("trigger", "trigger must be submit-message or regenerate-message.");
  const left: string[] = [];
  const at = messageIndex(messages);
  const reading = { readPart: media ? readPartOrFile : readPart, left, read: readMessage };
  const turns = readMessages(messages, "messages", reading).flat();
  const last = messages[at] as JsonObject;
  const answers = isRegenerated ? [] : readAnswers(last, `messages[${at}]`);
  const hasResults = turns.at(-1)?.turn.role === "tool";
  if (answers.length > 0 && !hasResults)
    return {
      chat,
      messageId: readText(last, "id", "messages") ?? newId(),
      answers,
      ignored: "",
    };
  const rest = withoutFields(body, readFields);
  const isRepeated = isRegenerated || readText(body, "messageId") !== undefined;
  const turn = toTurn(turns, {
    param: "messages",
    key: "ai_sdk",
    rest: { ...rest, ...(isRegenerated && { regenerate: true }) },
    canContinue: channels.can("continue"),
    left,
    ...readTools(body),
  });
  const messageId =
    turn.toolResults || turn.continues
      ? continuationIdOf(last, turn, { newId })
      : messageIdOf(last, { isRepeated, newId });
  return { chat, messageId, turn, ignored: toIgnored(turn.left) };
}
