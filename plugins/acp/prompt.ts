// Writes a message of a person as a prompt of the Agent Client Protocol.
import { buffer } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import type { Media, Message, PreviousTurn } from "../channels/index.ts";
import type { MediaFiles } from "../media/index.ts";

type PromptPart = Readonly<Record<string, unknown>> & { readonly type: string };

/** Larger images are links: the line would be too long for some agents. */
const maxImageBytes = 5 * 1024 * 1024;
const maxEarlier = 64 * 1_024;

interface Prompt {
  readonly parts: readonly PromptPart[];
  /** Files that the agent cannot read. */
  readonly leftOut: number;
}

async function imageOf(medium: Media, files: MediaFiles | undefined): Promise<Buffer | undefined> {
  const { id, type, bytes, size = 0 } = medium;
  if (!type.startsWith("image/") || size > maxImageBytes) return undefined;
  if (bytes) return bytes.byteLength > maxImageBytes ? undefined : Buffer.from(bytes);
  if (id === undefined || !files) return undefined;
  return files.open(id).then(buffer, () => undefined);
}

/** @returns Undefined for a file without a place that the agent can read. */
async function linkOf(
  { id, type, url, filename, size }: Media,
  files: MediaFiles | undefined,
): Promise<PromptPart | undefined> {
  const stored = id === undefined ? undefined : await files?.get(id).catch(() => undefined);
  const path = stored && files?.path(stored);
  const uri = path === undefined ? url : pathToFileURL(path).href;
  if (uri === undefined || uri.startsWith("data:") || uri.startsWith("/")) return undefined;
  return {
    type: "resource_link",
    uri,
    name: filename ?? "file",
    mimeType: type,
    ...(size !== undefined && { size }),
  };
}

/** Clients without a conversation here repeat its earlier turns, which a new session lacks. */
function earlierText(previous: readonly PreviousTurn[]): string {
  const lines = previous.flatMap(({ role, content }) => (content ? [`${role}: ${content}`] : []));
  const text = lines.join("\n\n").slice(-maxEarlier);
  return text === "" ? "" : `Earlier in this conversation:\n\n${text}`;
}

/**
 * @param options.images - The agent takes images.
 * @param options.isNew - The agent knows nothing of the conversation.
 */
export async function toPrompt(
  { content, media, previous = [] }: Message,
  options: {
    readonly files: MediaFiles | undefined;
    readonly images: boolean;
    readonly isNew: boolean;
  },
): Promise<Prompt> {
  const earlier = options.isNew ? earlierText(previous) : "";
  const texts = [earlier, content].filter((text) => text !== "");
  const parts: PromptPart[] = texts.map((text) => ({ type: "text", text }));
  let leftOut = 0;
  for (const medium of media) {
    const image = options.images ? await imageOf(medium, options.files) : undefined;
    const part = image
      ? { type: "image", mimeType: medium.type, data: image.toString("base64") }
      : await linkOf(medium, options.files);
    if (part) parts.push(part);
    else leftOut += 1;
  }
  return { parts, leftOut };
}
