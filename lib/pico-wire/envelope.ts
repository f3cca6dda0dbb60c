// Reads the fields that frames have in common.
import { WireError } from "./errors.ts";
import { asObject, ownValue, parseObject, isId, isSessionId, type JsonObject } from "./json.ts";
import type { Envelope } from "./messages.ts";

export function readObject(input: string | Uint8Array, what: string): JsonObject {
  const object = parseObject(input);
  if (!object) throw new WireError("invalid_message", `${what} must be one JSON object.`);
  return object;
}

/** Reads the common fields and passes them to the reader of the frame type. */
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

/** Empty counts as absent, because deployed servers and clients send `""` for unset fields. */
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
    `"${key}" must be text of at most 256 bytes without control characters.`,
  );
}

function readPayload(object: JsonObject): JsonObject {
  const payload = ownValue(object, "payload");
  if (payload === undefined) return {};
  const found = asObject(payload);
  if (!found) throw new WireError("invalid_message", '"payload" must be an object.');
  return found;
}

/** Replaces halves of surrogate pairs by U+FFFD, because they cannot be sent as UTF-8. */
export function readText(payload: JsonObject, key: string): string {
  const value = ownValue(payload, key) ?? "";
  if (typeof value !== "string") throw new WireError("invalid_message", `"${key}" must be text.`);
  return value.toWellFormed();
}

export const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0;
