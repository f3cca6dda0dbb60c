import { isCount, readEnvelope, readFrame, readObject, readText } from "./envelope.ts";
import { WireError, wireError } from "./errors.ts";
import { ownValue, decodeUtf8, fitsInBytes, isId, isSessionId, type JsonObject } from "./json.ts";
import { limits } from "./limits.ts";
import { emptyMedia, readMedia } from "./media.ts";
import type { ClientFrame, Envelope, MessagePayload, MessageRequest } from "./messages.ts";

/** What nearly every frame is: a message of plain text with its names, as `JSON.stringify` writes it. Texts with an
 *  escape, other keys or another order are parsed. */
const plainMessagePattern = new RegExp(
  '^\\{"type":"message\\.send"(?:,"id":"([ !#-[\\]-~]{1,256})")?(?:,"session_id":"([ !#-[\\]-~]{1,256})")?' +
    '(?:,"timestamp":([1-9]\\d{0,14}))?,"payload":\\{"content":"([^"\\\\\\x00-\\x1f]*)"\\}\\}$',
);
/** Characters: what was found is a part of the text, which lives as long as a part of it. */
const maxFastPathLength = 512;

/** The frame when its text is a simple one: what parsing and checking would give. */
function decodePlainMessage(text: string): ClientFrame | undefined {
  if (text.length > maxFastPathLength) return undefined;
  const found = plainMessagePattern.exec(text);
  if (!found) return undefined;
  const [, id, session, timestamp, content = ""] = found;
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

/** A client's frame. Throws `WireError` and nothing else, whatever the input; unknown keys are ignored. */
export function decodeClient(input: string | Uint8Array): ClientFrame {
  const text = decodeUtf8(input) ?? ""; // which is no frame either
  const frame = decodePlainMessage(text);
  if (frame) return frame;
  const object = readObject(text, "A frame");
  try {
    return readFrame(object, decodeBody);
  } catch (error) {
    throw attachIds(object, error);
  }
}

/** Reads the body of `POST /pico/messages`: a message with its names beside it. Throws `WireError` and nothing else. */
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

/** Adds to an error the names that could be read, so that the peer knows which of its frames is meant. */
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
    case "ping":
    case "typing.start":
    case "typing.stop":
      return completeFrame(envelope, type, undefined);
    default:
      throw wireError("unknown_type");
  }
}

/** The envelope becomes the frame: no copy is made for each frame that comes. */
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

function readAck(payload: JsonObject): number {
  const seq = ownValue(payload, "seq");
  if (!isCount(seq)) throw new WireError("invalid_message", '"seq" is a whole number.');
  return seq;
}

function readMessage(payload: JsonObject): MessagePayload {
  const content = readText(payload, "content");
  if (!fitsInBytes(content, limits.content)) throw wireError("too_large");
  const hops = ownValue(payload, "hops") ?? 0;
  if (!isCount(hops) || hops > 255)
    throw new WireError("invalid_message", '"hops" is a whole number from 0 to 255.');
  const media = readMedia(ownValue(payload, "media"), ownValue(payload, "attachments"));
  if (media.length === 0 && content.trim() === "") throw wireError("empty_content");
  return { content, media, hops };
}
