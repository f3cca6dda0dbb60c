// Parses the input of a run.
import { isObject } from "../../../lib/util.ts";
import type { ClientTool, Media, PreviousTurn } from "../../channels/index.ts";
import type { ClientAnswer } from "../answers.ts";
import {
  missing,
  own,
  readList,
  readObject,
  readText,
  unsupported,
  requireText,
  readOptionalList,
  type JsonObject,
} from "../fields.ts";
import { readFile } from "../files.ts";
import { readImage } from "../media.ts";
import { isMessageId, shortDigest } from "../session.ts";
import { boundTools, readTool } from "../tools.ts";
import {
  readCallId,
  readCalls,
  readContent,
  readItems,
  readName,
  readRole,
  toTurn,
  type PartReader,
  type SourceTurn,
  type Turn,
} from "../turn.ts";
import { readResume } from "./interrupts.ts";
import type { Protocol } from "../protocol.ts";

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
  /** The last message of the user, or the results at the end; undefined if there is neither. */
  readonly turn: Turn | undefined;
  /** Answers to interrupts. */
  readonly resume: readonly ClientAnswer[];
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
  if (own(part, "type") === "text") return readText(part, "text", param) ?? "";
  const source = readObject(part, "source", param);
  if (own(part, "type") !== "image" || !source) return undefined;
  const value = readText(source, "value", `${param}.source`) ?? "";
  const type = readText(source, "mimeType", `${param}.source`) ?? "";
  const kind = own(source, "type");
  if (kind === "url") return readImage(value);
  return kind === "data" ? readImage(`data:${type};base64,${value}`) : undefined;
}

const fileTypes: readonly unknown[] = ["audio", "video", "document"];

/** Files of the present form have a `source`; those of the earlier one are of the type `binary`. */
const readPartOrFile: PartReader = (part, param) => {
  const type = own(part, "type");
  if (type !== "binary" && !fileTypes.includes(type)) return readPart(part, param);
  const isBinary = type === "binary";
  const at = isBinary ? param : `${param}.source`;
  const source = isBinary ? part : (readObject(part, "source", param) ?? {});
  const key = isBinary ? "data" : "value";
  const data = readText(source, key, at);
  // A file at another address is not fetched.
  if (data === undefined || (!isBinary && own(source, "type") !== "data")) return undefined;
  const mimeType = readText(source, "mimeType", at);
  const image = mimeType?.startsWith("image/") && readImage(`data:${mimeType};base64,${data}`);
  if (image) return image;
  const named = isBinary ? part : (readObject(part, "metadata", param) ?? {});
  const filename = own(named, "filename");
  const name = typeof filename === "string" ? filename : undefined;
  return readFile({ data, type: mimeType, filename: name }, `${at}.${key}`);
};

interface ReadMessage {
  readonly message: InputMessage;
  readonly turn: PreviousTurn | undefined;
  readonly param: string;
  readonly isError: boolean;
}

function readMessage(message: JsonObject, param: string, read: PartReader): ReadMessage {
  const id = requireText(message, "id", param);
  const role = readRole(message, param, roles);
  const present = Object.entries(message).filter(([, value]) => value !== null);
  const given = { ...(Object.fromEntries(present) as object as InputMessage), id };
  const isError = role === "tool" && own(message, "error") !== undefined;
  const common = { message: given, param, isError };
  if (role === "ignored") return { ...common, turn: undefined };
  const turn = {
    role,
    ...readName(message, param),
    ...readContent(message, param, read),
    ...(role === "assistant" && readCalls(message, "toolCalls", param)),
    ...(role === "tool" && readCallId(message, "toolCallId", param)),
  };
  return { ...common, turn };
}

function assertVersion(body: JsonObject): void {
  const version = readText(body, "protocolVersion") ?? "1.0";
  if (/^1(?:\.|$)/.test(version)) return;
  throw unsupported("protocolVersion", "Only version 1 of the protocol is served.");
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
  const context = readOptionalList(body, "context");
  const isFull = (value: unknown): boolean =>
    value !== undefined && !(isObject(value) && Object.keys(value).length === 0);
  return {
    ...(parent !== undefined && { parentRunId: parent }),
    ...(isFull(state) && { state }),
    ...(isFull(props) && { forwardedProps: props }),
    ...(context.length > 0 && { context }),
  };
}

/** The id of the message with the result of a call of the application. */
export const resultMessageId = (callId: string): string => `${callId}:result`;

const isTurn = (read: ReadMessage): read is ReadMessage & SourceTurn => read.turn !== undefined;

/** True for the result of a tool that the client has run. */
const isClientResult = ({ turn, message }: ReadMessage & SourceTurn): boolean =>
  turn.role === "tool" && message.id !== resultMessageId(turn.toolCallId ?? "");

/** The turns up to the message: results at the end, or the last message of the user. */
function readTurns(read: readonly ReadMessage[]): readonly (ReadMessage & SourceTurn)[] {
  const turns = read.filter(isTurn);
  const at = turns.findLastIndex(({ turn }) => turn.role !== "system" && turn.role !== "tool");
  const added = turns.slice(at + 1);
  const results = added.filter(isClientResult);
  const system = added.filter(({ turn }) => turn.role === "system");
  if (results.length > 0) return [...turns.slice(0, at + 1), ...system, ...results];
  return turns.slice(0, turns.findLastIndex(({ turn }) => turn.role === "user") + 1);
}

const readTools = (body: JsonObject): readonly ClientTool[] =>
  readItems(readOptionalList(body, "tools"), "tools", (tool, param) => readTool(tool, param));

/** @throws Refusal for the first field that is wrong. */
export function parseInput(body: JsonObject, { media }: Protocol): RunInput {
  const threadId = readId(body, "threadId");
  const runId = readId(body, "runId");
  assertVersion(body);
  const resume = readResume(body);
  const readPartOf = media ? readPartOrFile : readPart;
  const read = readItems(readList(body, "messages"), "messages", (message, param) =>
    readMessage(message, param, readPartOf),
  );
  const rest = { runId, ...readRest(body) };
  const offer = boundTools(readTools(body), "tools");
  const messages = read.map(({ message }) => message);
  const turns = readTurns(read);
  const last = turns.at(-1);
  const common = { threadId, runId, messages, resume };
  if (!last) return { ...common, turn: undefined, turnId: "" };
  const turn = toTurn(turns, { param: "messages", key: "ag_ui", rest, ...offer });
  return { ...common, turn, turnId: toTurnId(last.message.id) };
}
