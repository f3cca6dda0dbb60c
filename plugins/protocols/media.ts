// Reads images that clients send inside JSON, and formats attachments as text.
import type { Media } from "../channels/index.ts";

const maxImageBytes = 20 * 1024 * 1024;
/** Images of one message. */
export const maxImages = 64;

const imageUrl = /^data:(image\/(?:png|jpeg|gif|webp));base64,/i;
/** Decodes base64, without a regular expression over the text. Returns undefined for other text. */
export function decodeBase64(text: string): Buffer | undefined {
  if (text === "" || text.length % 4 !== 0) return undefined;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const bytes = Buffer.from(text, "base64");
  // The decoder skips what is not base64.
  return bytes.byteLength === (text.length / 4) * 3 - padding ? bytes : undefined;
}

/** Reads an image: a `data:` URL is decoded, an `https:` address is passed on and never fetched.
 *  Returns undefined for everything else. */
export function readImage(url: string): Media | undefined {
  if (/^https:\/\//i.test(url))
    return URL.canParse(url) && url.length <= 8_192 ? { type: "image", url } : undefined;
  const [prefix, type] = imageUrl.exec(url.slice(0, 40)) ?? [];
  if (prefix === undefined || type === undefined) return undefined;
  const data = url.slice(prefix.length);
  if (data.length > (maxImageBytes / 3) * 4 + 4) return undefined;
  const bytes = decodeBase64(data);
  return bytes && bytes.byteLength <= maxImageBytes
    ? { type: type.toLowerCase(), bytes }
    : undefined;
}

const plainName = (name: string): string => name.replace(/[\p{Cc}[\]\\]/gu, " ").trim();

/** Returns the path at which the clients of a protocol download a stored file. */
export type FileUrl = (id: string) => string;

/** Histories name a stored file by its path in the channel. */
const channelPath = /^\/(?:[^?#]{0,512}\/)?pico\/media\/(m_[0-9a-f]{48})$/;

/** Returns the address of a file, with its bytes if it has them. */
export function toDataUrl({ type, bytes, url = "", id }: Media, fileUrl: FileUrl): string {
  if (bytes) return `data:${type};base64,${Buffer.from(bytes).toString("base64")}`;
  const stored = id ?? channelPath.exec(url)?.[1];
  return stored === undefined ? url : fileUrl(stored);
}

/** Formats an attachment as a Markdown image or link. */
export function toMarkdown(media: Media, fileUrl: FileUrl): string {
  const { type, filename } = media;
  const target = toDataUrl(media, fileUrl).replace(
    /[\s()<>]/g,
    (unit) => `%${unit.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
  const isImage = type.startsWith("image");
  const name = plainName(filename ?? "") || (isImage ? "image" : "file");
  return `${isImage ? "!" : ""}[${name}](${target})`;
}
