// Parses the body of a request of the chat transport.
import type { Media, PreviousTurn } from "../../channels/index.ts";
import {
  invalidType,
  isMessageId,
  missing,
  own,
  readItems,
  readList,
  readObject,
  readParts,
  readRole,
  readText,
  Refusal,
  requireImage,
  shortDigest,
  toTurn,
  unsupported,
  withoutFields,
  type JsonObject,
  type Turn,
} from "../index.ts";

/** A message for the application. */
export interface ChatRequest {
  /** Id of the chat, as the client names it. */
  readonly chat: string;
  readonly messageId: string;
  readonly turn: Turn;
}

const readFields = new Set(["id", "messages", "message", "trigger", "messageId"]);
const roles = { system: "system", user: "user", assistant: "assistant" } as const;

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

function readPart(part: JsonObject, param: string): string | Media | undefined {
  const type = own(part, "type");
  if (type === "text") return readText(part, "text", `${param}.text`) ?? "";
  if (type !== "file") return undefined;
  const mediaType = readText(part, "mediaType", `${param}.mediaType`) ?? "";
  const url = readText(part, "url", `${param}.url`);
  if (/^image(?:\/|$)/.test(mediaType)) return requireImage(url, `${param}.url`);
  throw new Refusal("invalid_image_url", `${param} must be an image.`, { param });
}

function readMessage(message: JsonObject, param: string): PreviousTurn {
  const role = readRole(message, param, roles);
  const parts = own(message, "parts");
  if (!Array.isArray(parts)) throw invalidType(`${param}.parts`, "a list");
  return { role, ...readParts(parts, `${param}.parts`, readPart) };
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
  const turns = readItems(messages, "messages", readMessage);
  const rest = withoutFields(body, readFields);
  const isRepeated = isRegenerated || readText(body, "messageId") !== undefined;
  return {
    chat,
    messageId: messageIdOf(messages.at(-1) as JsonObject, { isRepeated, newId }),
    turn: toTurn(turns, {
      param: "messages",
      key: "ai_sdk",
      rest: { ...rest, ...(isRegenerated && { regenerate: true }) },
    }),
  };
}
