// Translates the prompt of an editor into a message, and attachments into content for an editor.
import type { ContentBlock } from "../../lib/acp-wire/index.ts";
import type { ChatMessage } from "../../lib/pico-link/index.ts";
import { fenceOf } from "../../lib/util.ts";
import type { Media } from "../../plugins/channels/index.ts";

type Attachment = ChatMessage["attachments"][number];
type TextResource = Extract<ContentBlock, { type: "resource" }>["resource"];

function fenced(text: string): string {
  const fence = fenceOf(text);
  return `${fence}\n${text.replace(/\n$/, "")}\n${fence}`;
}

function linkText(name: string, uri: string): string {
  const label = name.replaceAll(/[[\]\\]/g, "\\$&").replaceAll(/\s+/g, " ");
  return `[${label}](<${uri.replaceAll(/[<>\s]/g, encodeURIComponent)}>)`;
}

const imageTypes = /^image\/(?:jpeg|png|gif|webp|bmp)$/;
const nameOf = (uri: string): string => decodeURI(uri.replace(/^.*\//, "")) || uri;

function safeName(uri: string): string {
  try {
    return nameOf(uri);
  } catch {
    return uri; // a malformed percent escape
  }
}

function toImage(type: string, data: string, uri?: string): Media {
  const named = uri === undefined ? {} : { filename: safeName(uri) };
  return { type, bytes: Buffer.from(data, "base64"), ...named };
}

/** Reads a whole file. Binary files other than images stay links. */
function readResource({ uri, mimeType = "", text, blob }: TextResource): string | Media {
  if (text !== undefined) return `${linkText(safeName(uri), uri)}\n\n${fenced(text)}`;
  if (blob !== undefined && imageTypes.test(mimeType)) return toImage(mimeType, blob, uri);
  return linkText(safeName(uri), uri);
}

function readBlock(block: ContentBlock): string | Media {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
      return toImage(block.mimeType, block.data, block.uri);
    case "resource_link":
      return linkText(block.title ?? block.name, block.uri);
    case "resource":
      return readResource(block.resource);
    case "audio":
      return "[audio]";
  }
}

/**
 * Reads the prompt of an editor. Editors mention a file in the middle of a sentence, so texts and
 * links follow each other as they are; whole files come after them.
 */
export function toMessage(prompt: readonly ContentBlock[]): {
  readonly content: string;
  readonly attachments: readonly Media[];
} {
  const words: string[] = [];
  const files: string[] = [];
  const attachments: Media[] = [];
  for (const block of prompt) {
    const read = readBlock(block);
    if (typeof read !== "string") attachments.push(read);
    else if (block.type === "resource") files.push(read);
    else words.push(read);
  }
  const text = words.join("");
  return { content: [...(text === "" ? [] : [text]), ...files].join("\n\n"), attachments };
}

/** Content blocks of the protocol, as they are sent. */
export type OutgoingBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly mimeType: string; readonly data: string }
  | {
      readonly type: "resource_link";
      readonly uri: string;
      readonly name: string;
      readonly mimeType?: string;
      readonly size?: number;
    };

/** @returns An inline image as an image, everything else as a link. */
export function toBlock(attachment: Attachment): OutgoingBlock {
  const { url, filename, content_type: mimeType, size } = attachment;
  const inline = /^data:(image\/[^;,]+);base64,(.*)$/s.exec(url);
  if (inline) return { type: "image", mimeType: inline[1]!, data: inline[2]! };
  return {
    type: "resource_link",
    uri: url.startsWith("data:") ? "data:," : url,
    name: filename ?? attachment.type ?? "file",
    ...(mimeType !== undefined && { mimeType }),
    ...(size !== undefined && { size }),
  };
}
