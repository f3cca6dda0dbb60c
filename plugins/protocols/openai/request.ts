// Parses the body of a chat completion.
import type { Media, PreviousTurn } from "../../channels/index.ts";
import {
  invalidType,
  missing,
  own,
  readContent,
  readFlag,
  readItems,
  readList,
  readName,
  readObject,
  readRole,
  readText,
  Refusal,
  requireImage,
  toTurn,
  unsupported,
  type JsonObject,
  type Turn,
} from "../index.ts";
import { assertFields, splitIgnored } from "./fields.ts";

export interface ParsedRequest {
  readonly turn: Turn;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly user: string | undefined;
  /** Names of the fields that Doorward does not apply, for a response header. */
  readonly ignored: string;
  /** Messages in the request. Requests for titles have one. */
  readonly messageCount: number;
}

const appliedFields = new Set(["model", "messages", "stream", "stream_options", "user"]);
export const roles: Readonly<Record<string, PreviousTurn["role"]>> = {
  system: "system",
  developer: "system",
  user: "user",
  assistant: "assistant",
  tool: "tool",
  function: "tool",
};

/** Checks the fields that both forms of a request have. */
export function assertRequest(body: JsonObject, model: string): void {
  const given = readText(body, "model");
  if (given === undefined) throw missing("model");
  if (given !== model) {
    const message = `There is no model of this name. The only one is "${model}".`;
    throw new Refusal("model_not_found", message, { param: "model" });
  }
  assertFields(body);
}

interface RequestOptions {
  /** The field with the messages. */
  readonly param: string;
  readonly applied: ReadonlySet<string>;
  readonly turns: readonly PreviousTurn[];
  /** Turns at the begin that are not in `param`. */
  readonly added?: number;
}

/** Reads the parts that both forms of a request have. */
export function readRequest(
  body: JsonObject,
  { param, applied, turns, added = 0 }: RequestOptions,
): Omit<ParsedRequest, "includeUsage"> {
  const user = readText(body, "user");
  const { ignored, rest } = splitIgnored(body, applied);
  const index = turns.length - added - 1;
  return {
    turn: toTurn(turns, { param, key: "openai", rest, user, index }),
    stream: readFlag(body, "stream"),
    user,
    ignored,
    messageCount: turns.length,
  };
}

/** An image is a URL here, and not an object. */
export function readImageUrl(image: JsonObject, key: string, param: string): Media {
  const url = own(image, key);
  if (typeof url !== "string") throw invalidType(param, "a URL");
  return requireImage(url, param);
}

function readPart(part: JsonObject, param: string): string | Media | undefined {
  const type = own(part, "type");
  if (type === "text" || type === "refusal") return readText(part, type, `${param}.${type}`);
  if (type !== "image_url")
    throw unsupported(`${param}.type`, `${param}.type must be text or image_url.`);
  const image = readObject(part, "image_url", `${param}.image_url`) ?? {};
  return readImageUrl(image, "url", `${param}.image_url.url`);
}

const readMessage = (message: JsonObject, param: string): PreviousTurn => ({
  role: readRole(message, param, roles),
  ...readContent(message, param, readPart),
  ...readName(message, param),
});

/** @throws Refusal for the first field that is wrong. */
export function parseChatRequest(body: JsonObject, model: string): ParsedRequest {
  assertRequest(body, model);
  const messages = readList(body, "messages");
  if (messages.length === 0) throw missing("messages");
  const turns = readItems(messages, "messages", readMessage);
  const options = readObject(body, "stream_options") ?? {};
  return {
    ...readRequest(body, { param: "messages", applied: appliedFields, turns }),
    includeUsage: readFlag(options, "include_usage", "stream_options.include_usage"),
  };
}
