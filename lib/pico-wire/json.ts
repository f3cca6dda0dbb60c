// Parses JSON and UTF-8 safely.
import { frameLimits } from "./frame-limits.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

const utf8Decoder = new TextDecoder("utf-8", { fatal: true });
const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const arrayStart = 0x5b;
const arrayEnd = 0x5d;
const objectStart = 0x7b;
const objectEnd = 0x7d;

/** @returns Undefined if the bytes are not UTF-8. */
export function decodeUtf8(input: string | Uint8Array): string | undefined {
  try {
    return typeof input === "string" ? input : utf8Decoder.decode(input);
  } catch {
    return undefined;
  }
}

/**
 * Parses a frame. Its keys must be read with `ownValue`.
 *
 * @returns Undefined if the input is not a JSON object, or exceeds the limits.
 */
export function parseObject(input: string | Uint8Array): JsonObject | undefined {
  const text = decodeUtf8(input);
  if (text === undefined || !isWithinDepth(text)) return undefined;
  try {
    return asObject(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/**
 * Reads a key of the object itself, so that inherited names and `__proto__` have no effect. `null`
 * counts as absent.
 */
export function ownValue(object: JsonObject, key: string): unknown {
  const value = object[key];
  return value !== undefined && value !== null && Object.hasOwn(object, key) ? value : undefined;
}

export const asObject = (value: unknown): JsonObject | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : undefined;

/**
 * Copies a JSON value without `__proto__` keys. For values that are passed on without being read.
 */
export const withoutPrototypeKeys = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (key, inner: unknown) =>
    key === "__proto__" ? undefined : inner,
  );

/**
 * Counts levels and values before parsing. Strings, which make up most of a large frame, are
 * skipped. A text that is too short to exceed the limits is not scanned.
 */
function isWithinDepth(text: string): boolean {
  if (text.length <= 2 * frameLimits.depth) return true;
  let depth = 0;
  let values = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit === quote) index = endOfString(text, index);
    else if (unit === arrayEnd || unit === objectEnd) depth--;
    else if (unit === arrayStart || unit === objectStart) {
      depth++;
      values++;
    } else if (unit === comma) values++;
    if (depth > frameLimits.depth || values > frameLimits.values) return false;
  }
  return true;
}

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === backslash) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}

const utf8Encoder = new TextEncoder();

/** Encodes text as UTF-8. */
export const encodeUtf8 = (text: string): Uint8Array => utf8Encoder.encode(text);

/**
 * Whether the text has at most this many bytes as UTF-8. A unit takes one to three bytes, so most
 * texts need not be encoded.
 */
export const fitsInBytes = (text: string, bytes: number): boolean =>
  text.length <= bytes && (text.length * 3 <= bytes || encodeUtf8(text).length <= bytes);

/**
 * The first alternative matches ASCII, as nearly all names are. The second one rejects control
 * characters and halves of surrogate pairs.
 */
const namePattern = /^(?:[!-~]+|[^\p{Cc}\p{Cs}]+)$/u;

/** Whether both client and server can print and compare the name, and it is short enough. */
const isName = (text: string, bytes: number): boolean =>
  fitsInBytes(text, bytes) && namePattern.test(text);

/** Whether the text can be a session id: at most 256 bytes without control characters. */
export const isSessionId = (text: string): boolean => isName(text, frameLimits.sessionId);
/** Whether the text can be an id: at most 256 bytes without control characters. */
export const isId = (text: string): boolean => isName(text, frameLimits.id);
