import type { Media, Message } from "../../plugins/channels/index.ts";
import { plain, plainLine } from "./text.ts";

const medium = ({ type, bytes, url = "", filename }: Media): string => {
  const name = filename ? `${plainLine(filename)}, ` : "";
  const rest = bytes ? `${plainLine(type)}, ${bytes.byteLength} bytes` : plainLine(url);
  return `[${name}${rest}]`;
};

/** An answer as text for a terminal. */
export const textOf = ({ content, media }: Pick<Message, "content" | "media">): string =>
  [...(content === "" ? [] : [plain(content)]), ...media.map(medium)].join("\n");
