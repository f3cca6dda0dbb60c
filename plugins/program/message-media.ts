// Describes the files of a message for the program: a path, or a data URL for small images.
import { buffer } from "node:stream/consumers";
import type { Media, Message } from "../channels/index.ts";
import type { MediaFiles } from "../media/index.ts";

/** Larger images are a path for every program: a line of the protocol is short. */
const maxInlineBytes = 256 * 1024;

/** A stored file of a message. */
interface MessageFile {
  /** Absent if the store has no paths. The program only reads the file. */
  readonly path?: string | undefined;
  /** Present for small images. */
  readonly dataUrl?: string | undefined;
}

/** The stored files of a message, by id. */
export type MessageFiles = ReadonlyMap<string, MessageFile>;

/** @returns Undefined if the message has no stored file, so that it does not wait. */
export function findFiles(
  { media, previous = [] }: Pick<Message, "media" | "previous">,
  files: MediaFiles | undefined,
): Promise<MessageFiles> | undefined {
  const all = [...media, ...previous.flatMap((turn) => turn.media ?? [])];
  const stored = all.filter(({ id }) => id !== undefined);
  return stored.length === 0 || !files ? undefined : readFiles(stored, files);
}

async function readFiles(media: readonly Media[], files: MediaFiles): Promise<MessageFiles> {
  const found = new Map<string, MessageFile>();
  for (const { id = "", type, size = Infinity } of media) {
    const file = await files.get(id).catch(() => undefined);
    if (!file) continue;
    const isSmall = type.startsWith("image/") && size <= maxInlineBytes;
    const bytes = isSmall ? await files.open(id).then(buffer, () => undefined) : undefined;
    const dataUrl = bytes && `data:${type};base64,${bytes.toString("base64")}`;
    found.set(id, { path: files.path(file), dataUrl });
  }
  return found;
}

const inlineUrl = ({ type, bytes, url }: Media): string | undefined =>
  bytes ? `data:${type};base64,${Buffer.from(bytes).toString("base64")}` : url;

/**
 * Creates `payload.media`, and `payload.media_missing` with the files that this node does not have.
 *
 * @param knowsMedia - The program said that it reads files from paths, so it gets no data URLs of
 *   stored images.
 */
export function toProgramMedia(
  media: readonly Media[],
  files: MessageFiles | undefined,
  knowsMedia: boolean,
): { readonly media: readonly unknown[]; readonly media_missing?: readonly unknown[] } {
  const missing: unknown[] = [];
  const found = media.flatMap((medium): unknown[] => {
    const { id, type, filename, size, sha256 } = medium;
    if (id === undefined) return [inlineUrl(medium)];
    const { path, dataUrl } = files?.get(id) ?? {};
    if (dataUrl !== undefined && !knowsMedia) return [dataUrl];
    const about = { id, content_type: type, filename, size, sha256 };
    if (path === undefined) missing.push(about);
    return path === undefined ? [] : [{ ...about, path }];
  });
  return { media: found, ...(missing.length > 0 && { media_missing: missing }) };
}
