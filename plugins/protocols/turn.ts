// Reads the messages of a request: roles, texts, images, results of tools, and earlier turns.
import { isRequestError } from "../http/request-error.ts";
import { isObject } from "../../lib/util.ts";
import type { Media, OutputForm, PreviousTurn, ToolCall, ToolResult } from "../channels/index.ts";
import {
  invalidType,
  missing,
  own,
  readObject,
  readText,
  unsupported,
  requireText,
  readOptionalList,
  type JsonObject,
} from "./fields.ts";
import { maxImages, readImage } from "./media.ts";
import { boundFields } from "./metadata.ts";
import { refuse, type Refusal } from "./errors.ts";
import { maxTools, type ToolOffer } from "./tools.ts";

/** Bytes of UTF-8 in the text of one message, and in all earlier turns. */
const maxContentBytes = 1024 * 1024;
const maxPreviousTurns = 256;

/** The message for the application, with the turns before it. */
export interface Turn extends ToolOffer {
  readonly content: string;
  readonly media: readonly Media[];
  readonly previous: readonly PreviousTurn[];
  /** Results of tools that the client has run, with the ids that it knows. */
  readonly toolResults?: readonly ToolResult[];
  /** The JSON that the client wants. */
  readonly output?: OutputForm;
  /** Asks to continue the last of the turns before. */
  readonly continues?: true;
  /** Data of the protocol. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Places of parts that cannot be passed on. */
  readonly left: readonly string[];
}

/** One turn of a request. */
export interface SourceTurn {
  readonly turn: PreviousTurn;
  /** Its place in the request. */
  readonly param: string;
  /** True for the result of a call that failed. */
  readonly isError?: boolean;
}

/** Reads a part. Returns undefined for one that the application cannot receive. */
export type PartReader = (part: JsonObject, param: string) => string | Media | undefined;

/**
 * Returns the index of the message in a list of messages: the last one that is not of the system.
 * Parts of the messages before it may be left out.
 */
export const messageIndex = (list: readonly unknown[]): number =>
  list.findLastIndex(
    (item) => !isObject(item) || (item["role"] !== "system" && item["role"] !== "developer"),
  );

/** Reads each item of a list, which must be an object. */
export const readItems = <T>(
  list: readonly unknown[],
  param: string,
  read: (item: JsonObject, param: string, index: number) => T,
): readonly T[] =>
  list.map((item, index) => {
    const at = `${param}[${index}]`;
    if (!isObject(item)) throw invalidType(at, "an object");
    return read(item, at, index);
  });

interface MessageReading<T> {
  /** Reads one part of a message. */
  readonly readPart: PartReader;
  /** Receives the places of the parts that cannot be passed on. */
  readonly left: string[];
  readonly read: (message: JsonObject, param: string, readPart: PartReader) => T;
}

/** Reads a list of messages. Before that of the user, wrong parts are left out and noted. */
export function readMessages<T>(
  list: readonly unknown[],
  param: string,
  { readPart, left, read }: MessageReading<T>,
): readonly T[] {
  const at = messageIndex(list);
  const readEarlierPart: PartReader = (part, place) => {
    try {
      return readPart(part, place);
    } catch (error) {
      if (!isRequestError(error)) throw error;
      left.push(place);
      return undefined;
    }
  };
  return readItems(list, param, (message, place, index) => {
    const isLast = index === at && message["role"] === "user";
    return read(message, place, isLast ? readPart : readEarlierPart);
  });
}

/** Returns the meaning of the role in `roles`. */
export function readRole<T extends string>(
  message: JsonObject,
  param: string,
  roles: Readonly<Record<string, T>>,
): T {
  const given = requireText(message, "role", param);
  const role = Object.hasOwn(roles, given) ? roles[given] : undefined;
  if (role) return role;
  throw unsupported(`${param}.role`, `The role ${JSON.stringify(given.slice(0, 60))} is unknown.`);
}

