import { WireError } from "./errors.ts";
import { asObject, ownValue, parseObject, isId, isSessionId, type JsonObject } from "./json.ts";
import type { Envelope } from "./messages.ts";

export function readObject(input: string | Uint8Array, what: string): JsonObject {
  const object = parseObject(input);
  if (!object) throw new WireError("invalid_message", `${what} is one JSON object.`);
  return object;
}

/** What every frame has, handed to the reader of its type. */
export function readFrame<T>(
  object: JsonObject,
  read: (type: string, envelope: Envelope, payload: JsonObject) => T,
): T {
  const envelope = readEnvelope(object);
  const type = ownValue(object, "type");
  if (typeof type !== "string") throw new WireError("invalid_message", 'A frame needs a "type".');
  return read(type, envelope, readPayload(object));
}

export function readEnvelope(object: JsonObject): Envelope {
  const envelope: { -readonly [K in keyof Envelope]: Envelope[K] } = {};
  const id = readName(object, "id", isId);
  const session = readName(object, "session_id", isSessionId);
  const timestamp = ownValue(object, "timestamp");
  if (id !== undefined) envelope.id = id;
  if (session !== undefined) envelope.session_id = session;
  if (isCount(timestamp) && timestamp > 0) envelope.timestamp = timestamp;
  return envelope;
}

/** Empty is absent: peers of the field write `""` for what they do not set. */
export function readName(
  object: JsonObject,
  key: string,
  fits: (text: string) => boolean,
): string | undefined {
  const value = ownValue(object, key);
  if (value === undefined || value === "") return undefined;
  if (typeof value === "string" && fits(value)) return value;
  throw new WireError(
    "invalid_message",
    `"${key}" is text of at most 256 bytes without control characters.`,
  );
}

function readPayload(object: JsonObject): JsonObject {
  const payload = ownValue(object, "payload");
  if (payload === undefined) return {};
  const found = asObject(payload);
  if (!found) throw new WireError("invalid_message", '"payload" is an object.');
  return found;
}

/** Text that is not well-formed could not be sent on as UTF-8: its broken halves become U+FFFD here. */
export function readText(payload: JsonObject, key: string): string {
  const value = ownValue(payload, key) ?? "";
  if (typeof value !== "string") throw new WireError("invalid_message", `"${key}" is text.`);
  return value.toWellFormed();
}

export const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0;
