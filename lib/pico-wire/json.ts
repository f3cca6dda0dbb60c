import { frameLimits } from "./frame-limits.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

const utf8Decoder = new TextDecoder("utf-8", { fatal: true });
const quote = 0x22,
  COMMA = 0x2c,
  BACKSLASH = 0x5c,
  ARRAY = 0x5b,
  ARRAY_END = 0x5d,
  OBJECT = 0x7b,
  OBJECT_END = 0x7d;

/** `undefined`: bytes that are no UTF-8. */
export function decodeUtf8(input: string | Uint8Array): string | undefined {
  try {
    return typeof input === "string" ? input : utf8Decoder.decode(input);
  } catch {
    return undefined;
  }
}

/** The object in a frame; `undefined` when there is none. Its keys must be read with `ownValue`. */
export function parseObject(input: string | Uint8Array): JsonObject | undefined {
  const text = decodeUtf8(input);
  if (text === undefined || !isWithinDepth(text)) return undefined;
  try {
    return asObject(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** A key of the object itself: neither inherited names nor a `__proto__` in the input reach it. `null` is absent. */
export function ownValue(object: JsonObject, key: string): unknown {
  const value = object[key];
  return value !== undefined && value !== null && Object.hasOwn(object, key) ? value : undefined;
}

export const asObject = (value: unknown): JsonObject | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : undefined;

/** A copy of something that was JSON, without `__proto__` keys: for what is handed on unread. */
export const withoutPrototypeKeys = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (key, inner: unknown) =>
    key === "__proto__" ? undefined : inner,
  );

/** Counts levels and values before parsing; strings, which hold the megabytes, are jumped over. Text that is too short
 *  to be deep is not looked at. */
function isWithinDepth(text: string): boolean {
  if (text.length <= 2 * frameLimits.depth) return true;
  let depth = 0;
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === quote) at = endOfString(text, at);
    else if (unit === ARRAY_END || unit === OBJECT_END) depth--;
    else if (unit === ARRAY || unit === OBJECT) {
      depth++;
      values++;
    } else if (unit === COMMA) values++;
    if (depth > frameLimits.depth || values > frameLimits.values) return false;
  }
  return true;
}

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}

const utf8Encoder = new TextEncoder();

/** The text as UTF-8. */
export const encodeUtf8 = (text: string): Uint8Array => utf8Encoder.encode(text);

/** Whether it has at most that many bytes as UTF-8: between one and three for each unit, counted only where that does
 *  not decide. */
export const fitsInBytes = (text: string, bytes: number): boolean =>
  text.length <= bytes && (text.length * 3 <= bytes || encodeUtf8(text).length <= bytes);

/** ASCII, as nearly all names are, is seen at one look; the rest without control characters and halves of pairs. */
const namePattern = /^(?:[!-~]+|[^\p{Cc}\p{Cs}]+)$/u;

/** A name both sides print and compare, bounded. */
const isName = (text: string, bytes: number): boolean =>
  fitsInBytes(text, bytes) && namePattern.test(text);

export const isSessionId = (text: string): boolean => isName(text, frameLimits.sessionId);
export const isId = (text: string): boolean => isName(text, frameLimits.id);
