// Encodes frames.
import type { FileReference, Frame, InlineImage, MessagePayload } from "./messages.ts";

/**
 * Encodes a frame as text. Decoding it gives an equal frame, apart from `skipped`. Half of a
 * surrogate pair, for example at the end of a cut text, becomes U+FFFD, because strict parsers
 * reject its escape.
 */
export function encode(frame: Frame): string {
  if (frame.type !== "message.send" && frame.type !== "media.send") return encodeValue(frame);
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

const toWellFormed = (_: string, value: unknown): unknown =>
  typeof value === "string" ? value.toWellFormed() : value;

function encodeValue(value: unknown): string {
  const text = JSON.stringify(value);
  return /\\ud[89a-f]/.test(text) ? JSON.stringify(value, toWellFormed) : text;
}
