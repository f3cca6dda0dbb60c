// Parses the body of a chat completion.
import type { Channels, Media, OutputForm, PreviousTurn } from "../../channels/index.ts";
import {
  invalidType,
  missing,
  own,
  readFlag,
  readList,
  readObject,
  readText,
  unsupported,
  requireText,
  type JsonObject,
} from "../fields.ts";
import { readFile } from "../files.ts";
import { refuse } from "../errors.ts";
import {
  readCallId,
  readCalls,
  readContent,
  readName,
  readRole,
  requireImage,
  toTurn,
  readMessages,
  type PartReader,
  type SourceTurn,
  type Turn,
} from "../turn.ts";
import type { OpenaiConfig } from "./config.ts";
import { assertFields, readOutput, readTools, splitIgnored } from "./fields.ts";
import type { Protocol } from "../protocol.ts";

export interface ParsedRequest {
  readonly turn: Turn;
  /** The name that the client gave. */
  readonly model: string;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly user: string | undefined;
  /** Names of the fields that Doorward does not apply, for a response header. */
  readonly ignored: string;
  /** Messages in the request. Requests for titles have one. */
  readonly messageCount: number;
}

const appliedFields = new Set([
  "model",
  "messages",
  "stream",
  "stream_options",
  "user",
  "tools",
  "tool_choice",
  "response_format",
]);
export const roles: Readonly<Record<string, PreviousTurn["role"]>> = {
  system: "system",
  developer: "system",
  user: "user",
  assistant: "assistant",
  tool: "tool",
  function: "tool",
};

const maxModelLength = 256;

/** @throws Refusal if only other names are accepted: without `models`, none is rejected. */
export function assertModel(name: string, { model, models }: OpenaiConfig): void {
  if (name === "" || name.length > maxModelLength)
    throw unsupported("model", `model must have 1 to ${maxModelLength} characters.`);
  if (models.length === 0 || name === model || models.includes(name)) return;
  const message = "There is no model of this name. GET /v1/models lists them.";
  throw refuse("model_not_found", message, { param: "model" });
}

/** Checks the fields that both forms of a request have. */
export function assertRequest(body: JsonObject, config: OpenaiConfig): void {
  const given = requireText(body, "model");
  assertModel(given, config);
  assertFields(body);
}

interface RequestOptions {
  /** The field with the messages. */
  readonly param: string;
  readonly applied: ReadonlySet<string>;
  readonly turns: readonly SourceTurn[];
  /** Places of parts that cannot be passed on. */
  readonly left: string[];
  readonly channels: Pick<Channels, "can">;
  /** The JSON that the client wants. */
  readonly output: OutputForm | undefined;
}

/** Reads the parts that both forms of a request have. */
export function readRequest(
  body: JsonObject,
  { param, applied, turns, left, channels, output }: RequestOptions,
): Omit<ParsedRequest, "includeUsage"> {
  const user = readText(body, "user");
  const offer = readTools(body, left, channels);
  const { ignored, rest } = splitIgnored(body, applied, left);
  const canContinue = channels.can("continue");
  const model = readText(body, "model")!;
  return {
    turn: toTurn(turns, {
      param,
      key: "openai",
      rest: { model, ...rest },
      user,
      canContinue,
      left,
      output,
      ...offer,
    }),
    model,
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

/** Reads the fields of a file in both forms of a request. */
export function readFileFields(file: JsonObject, param: string): Media {
  const id = readText(file, "file_id", param);
  if (id !== undefined) return { type: "application/octet-stream", id };
  const data = requireText(file, "file_data", param);
  const filename = readText(file, "filename", param);
  return readFile({ data, filename }, `${param}.file_data`);
}

const audioTypes: Readonly<Record<string, string>> = { mp3: "audio/mpeg", wav: "audio/wav" };

function readAudio(audio: JsonObject, param: string): Media {
  const data = requireText(audio, "data", param);
  const format = readText(audio, "format", param) ?? "";
  const type = Object.hasOwn(audioTypes, format) ? audioTypes[format] : undefined;
  if (!type) throw unsupported(`${param}.format`, `${param}.format must be mp3 or wav.`);
  return readFile({ data, type, filename: `audio.${format}` }, `${param}.data`);
}

function readPart(part: JsonObject, param: string): string | Media | undefined {
  const type = own(part, "type");
  if (type === "text" || type === "refusal") return readText(part, type, param);
  if (type !== "image_url")
    throw unsupported(`${param}.type`, `${param}.type must be text or image_url.`);
  const image = readObject(part, "image_url", param) ?? {};
  return readImageUrl(image, "url", `${param}.image_url.url`);
}

const readPartOrFile: PartReader = (part, param) => {
  const type = own(part, "type");
  if (type !== "file" && type !== "input_audio") return readPart(part, param);
  const inner = readObject(part, type, param);
  if (!inner) throw missing(`${param}.${type}`);
  const read = type === "file" ? readFileFields : readAudio;
  return read(inner, `${param}.${type}`);
};

function readMessage(message: JsonObject, param: string, read: PartReader): PreviousTurn {
  const role = readRole(message, param, roles);
  return {
    role,
    ...readContent(message, param, read),
    ...readName(message, param),
    ...(role === "assistant" && readCalls(message, "tool_calls", param)),
    ...(role === "tool" && readCallId(message, "tool_call_id", param)),
  };
}

/** @throws Refusal for the first field that is wrong. */
export function parseChatRequest(
  body: JsonObject,
  { channels, config, media }: Protocol<OpenaiConfig>,
): ParsedRequest {
  assertRequest(body, config());
  const messages = readList(body, "messages");
  if (messages.length === 0) throw missing("messages");
  const left: string[] = [];
  const turns = readMessages(messages, "messages", {
    readPart: media ? readPartOrFile : readPart,
    left,
    read: (message, param, read) => ({ turn: readMessage(message, param, read), param }),
  });
  const options = readObject(body, "stream_options") ?? {};
  return {
    ...readRequest(body, {
      param: "messages",
      applied: appliedFields,
      turns,
      left,
      channels,
      output: readOutput(readObject(body, "response_format"), "response_format"),
    }),
    includeUsage: readFlag(options, "include_usage", "stream_options"),
  };
}
