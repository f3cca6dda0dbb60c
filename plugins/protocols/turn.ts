// Reads the messages of a request: roles, texts, images, and the turns before the last one.
import { isObject } from "../../lib/util.ts";
import type { Media, PreviousTurn } from "../channels/index.ts";
import { invalidType, missing, own, readText, unsupported, type JsonObject } from "./fields.ts";
import { maxImages, readImage } from "./media.ts";
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

/** Reads each item of a list, which must be an object. */
export const readItems = <T>(
  list: readonly unknown[],
  param: string,
  read: (item: JsonObject, param: string) => T,
): readonly T[] =>
  list.map((item, index) => {
    const at = `${param}[${index}]`;
    if (!isObject(item)) throw invalidType(at, "an object");
    return read(item, at);
  });

/** Returns the meaning of the role in `roles`. */
export function readRole<T extends string>(
  message: JsonObject,
  param: string,
  roles: Readonly<Record<string, T>>,
): T {
  const given = readText(message, "role", `${param}.role`);
  if (given === undefined) throw missing(`${param}.role`);
  const role = Object.hasOwn(roles, given) ? roles[given] : undefined;
  if (role) return role;
  throw unsupported(`${param}.role`, `The role ${JSON.stringify(given.slice(0, 60))} is unknown.`);
}

/**
 * Reads a text, or a list of parts. Texts are joined with line breaks.
 *
 * @param readPart - Returns undefined for a part that the application cannot receive.
 */
export function readContent(
  message: JsonObject,
  param: string,
  readPart: (part: JsonObject, param: string) => string | Media | undefined,
): Pick<PreviousTurn, "content" | "media"> {
  const content = own(message, "content") ?? "";
  if (typeof content === "string") return { content };
  if (Array.isArray(content)) return readParts(content, `${param}.content`, readPart);
  throw invalidType(`${param}.content`, "a string or a list of parts");
}

export function readParts(
  list: readonly unknown[],
  param: string,
  readPart: (part: JsonObject, param: string) => string | Media | undefined,
): Pick<PreviousTurn, "content" | "media"> {
  const parts = readItems(list, param, readPart);
  const media = parts.filter((part): part is Media => isObject(part));
  if (media.length > maxImages)
    throw unsupported(param, `A message may have at most ${maxImages} images.`);
  const content = parts.filter((part) => typeof part === "string").join("\n");
  return { content, ...(media.length > 0 && { media }) };
}

export function readName(message: JsonObject, param: string): Pick<PreviousTurn, "name"> {
  const name = readText(message, "name", `${param}.name`);
  return name === undefined ? {} : { name: name.slice(0, 256) };
}

/** Reads an image that the client must be able to send. */
export function requireImage(url: string | undefined, param: string): Media {
  const media = readImage(url ?? "");
  if (media) return media;
  const message =
    `${param} must be an https: address, or a data: URL in base64 of a PNG, JPEG, GIF or WebP ` +
    "image of at most 20 MiB.";
  throw new Refusal("invalid_image_url", message, { param });
}

interface TurnOptions {
  /** The field with the messages. */
  readonly param: string;
  /** Key of the protocol in the metadata. */
  readonly key: string;
  /** Fields that Doorward does not apply. */
  readonly rest: Readonly<Record<string, unknown>>;
  /** The user that the client claims to have. */
  readonly user?: string | undefined;
  /** Position of the message in the request, if turns before it were added. */
  readonly index?: number;
}

/** Makes a message of the last turn. Throws unless the user wrote it. */
export function toTurn(turns: readonly PreviousTurn[], options: TurnOptions): Turn {
  const { param, key, rest, user, index = turns.length - 1 } = options;
  const last = turns.at(-1)!;
  assertUserTurn(last, `${param}[${index}]`);
  const { previous, cut } = boundPrevious(turns.slice(0, -1));
  const metadata = {
    ...(Object.keys(rest).length > 0 && { [key]: boundFields(rest) }),
    ...(user !== undefined && { user: user.slice(0, 256) }),
    ...(cut > 0 && { previous_cut: cut }),
  };
  return { content: last.content, media: last.media ?? [], previous, metadata };
}

function assertUserTurn({ role, content, media }: PreviousTurn, param: string): void {
  if (role !== "user")
    throw unsupported(`${param}.role`, "The last message must have the role user.");
  if (Buffer.byteLength(content) > maxContentBytes) {
    const message = "The last message may have at most 1 MiB of text.";
    throw new Refusal("too_large", message, { param: `${param}.content` });
  }
  if (content === "" && media === undefined) throw missing(`${param}.content`);
}

/** Keeps the latest turns. Turns without text and images, such as tool calls, are left out. */
function boundPrevious(turns: readonly PreviousTurn[]): {
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
