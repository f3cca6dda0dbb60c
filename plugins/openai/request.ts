// Parses the body of a chat completion.
import { isObject } from "../../lib/util.ts";
import type { Media, PreviousTurn } from "../channels/index.ts";
import {
  assertTurn,
  boundPrevious,
  invalidType,
  joinParts,
  missing,
  own,
  readFlag,
  readImage,
  readList,
  readObject,
  readText,
  Refusal,
  toMetadata,
  unsupported,
  type JsonObject,
  type Turn,
} from "../doors/index.ts";
import { assertFields, splitIgnored } from "./fields.ts";

export interface ParsedRequest extends Turn {
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly user: string | undefined;
  /** Names of the fields that Doorward does not apply, for a response header. */
  readonly ignored: string;
  /** Messages in the request. Requests for titles have one. */
  readonly messageCount: number;
}

const appliedFields = new Set(["model", "messages", "stream", "stream_options", "user"]);
const roles: Readonly<Record<string, PreviousTurn["role"]>> = {
  system: "system",
  developer: "system",
  user: "user",
  assistant: "assistant",
  tool: "tool",
  function: "tool",
};

export function assertModel(body: JsonObject, model: string): void {
  const given = readText(body, "model");
  if (given === undefined) throw missing("model");
  if (given !== model) {
    const message = `There is no model of this name. The only one is "${model}".`;
    throw new Refusal("model_not_found", message, { param: "model" });
  }
}

export function readImageUrl(url: unknown, param: string): Media {
  if (typeof url !== "string") throw invalidType(param, "a URL");
  const media = readImage(url);
  if (media) return media;
  const message =
    `${param} must be an https: address, or a data: URL in base64 of a PNG, JPEG, GIF or WebP ` +
    "image of at most 20 MiB.";
  throw new Refusal("invalid_image_url", message, { param });
}

function readPart(part: unknown, param: string): string | Media | undefined {
  if (!isObject(part)) throw invalidType(param, "an object");
  const type = own(part, "type");
  if (type === "text") return readText(part, "text", `${param}.text`);
  if (type === "refusal") return readText(part, "refusal", `${param}.refusal`);
  if (type !== "image_url")
    throw unsupported(`${param}.type`, `${param}.type must be text or image_url.`);
  const image = readObject(part, "image_url", `${param}.image_url`);
  return readImageUrl(image && own(image, "url"), `${param}.image_url.url`);
}

function readContent(message: JsonObject, param: string): Pick<Turn, "content" | "media"> {
  const content = own(message, "content") ?? "";
  if (typeof content === "string") return { content, media: [] };
  if (!Array.isArray(content)) throw invalidType(param, "a string or a list of parts");
  return joinParts(
    content.map((part, index) => readPart(part, `${param}[${index}]`)),
    param,
  );
}

export function readRole(message: JsonObject, param: string): PreviousTurn["role"] {
  const role = readText(message, "role", `${param}.role`);
  if (role === undefined) throw missing(`${param}.role`);
  const known = Object.hasOwn(roles, role) ? roles[role] : undefined;
  if (known) return known;
  throw unsupported(`${param}.role`, `The role ${JSON.stringify(role.slice(0, 60))} is unknown.`);
}

function readMessage(message: unknown, index: number): PreviousTurn {
  const param = `messages[${index}]`;
  if (!isObject(message)) throw invalidType(param, "an object");
  const role = readRole(message, param);
  const { content, media } = readContent(message, `${param}.content`);
  const name = readText(message, "name", `${param}.name`);
  return {
    role,
    content,
    ...(media.length > 0 && { media }),
    ...(name !== undefined && { name: name.slice(0, 256) }),
  };
}

/** @throws Refusal for the first field that is wrong. */
export function parseChatRequest(body: JsonObject, model: string): ParsedRequest {
  assertModel(body, model);
  assertFields(body);
  const messages = readList(body, "messages");
  if (messages.length === 0) throw missing("messages");
  const turns = messages.map(readMessage);
  const last = turns.at(-1)!;
  assertTurn(last, `messages[${turns.length - 1}]`);
  const options = readObject(body, "stream_options");
  const user = readText(body, "user");
  const { ignored, rest } = splitIgnored(body, appliedFields);
  const { previous, cut } = boundPrevious(turns.slice(0, -1));
  return {
    content: last.content,
    media: last.media ?? [],
    previous,
    stream: readFlag(body, "stream"),
    includeUsage:
      options !== undefined && readFlag(options, "include_usage", "stream_options.include_usage"),
    user,
    metadata: toMetadata({ key: "openai", rest, user, cut }),
    ignored,
    messageCount: turns.length,
  };
}
