import type { Media, Message } from "../../plugins/channels/index.ts";
import { plain, plainLine } from "./text.ts";

const medium = ({ type, bytes, url = "" }: Media): string =>
  bytes ? `[${plainLine(type)}, ${bytes.byteLength} bytes]` : `[${plainLine(url)}]`;

/** An answer as text for a terminal. */
export const textOf = ({ content, media }: Pick<Message, "content" | "media">): string =>
  [...(content === "" ? [] : [plain(content)]), ...media.map(medium)].join("\n");
