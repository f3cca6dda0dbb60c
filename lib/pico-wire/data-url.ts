// Reads images in `data:` URLs.
import { limits } from "./limits.ts";
import type { InlineImage } from "./messages.ts";

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
