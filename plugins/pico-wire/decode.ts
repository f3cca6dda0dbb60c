import { WireError } from "./errors.ts";
import { asObject, harmless, own, parseObject, type Json } from "./json.ts";
import { limits } from "./limits.ts";
import { readAttachments, readMedia } from "./media.ts";
import type { ClientFrame, Envelope, Frame, MessagePayload, MessageRequest, Party, ServerFrame, ServerMessage } from "./messages.ts";
import { byteLength, isId, isSessionId } from "./text.ts";

/** Reads a frame that `sender` sent. Throws `WireError` and nothing else, whatever the input; unknown keys are ignored. */
export function decode(input: string | Uint8Array, sender: "client"): ClientFrame;
export function decode(input: string | Uint8Array, sender: "server"): ServerFrame;
export function decode(input: string | Uint8Array, sender: Party): Frame {
  const object = parseObject(input);
  if (!object) throw new WireError("invalid_message", "A frame is one JSON object.");
  return named(object, () => {
    const envelope = readEnvelope(object);
    const type = own(object, "type");
    if (typeof type !== "string") throw new WireError("invalid_message", 'A frame needs a "type".');
    const payload = readPayload(object);
    return sender === "client" ? readClient(type, envelope, payload) : readServer(type, envelope, payload);
  });
}

/** Reads the body of `POST /pico/messages`: a message with its names beside it. Throws `WireError` and nothing else. */
export function decodeRequest(body: string | Uint8Array): MessageRequest {
  const object = parseObject(body);
  if (!object) throw new WireError("invalid_message", "The body is one JSON object.");
  return named(object, () => {
    const { id, session_id } = readEnvelope(object);
    return { ...(id !== undefined && { id }), ...(session_id !== undefined && { session_id }), payload: readMessage(object) };
  });
}

/** Adds to an error the names that could be read, so that the peer knows which of its frames is meant. */
function named<T>(object: Json, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    const id = own(object, "id");
    const session = own(object, "session_id");
    throw new WireError(error.code, error.message, {
      ...(typeof id === "string" && isId(id) && { id }),
      ...(typeof session === "string" && isSessionId(session) && { session }),
    });
  }
}

function readEnvelope(object: Json): Envelope {
  const timestamp = own(object, "timestamp");
  return {
    ...readName(object, "id", isId),
    ...readName(object, "session_id", isSessionId),
    ...(Number.isSafeInteger(timestamp) && (timestamp as number) > 0 && { timestamp: timestamp as number }),
  };
}

/** Empty is absent: peers of the field write `""` for what they do not set. */
function readName<K extends string>(object: Json, key: K, fits: (text: string) => boolean): { readonly [P in K]?: string } {
  const value = own(object, key);
  if (value === undefined || value === "") return {};
  if (typeof value === "string" && fits(value)) return { [key]: value } as { [P in K]: string };
  throw new WireError("invalid_message", `"${key}" is text of at most 256 bytes without control characters.`);
}

function readPayload(object: Json): Json {
  const payload = own(object, "payload");
  if (payload === undefined) return {};
  const found = asObject(payload);
  if (!found) throw new WireError("invalid_message", '"payload" is an object.');
  return found;
}

function readClient(type: string, envelope: Envelope, payload: Json): ClientFrame {
  switch (type) {
    case "message.send":
    case "media.send":
      return { type, ...envelope, payload: readMessage(payload) };
    case "ping":
    case "typing.start":
    case "typing.stop":
      return { type, ...envelope };
    default:
      throw new WireError("unknown_type");
  }
}

function readMessage(payload: Json): MessagePayload {
  const content = readText(payload, "content");
  if (content.length > limits.content || byteLength(content) > limits.content) throw new WireError("too_large");
  const hops = own(payload, "hops") ?? 0;
  if (!Number.isInteger(hops) || (hops as number) < 0 || (hops as number) > 255) {
    throw new WireError("invalid_message", '"hops" is a whole number from 0 to 255.');
  }
  const media = readMedia(own(payload, "media"), own(payload, "attachments"));
  if (media.length === 0 && content.trim() === "") throw new WireError("empty_content");
  return { content, media, hops: hops as number };
}

/** Text that is not well-formed could not be sent on as UTF-8: its broken halves become U+FFFD here. */
function readText(payload: Json, key: string): string {
  const value = own(payload, key) ?? "";
  if (typeof value !== "string") throw new WireError("invalid_message", `"${key}" is text.`);
  return value.toWellFormed();
}

function readServer(type: string, envelope: Envelope, payload: Json): ServerFrame {
  switch (type) {
    case "message.create":
    case "message.update":
    case "media.create":
      return { type, ...envelope, payload: readServerMessage(payload) };
    case "message.delete":
      return { type, ...envelope, payload: { message_id: readMessageId(payload) } };
    case "error":
      return {
        type,
        ...envelope,
        payload: { code: readText(payload, "code"), message: readText(payload, "message"), ...readName(payload, "request_id", isId) },
      };
    case "pong":
    case "typing.start":
    case "typing.stop":
      return { type, ...envelope };
    default:
      throw new WireError("unknown_type");
  }
}

function readMessageId(payload: Json): string {
  const { message_id } = readName(payload, "message_id", isId);
  if (message_id === undefined) throw new WireError("invalid_message", '"message_id" is missing.');
  return message_id;
}

function readServerMessage(payload: Json): ServerMessage {
  const kind = own(payload, "kind");
  const calls = own(payload, "tool_calls");
  const usage = own(payload, "context_usage");
  const attachments = readAttachments(own(payload, "attachments"));
  const model_name = readText(payload, "model_name");
  return {
    message_id: readMessageId(payload),
    content: readText(payload, "content"),
    ...((kind === "thought" || kind === "tool_calls") && { kind }),
    ...(own(payload, "thought") === true && { thought: true }),
    ...(Array.isArray(calls) && { tool_calls: harmless(calls) as unknown[] }),
    ...(own(payload, "placeholder") === true && { placeholder: true }),
    ...(attachments.length > 0 && { attachments }),
    ...(model_name !== "" && { model_name }),
    ...(usage !== undefined && { context_usage: harmless(usage) }),
  };
}
