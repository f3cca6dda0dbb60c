// Reads the media and attachments of messages, such as images in `data:` URLs.
import { frameLimits } from "./frame-limits.ts";
import { isCount } from "./envelope.ts";
import { asObject, ownValue, type JsonObject } from "./json.ts";
import { WireError, wireError } from "./errors.ts";
import { limits } from "./limits.ts";
import type { Attachment, FileReference, InlineImage, SkippedAttachment } from "./messages.ts";

export const emptyMedia: readonly (InlineImage | FileReference)[] = [];
const fileId = /^m_[\w-]{1,126}$/;
/** Characters of a filename or media type that are repeated to the sender. */
const maxNameLength = 256;

interface MediaResult {
  readonly media: readonly (InlineImage | FileReference)[];
  /** Absent if no attachment was skipped. */
  readonly skipped?: readonly SkippedAttachment[];
}

/**
 * Reads `media` and `attachments` of a client message. Attachments that are neither images in
 * `data:` URLs nor uploaded files are skipped.
 *
 * @throws WireError `invalid_media` if an image cannot be decoded or is too large, or if there are
 * too many attachments.
 */
export function readMedia(media: unknown, attachments: unknown): MediaResult {
  if (media === undefined && attachments === undefined) return { media: emptyMedia };
  const all = [...asList(media), ...asList(attachments)];
  const { media: maxMedia } = frameLimits;
  if (all.length > maxMedia)
    throw new WireError("invalid_media", `A message may have at most ${maxMedia} media.`);
  const supported: (InlineImage | FileReference)[] = [];
  const skipped: SkippedAttachment[] = [];
  for (const [index, item] of all.entries()) {
    const medium = readReference(item) ?? readInline(item);
    if (medium) supported.push(medium);
    else skipped.push(describeSkipped(asObject(item) ?? {}, index));
  }
  return { media: supported, ...(skipped.length > 0 && { skipped }) };
}

function asList(value: unknown): readonly unknown[] {
  if (value === undefined || value === "") return [];
  return Array.isArray(value) ? value : [value];
}

/** @returns Undefined if the item has a URL, or does not name an uploaded file. */
function readReference(item: unknown): FileReference | undefined {
  const object = asObject(item);
  if (!object || ownValue(object, "data_url") !== undefined) return undefined;
  const id = ownValue(object, "url") === undefined ? ownValue(object, "id") : undefined;
  return typeof id === "string" && fileId.test(id) ? { id } : undefined;
}

/** @returns Undefined if the item is not a supported image. */
function readInline(item: unknown): InlineImage | undefined {
  const object = asObject(item);
  const image = readImage(
    object ? (ownValue(object, "data_url") ?? ownValue(object, "url")) : item,
  );
  if (image === "invalid") throw wireError("invalid_media");
  if (image === "unsupported") return undefined;
  return { ...image, ...(object && stringField(object, "filename")) };
}

/** Describes an attachment without its URL, which may contain a secret. */
const describeSkipped = (object: JsonObject, index: number): SkippedAttachment => ({
  index,
  ...shortField(object, "filename"),
  ...shortField(object, "content_type"),
});

function shortField(object: JsonObject, key: "filename" | "content_type"): object {
  const value = stringField(object, key)[key];
  return value ? { [key]: value.slice(0, maxNameLength).toWellFormed() } : {};
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
    const size = ownValue(object, "size");
    return [
      {
        ...stringField(object, "type"),
        url: base && url.startsWith("/") ? new URL(url, base).href : url,
        ...stringField(object, "filename"),
        ...stringField(object, "content_type"),
        ...(isCount(size) && { size }),
      },
    ];
  });
}

const stringField = <K extends string>(
  object: JsonObject,
  key: K,
): { readonly [P in K]?: string } => {
  const value = ownValue(object, key);
  return typeof value === "string" ? ({ [key]: value } as { [P in K]: string }) : {};
};

const imageType = /^image\/(?:jpeg|png|gif|webp|bmp)$/;
/**
 * In characters. The media type and its parameters end at the first comma. The search for it stops
 * here, so that a long text costs no time.
 */
const maxHeadLength = 1_024;
const notBase64 = /[^A-Za-z0-9+/]/;
const whitespace = /[\t\n\f\r ]+/g;

/**
 * The result for one URL. `unsupported`: not an image of a supported type in base64. `invalid`: an
 * image that cannot be decoded or is too large.
 */
type ImageResult = Pick<InlineImage, "type" | "base64"> | "unsupported" | "invalid";

/** @returns The media type, or undefined if the text does not start a `data:` URL in base64. */
function parseType(head: string): string | undefined {
  const [first = "", ...parameters] = head.split(";").map((part) => part.trim().toLowerCase());
  if (!first.startsWith("data:") || parameters.at(-1) !== "base64") return undefined;
  return first.slice("data:".length).trim();
}

/** Reads one image. Parameters such as `;charset=utf-8`, spaces and line breaks are ignored. */
export function readImage(url: unknown): ImageResult {
  if (typeof url !== "string") return "unsupported";
  const comma = url.slice(0, maxHeadLength).indexOf(",");
  const type = comma === -1 ? undefined : parseType(url.slice(0, comma));
  if (type === undefined || !imageType.test(type)) return "unsupported";
  const data = url.slice(comma + 1);
  // Base64 takes 4/3 of the decoded size; the rest is for whitespace.
  if (data.length > 2 * limits.medium) return "invalid";
  const base64 = isBase64(data) ? data : data.replace(whitespace, "");
  if (decodedLength(base64) > limits.medium || !isBase64(base64)) return "invalid";
  return { type, base64 };
}

const padding = (base64: string): number =>
  base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
const decodedLength = (base64: string): number => (base64.length / 4) * 3 - padding(base64);

function isBase64(text: string): boolean {
  if (text === "" || text.length % 4 !== 0) return false;
  const wrong = text.search(notBase64);
  return wrong === -1 || wrong === text.length - padding(text);
}