/**
 * Reads a text, or a list of parts. Texts are joined with line breaks.
 *
 * @param readPart - Returns undefined for a part that the application cannot receive.
 */
export function readContent(
  message: JsonObject,
  param: string,
  readPart: PartReader,
): Pick<PreviousTurn, "content" | "media"> {
  const content = own(message, "content") ?? "";
  if (typeof content === "string") return { content };
  if (Array.isArray(content)) return readParts(content, `${param}.content`, readPart);
  throw invalidType(`${param}.content`, "a string or a list of parts");
}

export function readParts(
  list: readonly unknown[],
  param: string,
  readPart: PartReader,
): Pick<PreviousTurn, "content" | "media"> {
  const parts = readItems(list, param, readPart);
  const media = parts.filter((part): part is Media => isObject(part));
  if (media.length > maxImages)
    throw unsupported(param, `A message may have at most ${maxImages} images and files.`);
  const content = parts.filter((part) => typeof part === "string").join("\n");
  return { content, ...(media.length > 0 && { media }) };
}

export function readName(message: JsonObject, param: string): Pick<PreviousTurn, "name"> {
  const name = readText(message, "name", param);
  return name === undefined ? {} : { name: name.slice(0, 256) };
}

/** Reads an image that the client must be able to send. */
export function requireImage(url: string | undefined, param: string): Media {
  const media = readImage(url ?? "");
  if (media) return media;
  const message =
    `${param} must be an https: address, or a data: URL in base64 of a PNG, JPEG, GIF or WebP ` +
    "image of at most 20 MiB.";
  throw refuse("invalid_image_url", message, { param });
}

interface TurnOptions extends ToolOffer {
  /** The field with the messages. */
  readonly param: string;
  /** Key of the protocol in the metadata. */
  readonly key: string;
  /** Fields that Doorward does not apply. */
  readonly rest: Readonly<Record<string, unknown>>;
  readonly output?: OutputForm | undefined;
  /** The user that the client claims to have. */
  readonly user?: string | undefined;
  /** Whether the application continues a last turn of the assistant. */
  readonly canContinue?: boolean;
  readonly left?: readonly string[];
}

/**
 * Makes a message of the last turn, or of the results at the end. Turns of the system at the end
 * belong to the turns before.
 *
 * @throws Refusal unless the user wrote the last turn, sent results, or may ask to continue.
 */
export function toTurn(turns: readonly SourceTurn[], options: TurnOptions): Turn {
  const {
    param,
    key,
    rest,
    user,
    tools,
    toolChoice,
    output,
    canContinue = false,
    left = [],
  } = options;
  const isNotSystem = ({ turn }: SourceTurn): boolean => turn.role !== "system";
  const at = turns.findLastIndex(isNotSystem);
  const last = turns[at];
  if (!last) throw lastRoleRefusal(turns.at(-1)?.param ?? param);
  const message = toMessage(turns.slice(0, at + 1), last, canContinue);
  const earlier = turns.slice(0, message.first).concat(turns.slice(at + 1));
  const { previous, cut } = boundPrevious(earlier.map(({ turn }) => turn));
  const metadata = {
    ...(Object.keys(rest).length > 0 && { [key]: boundFields(rest) }),
    ...(user !== undefined && { user: user.slice(0, 256) }),
    ...(cut > 0 && { previous_cut: cut }),
  };
  const { first: _, ...fields } = message;
  const offer = { ...(tools && { tools }), ...(toolChoice !== undefined && { toolChoice }) };
  const form = output && { output };
  return { content: "", media: [], ...fields, ...offer, ...form, previous, metadata, left };
}

const lastRoleRefusal = (param: string): Refusal =>
  unsupported(`${param}.role`, "The last message must have the role user.");

/** `first`: the index of the first turn that is not one of the turns before. */
type MessageFields = { readonly first: number } & Partial<
  Pick<Turn, "content" | "media" | "toolResults" | "continues">
>;

