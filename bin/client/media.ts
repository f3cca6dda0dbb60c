import type { Media, Message } from "../../plugins/channels/index.ts";
import { sanitize, sanitizeLine } from "./text.ts";

const describeMedia = ({ type, bytes, url = "", filename }: Media): string => {
  const name = filename ? `${sanitizeLine(filename)}, ` : "";
  const rest = bytes ? `${sanitizeLine(type)}, ${bytes.byteLength} bytes` : sanitizeLine(url);
  return `[${name}${rest}]`;
};

/** An answer as text for a terminal. */
export const replyText = ({ content, media }: Pick<Message, "content" | "media">): string =>
  [...(content === "" ? [] : [sanitize(content)]), ...media.map(describeMedia)].join("\n");
