// Parses the input of a run.
import { isObject } from "../../../lib/util.ts";
import type { Media, PreviousTurn } from "../../channels/index.ts";
import {
  isMessageId,
  missing,
  own,
  readContent,
  readImage,
  readItems,
  readList,
  readName,
  readObject,
  readRole,
  readText,
  shortDigest,
  toTurn,
  unsupported,
  type JsonObject,
  type Turn,
} from "../index.ts";

/** A message in the form of the protocol. */
export interface InputMessage {
  readonly id: string;
  readonly role: string;
  readonly content?: unknown;
  readonly toolCalls?: unknown;
  readonly toolCallId?: string;
}

export interface RunInput {
  readonly threadId: string;
  readonly runId: string;
  /** As the client sent them, for snapshots. */
  readonly messages: readonly InputMessage[];
  /** The last message of the user; undefined if there is none. */
  readonly turn: Turn | undefined;
  /** The id of that message for the application. */
  readonly turnId: string;
}

const roles: Readonly<Record<string, PreviousTurn["role"] | "ignored">> = {
  developer: "system",
  system: "system",
  user: "user",
  assistant: "assistant",
  tool: "tool",
  activity: "ignored",
  reasoning: "ignored",
};

const toTurnId = (id: string): string =>
  isMessageId(`ag:${id}`) ? `ag:${id}` : `ag:${shortDigest(id)}`;

/** Media that the application cannot receive are skipped, as the protocol demands. */
function readPart(part: JsonObject, param: string): string | Media | undefined {
  if (own(part, "type") === "text") return readText(part, "text", `${param}.text`) ?? "";
  const source = readObject(part, "source", `${param}.source`);
  if (own(part, "type") !== "image" || !source) return undefined;
  const value = readText(source, "value", `${param}.source.value`) ?? "";
  const type = readText(source, "mimeType", `${param}.source.mimeType`) ?? "";
  const kind = own(source, "type");
  if (kind === "url") return readImage(value);
  return kind === "data" ? readImage(`data:${type};base64,${value}`) : undefined;
}

interface ReadMessage {
  readonly message: InputMessage;
  readonly turn: PreviousTurn | undefined;
}

function readMessage(message: JsonObject, param: string): ReadMessage {
  const id = readText(message, "id", `${param}.id`);
  if (id === undefined) throw missing(`${param}.id`);
  const role = readRole(message, param, roles);
  const present = Object.entries(message).filter(([, value]) => value !== null);
  const read = { ...(Object.fromEntries(present) as object as InputMessage), id };
  if (role === "ignored") return { message: read, turn: undefined };
  const content = readContent(message, param, readPart);
  return { message: read, turn: { role, ...readName(message, param), ...content } };
}

function assertVersion(body: JsonObject): void {
  const version = readText(body, "protocolVersion") ?? "1.0";
  if (/^1(?:\.|$)/.test(version)) return;
  throw unsupported("protocolVersion", "Only version 1 of the protocol is served.");
}

function readOptionalList(body: JsonObject, key: string): readonly unknown[] {
  return own(body, key) === undefined ? [] : readList(body, key);
}

function readId(body: JsonObject, key: string): string {
  const name = readText(body, key);
  if (name === undefined || name === "") throw missing(key);
  return name;
}

/** The data of the run that the application receives, without empty values. */
function readRest(body: JsonObject): JsonObject {
  const parent = readText(body, "parentRunId");
  const state = own(body, "state");
  const props = own(body, "forwardedProps");
  const tools = readOptionalList(body, "tools");
  const context = readOptionalList(body, "context");
  const isFull = (value: unknown): boolean =>
    value !== undefined && !(isObject(value) && Object.keys(value).length === 0);
  return {
    ...(parent !== undefined && { parentRunId: parent }),
    ...(isFull(state) && { state }),
    ...(isFull(props) && { forwardedProps: props }),
    ...(tools.length > 0 && { tools }),
    ...(context.length > 0 && { context }),
  };
}

/** @throws Refusal for the first field that is wrong. */
export function parseInput(body: JsonObject): RunInput {
  const threadId = readId(body, "threadId");
  const runId = readId(body, "runId");
  assertVersion(body);
  if (readOptionalList(body, "resume").length > 0)
    throw unsupported("resume", "Interrupted runs cannot be resumed.");
  const read = readItems(readList(body, "messages"), "messages", readMessage);
  const rest = { runId, ...readRest(body) };
  const messages = read.map(({ message }) => message);
  const index = read.findLastIndex(({ turn }) => turn?.role === "user");
  if (index === -1) return { threadId, runId, messages, turn: undefined, turnId: "" };
  const turns = read.slice(0, index + 1).flatMap(({ turn }) => turn ?? []);
  const turn = toTurn(turns, { param: "messages", key: "ag_ui", rest, index });
  return { threadId, runId, messages, turn, turnId: toTurnId(messages[index]!.id) };
}
