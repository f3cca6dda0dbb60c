// Parses the input of a run.
import { isObject } from "../../lib/util.ts";
import type { Media, PreviousTurn } from "../channels/index.ts";
import {
  assertTurn,
  boundPrevious,
  invalidType,
  isMessageId,
  joinParts,
  missing,
  own,
  readImage,
  readList,
  readObject,
  readText,
  shortDigest,
  toMetadata,
  unsupported,
  type JsonObject,
  type Turn,
} from "../doors/index.ts";

/** A message in the form of the protocol. */
export interface InputMessage {
  readonly id: string;
  readonly role: string;
  readonly content?: unknown;
  readonly toolCalls?: unknown;
}

export interface RunInput {
  readonly threadId: string;
  readonly runId: string;
  /** As the client sent them, for snapshots. */
  readonly messages: readonly InputMessage[];
  /** The last message of the user; undefined if there is none. */
  readonly turn: (Turn & { readonly messageId: string }) | undefined;
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
function readPart(part: unknown, param: string): string | Media | undefined {
  if (!isObject(part)) throw invalidType(param, "an object");
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

function readMessage(message: unknown, index: number): ReadMessage {
  const param = `messages[${index}]`;
  if (!isObject(message)) throw invalidType(param, "an object");
  const id = readText(message, "id", `${param}.id`);
  if (id === undefined) throw missing(`${param}.id`);
  const given = readText(message, "role", `${param}.role`) ?? "";
  const role = Object.hasOwn(roles, given) ? roles[given] : undefined;
  if (!role) throw unsupported(`${param}.role`, `${param}.role is unknown.`);
  const present = Object.entries(message).filter(([, value]) => value !== null);
  const echoed = { ...Object.fromEntries(present), id, role: given };
  if (role === "ignored") return { message: echoed, turn: undefined };
  const content = own(message, "content") ?? "";
  const name = readText(message, "name", `${param}.name`);
  const named = { role, ...(name !== undefined && { name: name.slice(0, 256) }) };
  if (typeof content === "string") return { message: echoed, turn: { ...named, content } };
  if (!Array.isArray(content)) throw invalidType(`${param}.content`, "a string or a list of parts");
  const parts = content.map((part, at) => readPart(part, `${param}.content[${at}]`));
  const { content: text, media } = joinParts(parts, `${param}.content`);
  const turn = { ...named, content: text, ...(media.length > 0 && { media }) };
  return { message: echoed, turn };
}

function assertVersion(body: JsonObject): void {
  const version = readText(body, "protocolVersion") ?? "1.0";
  if (/^1(?:\.|$)/.test(version)) return;
  throw unsupported("protocolVersion", "Only version 1 of the protocol is served.");
}

function readOptionalList(body: JsonObject, key: string): readonly unknown[] {
  return own(body, key) === undefined ? [] : readList(body, key);
}

function readName(body: JsonObject, key: string): string {
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
  const threadId = readName(body, "threadId");
  const runId = readName(body, "runId");
  assertVersion(body);
  if (readOptionalList(body, "resume").length > 0)
    throw unsupported("resume", "Interrupted runs cannot be resumed.");
  const read = readList(body, "messages").map(readMessage);
  const rest = readRest(body);
  const messages = read.map(({ message }) => message);
  const at = read.findLastIndex(({ turn }) => turn?.role === "user");
  if (at === -1) return { threadId, runId, messages, turn: undefined };
  const last = read[at]!.turn!;
  assertTurn(last, `messages[${at}]`);
  const { previous, cut } = boundPrevious(read.slice(0, at).flatMap(({ turn }) => turn ?? []));
  const turn = {
    messageId: toTurnId(messages[at]!.id),
    content: last.content,
    media: last.media ?? [],
    previous,
    metadata: toMetadata({ key: "ag_ui", rest: { runId, ...rest }, cut }),
  };
  return { threadId, runId, messages, turn };
}
