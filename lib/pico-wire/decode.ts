// Decodes the frames of both roles: those of clients here, with a fast path for plain messages, and
// those of servers in decode-server.ts.
import { decodeServer } from "./decode-server.ts";
import { isCount, readEnvelope, readFrame, readName, readObject, readText } from "./envelope.ts";
import { WireError, wireError } from "./errors.ts";
import { ownValue, decodeUtf8, fitsInBytes, isId, isSessionId, type JsonObject } from "./json.ts";
import { limits } from "./limits.ts";
import { emptyMedia, readMedia } from "./media.ts";
import { readAnswer, type AnswerPayload } from "./question.ts";
import type {
  ClientFrame,
  Envelope,
  MessagePayload,
  MessageRequest,
  Role,
  ReceivedFrame,
} from "./messages.ts";

/**
 * Decodes a frame. Unknown keys are ignored.
 *
 * @param sender - The role that sent the frame.
 * @throws WireError and nothing else, whatever the input.
 * @example
 * import { decode } from "doorward/plugins/pico-wire";
 * const frame = decode('{"type":"message.create","payload":{"content":"hello"}}', "server");
 * if (frame.type === "message.create") console.log(frame.payload.content);
 */
export function decode(input: string | Uint8Array, sender: "client"): ClientFrame;
export function decode(input: string | Uint8Array, sender: "server"): ReceivedFrame;
export function decode(input: string | Uint8Array, sender: Role): ClientFrame | ReceivedFrame {
  return sender === "client" ? decodeClient(input) : decodeServer(input);
}

/**
 * Matches nearly every frame: a plain text message with its ids, as `JSON.stringify` writes it.
 * Texts with an escape, other keys or another order are parsed.
 */
const plainMessagePattern = new RegExp(
  '^\\{"type":"message\\.send"(?:,"id":"([ !#-[\\]-~]{1,256})")?' +
    '(?:,"session_id":"([ !#-[\\]-~]{1,256})")?' +
    '(?:,"timestamp":([1-9]\\d{0,14}))?,"payload":\\{"content":"([^"\\\\\\x00-\\x1f]*)"\\}\\}$',
);
/**
 * In characters. A matched part keeps the whole text in memory, so long texts are parsed instead.
 */
const maxFastPathLength = 512;

/**
 * @returns The frame that parsing and checking would give, or undefined if the text needs parsing.
 */
function decodePlainMessage(text: string): ClientFrame | undefined {
  if (text.length > maxFastPathLength) return undefined;
  const match = plainMessagePattern.exec(text);
  if (!match) return undefined;
  const [, id, session, timestamp, content = ""] = match;
  if (content.trim() === "") return undefined;
  const envelope: { -readonly [K in keyof Envelope]: Envelope[K] } = {};
  if (id !== undefined) envelope.id = id;
  if (session !== undefined) envelope.session_id = session;
  if (timestamp !== undefined) envelope.timestamp = Number(timestamp);
  return completeFrame(envelope, "message.send", {
    content: content.toWellFormed(),
    media: emptyMedia,
    hops: 0,
  });
}

/**
 * Decodes the body of `POST /pico/stop`.
 *
 * @throws WireError and nothing else, whatever the input.
 */
export function decodeStopRequest(body: string | Uint8Array): {
  readonly session_id?: string;
  readonly request_id?: string;
} {
  const object = readObject(body, "The body");
  const { session_id } = readEnvelope(object);
  return { ...(session_id !== undefined && { session_id }), ...readStop(object) };
}

/**
 * Decodes the body of `POST /pico/answer`.
 *
 * @throws WireError and nothing else, whatever the input.
 */
export function decodeAnswerRequest(
  body: string | Uint8Array,
): AnswerPayload & { readonly session_id?: string } {
  const object = readObject(body, "The body");
  const { session_id } = readEnvelope(object);
  return { ...(session_id !== undefined && { session_id }), ...readAnswer(object) };
}

/**
 * Decodes a frame of a client. Unknown keys are ignored.
 *
 * @throws WireError and nothing else, whatever the input.
 */
function decodeClient(input: string | Uint8Array): ClientFrame {
  const text = decodeUtf8(input) ?? ""; // An empty text is not a frame.
  const frame = decodePlainMessage(text);
  if (frame) return frame;
  const object = readObject(text, "A frame");
  try {
    return readFrame(object, decodeBody);
  } catch (error) {
    throw attachIds(object, error);
  }
}

/**
 * Decodes the body of `POST /pico/messages`: a message with its ids in the same object.
 *
 * @throws WireError and nothing else, whatever the input.
 */
export function decodeRequest(body: string | Uint8Array): MessageRequest {
  const object = readObject(body, "The body");
  try {
    const { id, session_id } = readEnvelope(object);
    const names = {
      ...(id !== undefined && { id }),
      ...(session_id !== undefined && { session_id }),
    };
    return { ...names, payload: readMessage(object) };
  } catch (error) {
    throw attachIds(object, error);
  }
}

/** Adds the readable ids to an error, so that the client knows which of its frames was rejected. */
function attachIds(object: JsonObject, error: unknown): unknown {
  if (!(error instanceof WireError)) return error;
  const id = ownValue(object, "id");
  const session = ownValue(object, "session_id");
  return Object.assign(error, {
    ...(typeof id === "string" && isId(id) && { requestId: id }),
    ...(typeof session === "string" && isSessionId(session) && { sessionId: session }),
  });
}

function decodeBody(type: string, envelope: Envelope, payload: JsonObject): ClientFrame {
  switch (type) {
    case "message.send":
    case "media.send":
      return completeFrame(envelope, type, readMessage(payload));
    case "ack":
      return completeFrame(envelope, type, { seq: readAck(payload) });
    case "message.stop":
      return completeFrame(envelope, type, readStop(payload));
    case "question.answer":
      return completeFrame(envelope, type, readAnswer(payload));
    case "ping":
    case "typing.start":
    case "typing.stop":
      return completeFrame(envelope, type, undefined);
    default:
      throw wireError("unknown_type");
  }
}

/** Turns the envelope into the frame, so that no frame is copied. */
function completeFrame(
  envelope: Envelope,
  type: ClientFrame["type"],
  payload: object | undefined,
): ClientFrame {
  const frame = envelope as { type?: string; payload?: object };
  frame.type = type;
  if (payload) frame.payload = payload;
  return frame as ClientFrame;
}

/** @returns The message to stop. An object without keys: all messages of the session. */
function readStop(payload: JsonObject): { readonly request_id?: string } {
  const request_id = readName(payload, "request_id", isId);
  return request_id === undefined ? {} : { request_id };
}

function readAck(payload: JsonObject): number {
  const seq = ownValue(payload, "seq");
  if (!isCount(seq)) throw new WireError("invalid_message", '"seq" must be a whole number.');
  return seq;
}

function readMessage(payload: JsonObject): MessagePayload {
  const content = readText(payload, "content");
  if (!fitsInBytes(content, limits.content)) throw wireError("too_large");
  const hops = ownValue(payload, "hops") ?? 0;
  if (!isCount(hops) || hops > 255)
    throw new WireError("invalid_message", '"hops" must be a whole number from 0 to 255.');
  const replaces = readName(payload, "replaces", isId);
  const result = readMedia(ownValue(payload, "media"), ownValue(payload, "attachments"));
  if (result.media.length === 0 && content.trim() === "")
    throw wireError(result.skipped ? "invalid_media" : "empty_content");
  return { content, ...result, hops, ...(replaces !== undefined && { replaces }) };
}
