// Stores the files that the program answers with. The program names a file of a message by its id,
// or a file in the one folder that it may send from.
import { constants } from "node:fs";
import { lstat, open, realpath, type FileHandle } from "node:fs/promises";
import { basename, isAbsolute, sep } from "node:path";
import { codeOf } from "../../kernel/index.ts";
import type { Address, Media, OutboundMessage } from "../channels/index.ts";
import type { MediaFiles, StoredFile } from "../media/index.ts";
import type { AnswerFolder } from "./answer-folder.ts";
import { programErrors } from "./errors.ts";

/** An attachment of an answer before its file is stored. */
export interface AnswerFile extends Media {
  /** Absolute path of a file in the folder. */
  readonly path?: string;
}

// Undefined on Windows, which counts as 0. O_NONBLOCK, because opening a pipe waits for its writer.
const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
const { geteuid } = process;

/** Returns why an open file may not be sent; undefined if it may. */
async function problemOf(file: FileHandle, path: string, folder: string) {
  const found = await file.stat();
  if (!found.isFile()) return "it is not a regular file";
  if (geteuid && found.uid !== geteuid()) return "it belongs to another user";
  if (found.nlink !== 1) return "it has more than one name (hard link)";
  // The folders of the path may be links. The name must lead to this very file inside the folder.
  const [real, root] = [await realpath(path), await realpath(folder)];
  const named = await lstat(real);
  const isSame = named.ino === found.ino && named.dev === found.dev;
  return isSame && real.startsWith(`${root}${sep}`) ? undefined : "it is outside DOORWARD_MEDIA";
}

/**
 * Opens a file of the folder once; all checks concern the open file, so that nothing can take its
 * place afterwards.
 *
 * @throws bad_answer for a path outside of the folder, a link, a device, or a missing file.
 */
export async function openAnswerFile(path: string, folder: string): Promise<FileHandle> {
  const reject = (problem: string) =>
    programErrors.bad_answer(`the attachment "${basename(path)}" cannot be sent: ${problem}`);
  if (!isAbsolute(path) || path.includes("\0"))
    throw reject("its path is not an absolute path in DOORWARD_MEDIA");
  const file = await open(path, flags).catch((error: NodeJS.ErrnoException) => {
    throw reject(error.code === "ELOOP" ? "it is a link" : `it cannot be opened (${error.code})`);
  });
  const problem = await problemOf(file, path, folder).catch(() => "it has changed");
  if (problem === undefined) return file;
  await file.close();
  throw reject(problem);
}

const toMedia = ({ id, size, sha256, filename, contentType: type }: StoredFile): Media => ({
  type,
  id,
  size,
  sha256,
  filename,
});

/** Stores each attachment once, also if several updates repeat it. */
export class AnswerFiles {
  private readonly media: MediaFiles | undefined;
  private readonly folder: AnswerFolder | undefined;
  private readonly stored = new WeakMap<Media, Promise<Media>>();

  constructor(media: MediaFiles | undefined, folder: AnswerFolder | undefined) {
    this.media = media;
    this.folder = folder;
  }

  /**
   * @returns The message with stored files; the message itself if it names none.
   * @throws bad_answer if a file cannot be sent.
   */
  async resolve<M extends OutboundMessage>(address: Address, message: M): Promise<M> {
    const { attachments } = message;
    if (!attachments?.some((each) => this.isNamed(each))) return message;
    const resolved = attachments.map(async (each) => {
      if (!this.isNamed(each)) return each;
      const known = this.stored.get(each) ?? this.store(address, each);
      this.stored.set(each, known);
      return known;
    });
    return { ...message, attachments: await Promise.all(resolved) };
  }

  private isNamed({ id, path }: AnswerFile): boolean {
    return id !== undefined || path !== undefined;
  }

  private async store(address: Address, { id, path, type, filename }: AnswerFile): Promise<Media> {
    const { media, folder } = this;
    if (!media || !folder) throw programErrors.bad_answer("this deployment keeps no files");
    try {
      if (id !== undefined) return toMedia(await media.share(address, id));
      const file = await openAnswerFile(path!, folder.path);
      const content = file.createReadStream();
      const details = { contentType: type, filename: filename ?? basename(path!) };
      return toMedia(await media.put(address, content, details).finally(() => content.destroy()));
    } catch (error) {
      if (codeOf(error) === "internal" || codeOf(error) === "bad_answer") throw error;
      throw programErrors.bad_answer((error as Error).message);
    }
  }
}
