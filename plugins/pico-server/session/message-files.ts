// Finds the uploaded files that messages name.
import { codeOf } from "../../../kernel/index.ts";
import { messageErrors, WireError, type MessagePayload } from "../../../lib/pico-wire/index.ts";
import type { Media } from "../../channels/index.ts";
import type { MediaFiles, StoredFile } from "../../media/index.ts";

/** The path of a file without the base path. */
export const mediaPath = (id: string, entrance: "pico" | "keys" = "pico"): string =>
  `/${entrance}/media/${id}`;

/** The files of one message, by id. */
export type FoundFiles = ReadonlyMap<string, Media>;

const noFiles: FoundFiles = new Map();

const idsIn = (media: MessagePayload["media"]): string[] =>
  media.flatMap((medium) => ("id" in medium ? [medium.id] : []));

/** Finds files of the session of a message. */
export class MessageFiles {
  private readonly files: MediaFiles | undefined;
  private readonly url: (path: string) => string;

  /** @param url - Adds the base path. */
  constructor(files: MediaFiles | undefined, url: (path: string) => string) {
    this.files = files;
    this.url = url;
  }

  /**
   * Records the use before the application receives the message, so that no accepted message
   * names a file that is gone.
   *
   * @throws WireError `unknown_media` if the session has no such file.
   */
  async claim(session: string, media: MessagePayload["media"]): Promise<FoundFiles> {
    const ids = idsIn(media);
    if (ids.length === 0) return noFiles;
    const found = new Map<string, Media>();
    for (const id of new Set(ids)) found.set(id, this.toMedia(await this.use(session, id)));
    return found;
  }

  private async use(session: string, id: string): Promise<StoredFile> {
    const unknown = (): WireError =>
      new WireError("unknown_media", messageErrors.unknown_media.message);
    if (!this.files) throw unknown();
    try {
      return await this.files.use({ channel: "pico", session }, id);
    } catch (error) {
      if (codeOf(error) === "unknown_media") throw unknown();
      if (codeOf(error) === "media_unavailable")
        throw new WireError("busy", messageErrors.busy.message);
      throw error;
    }
  }

  private toMedia({ id, contentType: type, size, sha256, filename }: StoredFile): Media {
    return { type, id, size, sha256, filename, url: this.url(mediaPath(id)) };
  }
}
