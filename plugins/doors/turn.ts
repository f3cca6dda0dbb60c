// Checks the message of a request, and bounds the turns that the client sends before it.
import { isObject } from "../../lib/util.ts";
import type { Media, PreviousTurn } from "../channels/index.ts";
import { missing, unsupported } from "./fields.ts";
import { maxImages } from "./media.ts";
import { boundFields } from "./metadata.ts";
import { Refusal } from "./refusal.ts";

/** Bytes of UTF-8 in the text of one message, and in all earlier turns. */
const maxContentBytes = 1024 * 1024;
const maxPreviousTurns = 256;

/** The message for the application, with the turns before it. */
export interface Turn {
  readonly content: string;
  readonly media: readonly Media[];
  readonly previous: readonly PreviousTurn[];
  /** Data of the protocol. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Joins the texts with line breaks, and collects the images. */
export function joinParts(
  parts: readonly (string | Media | undefined)[],
  param: string,
): Pick<Turn, "content" | "media"> {
  const texts = parts.filter((part) => typeof part === "string");
  const media = parts.filter((part): part is Media => isObject(part));
  if (media.length > maxImages)
    throw unsupported(param, `A message may have at most ${maxImages} images.`);
  return { content: texts.join("\n"), media };
}

/** Throws unless the turn is a message of the user that is neither empty nor too large. */
export function assertTurn({ role, content, media }: PreviousTurn, param: string): void {
  if (role !== "user") {
    const message = "The last message must have the role user.";
    throw unsupported(`${param}.role`, message);
  }
  if (Buffer.byteLength(content) > maxContentBytes) {
    const message = "The last message may have at most 1 MiB of text.";
    throw new Refusal("too_large", message, { param: `${param}.content` });
  }
  if (content === "" && media === undefined) throw missing(`${param}.content`);
}

/** Keeps the latest turns. Turns without text and images, such as tool calls, are left out. */
export function boundPrevious(turns: readonly PreviousTurn[]): {
  readonly previous: readonly PreviousTurn[];
  readonly cut: number;
} {
  const shown = turns.filter(({ content, media }) => content !== "" || media !== undefined);
  let first = shown.length;
  let bytes = 0;
  while (first > 0 && shown.length - first < maxPreviousTurns) {
    bytes += Buffer.byteLength(shown[first - 1]!.content);
    if (bytes > maxContentBytes) break;
    first -= 1;
  }
  return { previous: shown.slice(first), cut: first };
}

interface MetadataOptions {
  /** Key of the protocol. */
  readonly key: string;
  readonly rest: Readonly<Record<string, unknown>>;
  /** The user that the client claims to have. */
  readonly user?: string | undefined;
  /** Turns that were left out. */
  readonly cut: number;
}

/** Builds the data of the request that the application receives. */
export function toMetadata({ key, rest, user, cut }: MetadataOptions): Turn["metadata"] {
  return {
    ...(Object.keys(rest).length > 0 && { [key]: boundFields(rest) }),
    ...(user !== undefined && { user: user.slice(0, 256) }),
    ...(cut > 0 && { previous_cut: cut }),
  };
}
