// Parses the body of a request of the chat transport.
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
  Refusal,
  shortDigest,
  toMetadata,
  unsupported,
  type JsonObject,
  type Turn,
} from "../doors/index.ts";

/** A message for the application. */
interface ChatRequest extends Turn {
  /** Id of the chat, as the client names it. */
  readonly chat: string;
  readonly messageId: string;
}

const readFields = new Set(["id", "messages", "message", "trigger", "messageId"]);
const roles = ["system", "user", "assistant"] as const;

/** Between the id of a message and the mark of a repetition with other content. */
const repetition = "~";
const repetitionPattern = /~[0-9a-f]{8}$/;

/** Returns the id that the client gave a message, from the one that the application knows. */
export const toClientId = (id: string): string =>
  id.replace(/^ai:/, "").replace(repetitionPattern, "");

/** @throws Refusal for a name that a URL cannot contain. */
export function assertChat(chat: string): string {
  if (chat !== "" && chat !== "." && chat !== "..") return chat;
  throw unsupported("id", "The id of the chat must not be empty, . or ..");
}

function readFile(part: JsonObject, param: string): Media {
  const type = readText(part, "mediaType", `${param}.mediaType`) ?? "";
  const url = readText(part, "url", `${param}.url`) ?? "";
  const image = /^image(?:\/|$)/.test(type) ? readImage(url) : undefined;
  if (image) return image;
  const message =
    `${param} must be an image: an https: address, or a data: URL in base64 of a PNG, JPEG, GIF ` +
    "or WebP image of at most 20 MiB.";
  throw new Refusal("invalid_image_url", message, { param });
}

function readPart(part: unknown, param: string): string | Media | undefined {
  if (!isObject(part)) throw invalidType(param, "an object");
  const type = own(part, "type");
  if (type === "text") return readText(part, "text", `${param}.text`) ?? "";
  return type === "file" ? readFile(part, param) : undefined;
}

function readMessage(message: unknown, param: string): PreviousTurn {
  if (!isObject(message)) throw invalidType(param, "an object");
  const given = readText(message, "role", `${param}.role`) ?? "";
  const role = roles.find((each) => each === given);
  if (!role) throw unsupported(`${param}.role`, `${param}.role must be user, assistant or system.`);
  const parts = own(message, "parts");
  if (!Array.isArray(parts)) throw invalidType(`${param}.parts`, "a list");
  const read = parts.map((part, index) => readPart(part, `${param}.parts[${index}]`));
  const { content, media } = joinParts(read, `${param}.parts`);
  return { role, content, ...(media.length > 0 && { media }) };
}

/** The whole conversation, or only its last message. */
function readMessages(body: JsonObject): readonly unknown[] {
  const message = readObject(body, "message");
  if (message) return [message];
  const messages = readList(body, "messages");
  if (messages.length === 0) throw missing("messages");
  return messages;
}

/** Regenerated and edited messages keep the id of the client, so each receives a mark. */
function messageIdOf(
  message: JsonObject,
  { isRepeated, newId }: { readonly isRepeated: boolean; readonly newId: () => string },
): string {
  const given = readText(message, "id", "messages.id") ?? newId();
  const mark = isRepeated ? repetition + newId().slice(0, 8) : "";
  const id = `ai:${given}${mark}`;
  return isMessageId(id) ? id : `ai:${shortDigest(given)}${mark}`;
}

/** @throws Refusal for the first field that is wrong. */
export function parseChat(body: JsonObject, newId: () => string): ChatRequest {
  const chat = assertChat(readText(body, "id") ?? "");
  const messages = readMessages(body);
  const trigger = readText(body, "trigger") ?? "submit-message";
  const isRegenerated = trigger === "regenerate-message";
  if (!isRegenerated && trigger !== "submit-message")
    throw unsupported("trigger", "trigger must be submit-message or regenerate-message.");
  const turns = messages.map((message, index) => readMessage(message, `messages[${index}]`));
  const last = turns.at(-1)!;
  assertTurn(last, `messages[${turns.length - 1}]`);
  const { previous, cut } = boundPrevious(turns.slice(0, -1));
  const rest = Object.fromEntries(
    Object.entries(body).filter(([key, value]) => !readFields.has(key) && value !== null),
  );
  const isRepeated = isRegenerated || readText(body, "messageId") !== undefined;
  return {
    chat,
    messageId: messageIdOf(messages.at(-1) as JsonObject, { isRepeated, newId }),
    content: last.content,
    media: last.media ?? [],
    previous,
    metadata: toMetadata({
      key: "ai_sdk",
      rest: { ...rest, ...(isRegenerated && { regenerate: true }) },
      cut,
    }),
  };
}