function toMessage(
  turns: readonly SourceTurn[],
  last: SourceTurn,
  canContinue: boolean,
): MessageFields {
  const { turn, param } = last;
  if (turn.role === "user") {
    assertContent(turn, param);
    return { first: turns.length - 1, content: turn.content, media: turn.media ?? [] };
  }
  if (turn.role === "tool") {
    const first = turns.findLastIndex((each) => each.turn.role !== "tool") + 1;
    return { first, toolResults: toResults(turns.slice(first)) };
  }
  if (canContinue) return { first: turns.length, continues: true };
  const message =
    "The last message has the role assistant, and this application does not continue it. " +
    "Send a message of the role user.";
  throw unsupported(`${param}.role`, message);
}

function toResults(turns: readonly SourceTurn[]): readonly ToolResult[] {
  const [{ param }] = turns as [SourceTurn];
  const results = new Map<string, ToolResult>();
  for (const { turn, param: at, isError } of turns) {
    const { toolCallId: id, content } = turn;
    if (id === undefined) throw missing(`${at}.tool_call_id`);
    results.set(id, { id, content, ...(isError && { isError }) });
  }
  if (results.size > maxTools)
    throw unsupported(param, `A message may have at most ${maxTools} results of tools.`);
  assertSize([...results.values()].map(({ content }) => content).join(""), param);
  return [...results.values()];
}

function assertSize(content: string, param: string): void {
  if (Buffer.byteLength(content) <= maxContentBytes) return;
  const message = "The last message may have at most 1 MiB of text.";
  throw refuse("too_large", message, { param: `${param}.content` });
}

function assertContent({ content, media }: PreviousTurn, param: string): void {
  assertSize(content, param);
  if (content === "" && media === undefined) throw missing(`${param}.content`);
}

const sizeOfCalls = (calls: readonly ToolCall[] = []): number =>
  calls.reduce((sum, { name, arguments: text }) => sum + name.length + Buffer.byteLength(text), 0);

/** Keeps the latest turns. Turns without text, images, calls and results are left out. */
function boundPrevious(turns: readonly PreviousTurn[]): {
  readonly previous: readonly PreviousTurn[];
  readonly cut: number;
} {
  const shown = turns.filter(
    ({ content, media, toolCalls, toolCallId }) =>
      content !== "" || media !== undefined || toolCalls || toolCallId !== undefined,
  );
  let first = shown.length;
  let bytes = 0;
  while (first > 0 && shown.length - first < maxPreviousTurns) {
    const { content, toolCalls } = shown[first - 1]!;
    bytes += Buffer.byteLength(content) + sizeOfCalls(toolCalls);
    if (bytes > maxContentBytes) break;
    first -= 1;
  }
  return { previous: shown.slice(first), cut: first };
}

/** Reads the calls of a message, each as `{id, function: {name, arguments}}`. */
export function readCalls(
  message: JsonObject,
  key: string,
  param: string,
): Pick<PreviousTurn, "toolCalls"> {
  const list = readOptionalList(message, key, param);
  const toolCalls = readItems(list, `${param}.${key}`, (call, at) => {
    const inner = readObject(call, "function", at) ?? {};
    return toCall(readText(call, "id", at), inner, `${at}.function`);
  });
  return toolCalls.length > 0 ? { toolCalls } : {};
}

/** Reads the id of the call whose result a message is. */
export function readCallId(
  message: JsonObject,
  key: string,
  param: string,
): Pick<PreviousTurn, "toolCallId"> {
  const id = readText(message, key, param);
  return id === undefined ? {} : { toolCallId: id.slice(0, 256) };
}

/** Reads a call whose fields are in one object. Long names and ids are cut: they are claims. */
export function toCall(id: string | undefined, call: JsonObject, param: string): ToolCall {
  const name = readText(call, "name", param) ?? "";
  const text = readText(call, "arguments", param) ?? "";
  return { id: (id ?? "").slice(0, 256), name: name.slice(0, 256), arguments: text };
}
