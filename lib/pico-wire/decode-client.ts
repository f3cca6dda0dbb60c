import { isCount, readEnvelope, readFrame, readObject, readText } from "./envelope.ts";
import { WireError } from "./errors.ts";
import { own, textOf, type Json } from "./json.ts";
import { limits } from "./limits.ts";
import { noMedia, readMedia } from "./media.ts";
import type { ClientFrame, Envelope, MessagePayload, MessageRequest } from "./messages.ts";
import { refused } from "./refused.ts";
import { fits, isId, isSessionId } from "./text.ts";

/** What nearly every frame is: a message of plain text with its names, as `JSON.stringify` writes it. Texts with an
 *  escape, other keys or another order are parsed. */
const simple = new RegExp(
  '^\\{"type":"message\\.send"(?:,"id":"([ !#-[\\]-~]{1,256})")?(?:,"session_id":"([ !#-[\\]-~]{1,256})")?' +
    '(?:,"timestamp":([1-9]\\d{0,14}))?,"payload":\\{"content":"([^"\\\\\\x00-\\x1f]*)"\\}\\}$',
);
/** Characters: what was found is a part of the text, which lives as long as a part of it. */
const simpleLength = 512;

/** The frame when its text is a simple one: what parsing and checking would give. */
function readSimple(text: string): ClientFrame | undefined {
  if (text.length > simpleLength) return undefined;
  const found = simple.exec(text);
  if (!found) return undefined;
  const [, id, session, timestamp, content = ""] = found;
  if (content.trim() === "") return undefined;
  const envelope: { -readonly [K in keyof Envelope]: Envelope[K] } = {};
  if (id !== undefined) envelope.id = id;
  if (session !== undefined) envelope.session_id = session;
  if (timestamp !== undefined) envelope.timestamp = Number(timestamp);
  return whole(envelope, "message.send", {
    content: content.toWellFormed(),
    media: noMedia,
    hops: 0,
  });
}

/** A client's frame. Throws `WireError` and nothing else, whatever the input; unknown keys are ignored. */
export function decodeClient(input: string | Uint8Array): ClientFrame {
  const text = textOf(input) ?? ""; // which is no frame either
  const frame = readSimple(text);
  if (frame) return frame;
  const object = readObject(text, "A frame");
  try {
    return readFrame(object, read);
  } catch (error) {
    throw named(object, error);
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
    throw named(object, error);
  }
}

/** Adds to an error the names that could be read, so that the peer knows which of its frames is meant. */
function named(object: Json, error: unknown): unknown {
  if (!(error instanceof WireError)) return error;
  const id = own(object, "id");
  const session = own(object, "session_id");
  return Object.assign(error, {
    ...(typeof id === "string" && isId(id) && { requestId: id }),
    ...(typeof session === "string" && isSessionId(session) && { sessionId: session }),
  });
}

function read(type: string, envelope: Envelope, payload: Json): ClientFrame {
  switch (type) {
    case "message.send":
    case "media.send":
      return whole(envelope, type, readMessage(payload));
    case "ack":
      return whole(envelope, type, { seq: readAck(payload) });
    case "ping":
    case "typing.start":
    case "typing.stop":
      return whole(envelope, type, undefined);
    default:
      throw refused("unknown_type");
  }
}

/** The envelope becomes the frame: no copy is made for each frame that comes. */
function whole(
  envelope: Envelope,
  type: ClientFrame["type"],
  payload: object | undefined,
): ClientFrame {
  const frame = envelope as { type?: string; payload?: object };
  frame.type = type;
  if (payload) frame.payload = payload;
  return frame as ClientFrame;
}

function readAck(payload: Json): number {
  const seq = own(payload, "seq");
  if (!isCount(seq)) throw new WireError("invalid_message", '"seq" is a whole number.');
  return seq;
}

function readMessage(payload: Json): MessagePayload {
  const content = readText(payload, "content");
  if (!fits(content, limits.content)) throw refused("too_large");
  const hops = own(payload, "hops") ?? 0;
  if (!isCount(hops) || hops > 255)
    throw new WireError("invalid_message", '"hops" is a whole number from 0 to 255.');
  const media = readMedia(own(payload, "media"), own(payload, "attachments"));
  if (media.length === 0 && content.trim() === "") throw refused("empty_content");
  return { content, media, hops };
}
