// Makes text from the network safe for a terminal, and wraps it.
import type { ChatMessage } from "../../lib/pico-link/index.ts";
import type { Media, Message } from "../../plugins/channels/index.ts";

/** Control and format characters: they could move the cursor, change colours or reverse the reading
 *  direction. Joiners stay, since some scripts and emoji need them. */
const unsafeCharacters = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** Replaces control characters; lines end with `\n`. */
export const sanitize = (text: string): string =>
  text.replace(/\r\n?/g, "\n").replace(unsafeCharacters, "\u{fffd}");

/** Like `sanitize`, on one line. */
export const sanitizeLine = (text: string): string => sanitize(text).replace(/\s+/g, " ").trim();

/** Escapes the unsafe characters that JSON leaves as they are; the value stays the same. */
export const escapeUnsafe = (json: string): string =>
  json.replace(unsafeCharacters, (found) =>
    [...found]
      .flatMap((sign) => sign.split(""))
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );

export const sanitizedJson = (value: unknown, indent?: number): string =>
  escapeUnsafe(JSON.stringify(value, null, indent));

const zeroWidth = /[\p{Mn}\p{Me}\p{Cf}\u{fe00}-\u{fe0f}]/u;
const doubleWidth = new RegExp(
  "[\\u1100-\\u115f\\u2e80-\\ua4cf\\uac00-\\ud7a3\\uf900-\\ufaff\\ufe30-\\ufe6f" +
    "\\uff00-\\uff60\\uffe0-\\uffe6\\u{1f300}-\\u{1faff}\\u{20000}-\\u{3fffd}]|" +
    "\\p{Emoji_Presentation}",
  "u",
);

const characterWidth = (sign: string): number =>
  sign < "\u0300" ? 1 : zeroWidth.test(sign) ? 0 : doubleWidth.test(sign) ? 2 : 1;

/** Counts terminal columns. */
export function width(text: string): number {
  let columns = 0;
  for (const sign of text) columns += characterWidth(sign);
  return columns;
}

/** Breaks a text into rows of at most `columns`, at spaces if possible. */
export function wrap(text: string, columns: number): string[] {
  return text
    .replace(/\t/g, "    ")
    .split("\n")
    .flatMap((line) => wrapLine(line, Math.max(columns, 2)));
}

function wrapLine(line: string, columns: number): string[] {
  const rows: string[] = [];
  let row = "";
  let used = 0;
  for (const sign of line) {
    const size = characterWidth(sign);
    if (used + size > columns) {
      const space = sign === " " ? -1 : row.lastIndexOf(" ");
      const rest = space > 0 ? row.slice(space + 1) : "";
      rows.push(space > 0 ? row.slice(0, space) : row);
      row = rest;
      used = width(rest);
      if (sign === " ") continue;
    }
    row += sign;
    used += size;
  }
  return [...rows, row];
}

/** Converts an attachment of a message of the link. */
export function toMedia(attachment: ChatMessage["attachments"][number]): Media {
  const { url, content_type, type, filename } = attachment;
  const named = filename === undefined ? {} : { filename };
  const inline = /^data:([^;,]+);base64,(.*)$/s.exec(url);
  if (inline) return { type: inline[1]!, bytes: Buffer.from(inline[2]!, "base64"), ...named };
  return { type: content_type ?? type ?? "application/octet-stream", url, ...named };
}

const describeMedia = ({ type, bytes, url = "", filename }: Media): string => {
  const name = filename ? `${sanitizeLine(filename)}, ` : "";
  const rest = bytes ? `${sanitizeLine(type)}, ${bytes.byteLength} bytes` : sanitizeLine(url);
  return `[${name}${rest}]`;
};

/** Formats a reply for a terminal. */
export const replyText = ({ content, media }: Pick<Message, "content" | "media">): string =>
  [...(content === "" ? [] : [sanitize(content)]), ...media.map(describeMedia)].join("\n");
