// Reads the media and attachments of messages.
import { frameLimits } from "./frame-limits.ts";
import { limits } from "./limits.ts";
import { asObject, ownValue } from "./json.ts";
import { WireError, wireError } from "./errors.ts";
import type { Attachment, InlineImage } from "./messages.ts";

const inlineImage = /^data:(image\/(?:jpeg|png|gif|webp|bmp));base64,/i;
export const emptyMedia: readonly InlineImage[] = [];
const notBase64 = /[^A-Za-z0-9+/]/;

/**
 * Reads `media` and `attachments` of a client message.
 *
 * @throws WireError `invalid_media`.
 */
export function readMedia(media: unknown, attachments: unknown): readonly InlineImage[] {
  if (media === undefined && attachments === undefined) return emptyMedia;
  const all = [...asList(media), ...asList(attachments)];
  const { media: maxMedia } = frameLimits;
  if (all.length > maxMedia)
    throw new WireError("invalid_media", `A message may have at most ${maxMedia} media.`);
  return all.map(readInline);
}

function asList(value: unknown): readonly unknown[] {
  if (value === undefined || value === "") return [];
  return Array.isArray(value) ? value : [value];
}

function readInline(item: unknown): InlineImage {
  const object = asObject(item);
  const url = object ? (ownValue(object, "data_url") ?? ownValue(object, "url")) : item;
  const head = typeof url === "string" ? inlineImage.exec(url) : null;
  if (typeof url !== "string" || !head) throw wireError("invalid_media");
  const base64 = url.slice(head[0].length);
  if (decodedLength(base64) > limits.medium || !isBase64(base64)) throw wireError("invalid_media");
  return { type: head[1]!.toLowerCase(), base64, ...(object && stringField(object, "filename")) };
}

const padding = (base64: string): number =>
  base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
const decodedLength = (base64: string): number => (base64.length / 4) * 3 - padding(base64);

function isBase64(text: string): boolean {
  if (text === "" || text.length % 4 !== 0) return false;
  const wrong = text.search(notBase64);
  return wrong === -1 || wrong === text.length - padding(text);
}

/**
 * `data:`, `https:`, or a path on the server. Browsers read `//host` and similar forms as another
 * server, so they do not match.
 */
const safeUrl = /^(?:data:|https:|\/(?![/\\\s]))/i;

/**
 * Reads the attachments of a server message. Attachments that are unsafe to show in a page are left
 * out.
 *
 * @param base - The `http:` or `https:` address of the server. Paths are resolved against it.
 */
export function readAttachments(value: unknown, base?: string): Attachment[] {
  if (!Array.isArray(value)) return [];
  return value.slice(0, frameLimits.media).flatMap((item) => {
    const object = asObject(item);
    const url = object && ownValue(object, "url");
    if (!object || typeof url !== "string" || !safeUrl.test(url)) return [];
    return [
      {
        ...stringField(object, "type"),
        url: base && url.startsWith("/") ? new URL(url, base).href : url,
        ...stringField(object, "filename"),
        ...stringField(object, "content_type"),
      },
    ];
  });
}

const stringField = <K extends string>(
  object: Readonly<Record<string, unknown>>,
  key: K,
): { readonly [P in K]?: string } => {
  const value = ownValue(object, key);
  return typeof value === "string" ? ({ [key]: value } as { [P in K]: string }) : {};
};
