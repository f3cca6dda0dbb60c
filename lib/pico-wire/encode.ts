// Encodes frames.
import type { FileReference, Frame, InlineImage, MessagePayload } from "./messages.ts";

/**
 * Encodes a frame as text. Decoding it gives an equal frame, apart from `skipped`. Half of a
 * surrogate pair, for example at the end of a cut text, becomes U+FFFD, because strict parsers
 * reject its escape.
 */
export function encode(frame: Frame): string {
  if (frame.type !== "message.send" && frame.type !== "media.send") return encodeObject(frame, 2);
  return JSON.stringify({ ...frame, payload: writeMessage(frame.payload) });
}

const writeMessage = ({ content, media, hops }: MessagePayload): object => ({
  content: content.toWellFormed(),
  ...(media.length > 0 && { media: media.map(writeMedium) }),
  ...(hops > 0 && { hops }),
});

const writeMedium = (medium: InlineImage | FileReference): string | object => {
  if ("id" in medium) return medium;
  const { type, base64, filename } = medium;
  const url = `data:${type};base64,${base64}`;
  return filename === undefined ? url : { url, filename };
};

const needsEscape = /["\\\p{Cc}\p{Cs}]/u;

const quoteJson = (text: string): string =>
  needsEscape.test(text) ? JSON.stringify(text.toWellFormed()) : `"${text}"`;

const toWellFormed = (_: string, value: unknown): unknown =>
  typeof value === "string" ? value.toWellFormed() : value;

function encodeValue(value: unknown): string {
  const text = JSON.stringify(value);
  return /\\ud[89a-f]/.test(text) ? JSON.stringify(value, toWellFormed) : text;
}

/**
 * Writes the same text as `JSON.stringify`, three times as fast for nearly every frame: a few known
 * keys with short text and numbers.
 *
 * @param levels - The number of levels whose keys need no escape.
 */
function encodeObject(object: object, levels: number): string {
  let text = "";
  for (const key of Object.keys(object)) {
    const value: unknown = (object as Record<string, unknown>)[key];
    if (value === undefined) continue;
    text += `${text === "" ? "{" : ","}"${key}":`;
    if (typeof value === "string") text += quoteJson(value);
    else if (levels > 1 && key === "payload") text += encodeObject(value as object, levels - 1);
    else text += encodeValue(value);
  }
  return text === "" ? "{}" : `${text}}`;
}
