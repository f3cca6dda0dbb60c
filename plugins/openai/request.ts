// Parses the body of a chat completion.
import { isObject } from "../../lib/util.ts";
import type { Media, PreviousTurn } from "../channels/index.ts";
import { boundFields, maxImages, readImage, Refusal } from "../doors/index.ts";
import {
  assertFields,
  invalidType,
  missing,
  own,
  readFlag,
  readObject,
  readText,
  splitIgnored,
  unsupported,
} from "./fields.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** Bytes of UTF-8 in the text of one message, and in all earlier turns. */
const maxContentBytes = 1024 * 1024;
const maxPreviousTurns = 256;

/** The message for the application, with the turns before it. */
interface Turn {
  readonly content: string;
  readonly media: readonly Media[];
  readonly previous: readonly PreviousTurn[];
}

export interface ParsedRequest extends Turn {
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly user: string | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Names of the fields that Doorward does not apply, for a response header. */
  readonly ignored: string;
  /** Messages in the request. Requests for titles have one. */
  readonly messageCount: number;
}

/** The text and images of one message. */
interface Parts {
  readonly content: string;
  readonly media: readonly Media[];
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

/** Joins the texts with line breaks, and collects the images. */
export function joinParts(parts: readonly (string | Media | undefined)[], param: string): Parts {
  const texts = parts.filter((part) => typeof part === "string");
  const media = parts.filter((part): part is Media => isObject(part));
  if (media.length > maxImages)
    throw unsupported(param, `A message may have at most ${maxImages} images.`);
  return { content: texts.join("\n"), media };
}

function readContent(message: JsonObject, param: string): Parts {
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

/** Throws unless the last turn is a message of the user that is neither empty nor too large. */
export function assertTurn({ role, content, media }: PreviousTurn, param: string): void {
  if (role !== "user") {
    const message = "The last message must have the role user.";
    throw unsupported(`${param}.role`, message);
  }
  if (Buffer.byteLength(content) > maxContentBytes) {
    const message = "The last message may have at most 1 MiB of text.";
    throw new Refusal("too_large", message, { param: `${param}.content` });
  }
  if (content === "" && media === undefined) throw missing(`${param}.content`);
}

/** Keeps the latest turns. Turns without text and images, such as tool calls, are left out. */
export function boundPrevious(turns: readonly PreviousTurn[]): {
  readonly previous: readonly PreviousTurn[];
  readonly cut: number;
} {
  const shown = turns.filter(({ content, media }) => content !== "" || media !== undefined);
  let first = shown.length;
  let bytes = 0;
  while (first > 0 && shown.length - first < maxPreviousTurns) {
    bytes += Buffer.byteLength(shown[first - 1]!.content);
    if (bytes > maxContentBytes) break;
    first -= 1;
  }
  return { previous: shown.slice(first), cut: first };
}

/** Builds the data of the request that the application receives. */
export function toMetadata(
  rest: Readonly<Record<string, unknown>>,
  { user, cut }: { readonly user: string | undefined; readonly cut: number },
): Readonly<Record<string, unknown>> {
  return {
    ...(Object.keys(rest).length > 0 && { openai: boundFields(rest) }),
    ...(user !== undefined && { user: user.slice(0, 256) }),
    ...(cut > 0 && { previous_cut: cut }),
  };
}

/** @throws Refusal for the first field that is wrong. */
export function parseChatRequest(body: JsonObject, model: string): ParsedRequest {
  assertModel(body, model);
  assertFields(body);
  const messages = own(body, "messages");
  if (messages === undefined) throw missing("messages");
  if (!Array.isArray(messages)) throw invalidType("messages", "a list");
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
    metadata: toMetadata(rest, { user, cut }),
    ignored,
    messageCount: turns.length,
  };
}
