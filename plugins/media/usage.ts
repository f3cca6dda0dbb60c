// Counts the bytes and files of the home, of sessions and of senders, and rejects what exceeds a
// limit. Content that several files share counts for each of them.
import type { Address } from "../conversations/contract.ts";
import type { MediaConfig } from "./config.ts";
import type { MediaStore, ResumableUpload, StoredFile } from "./contract.ts";
import { mediaErrors } from "./errors.ts";
import { sessionKey } from "./file-id.ts";

const MiB = 1024 * 1024;
/** The sender of files that the application sends. It has no limit of its own. */
export const application = "application";

/** Unfinished uploads that can be continued, and those of one sender. */
const maxUploads = 1_024;
const maxOfSender = 64;

interface Count {
  bytes: number;
  files: number;
}

interface Owner {
  readonly address: Address;
  readonly sender: string;
}

export class Usage {
  /** The latest time at which a file was used, on the clock by which files are deleted, or 0. */
  newest = 0;
  private readonly store: MediaStore;
  private readonly config: () => MediaConfig;
  private readonly counts = new Map<string, Count>();
  private readonly arriving = new Set<{ readonly owner: Owner; bytes: number }>();
  /** Uploads that can be continued: the whole length of each is reserved. */
  private readonly uploads = new Map<string, ResumableUpload>();
  private loading: Promise<void> | undefined;

  constructor(store: MediaStore, config: () => MediaConfig) {
    this.store = store;
    this.config = config;
  }

  /** Reads the stored files for the first time, or again after other nodes may have stored some. */
  load(isStale = false): Promise<void> {
    if (isStale) this.loading = undefined;
    return (this.loading ??= this.read().catch((error: unknown) => {
      this.loading = undefined;
      throw error;
    }));
  }

  /** Counts a file that is stored. */
  add(file: StoredFile): void {
    this.change({ address: file, sender: file.sender }, file.size, 1);
  }

  /**
   * Reserves the whole length of an upload until it is forgotten.
   *
   * @throws file_too_large, media_full, uploads_busy
   */
  addUpload(upload: ResumableUpload): void {
    const { sender, size } = upload;
    const open = [...this.uploads.values()];
    const own = open.filter((other) => other.sender === sender).length;
    if (own >= maxOfSender || open.length >= maxUploads) throw mediaErrors.uploads_unfinished();
    this.assertFits({ address: upload, sender }, size, 1);
    this.holdUpload(upload);
  }

  /** The upload has become a file, or was deleted. */
  forgetUpload(id: string): void {
    const upload = this.uploads.get(id);
    if (!upload || !this.uploads.delete(id)) return;
    this.change({ address: upload, sender: upload.sender }, -upload.size, -1);
  }

  /** Deletes files, as the store does, and uncounts them. */
  async sweep(...selection: Parameters<MediaStore["sweep"]>): Promise<void> {
    for (const file of await this.store.sweep(...selection))
      this.change({ address: file, sender: file.sender }, -file.size, -1);
  }

  /**
   * Counts a new file, and its bytes while they arrive, until it is released.
   *
   * @param size - Bytes that are known to arrive.
   * @throws file_too_large, media_full; `grow` too
   */
  reserve(owner: Owner, size: number) {
    this.assertFits(owner, size, 1);
    const arriving = { owner, bytes: 0 };
    this.arriving.add(arriving);
    this.change(owner, 0, 1);
    return {
      grow: (bytes: number): void => {
        if (arriving.bytes + bytes > this.config().max_file_mb * MiB)
          throw mediaErrors.file_too_large(this.config().max_file_mb);
        this.assertFits(owner, bytes, 0);
        this.change(owner, bytes, 0);
        arriving.bytes += bytes;
      },
      release: (): void => {
        if (this.arriving.delete(arriving)) this.change(owner, -arriving.bytes, -1);
      },
    };
  }

  private holdUpload(upload: ResumableUpload): void {
    this.uploads.set(upload.id, upload);
    this.change({ address: upload, sender: upload.sender }, upload.size, 1);
  }

  private assertFits({ address, sender }: Owner, bytes: number, files: number): void {
    const { max_file_mb, max_mb, max_session_mb, max_sender_mb, max_files } = this.config();
    if (bytes > max_file_mb * MiB) throw mediaErrors.file_too_large(max_file_mb);
    const session = this.count(`session ${sessionKey(address)}`);
    if (session.files + files > max_files)
      throw mediaErrors.media_full("the number of files of a session", "media.max_files");
    if (session.bytes + bytes > max_session_mb * MiB)
      throw mediaErrors.media_full("the files of a session", "media.max_session_mb");
    const sent = sender === application ? 0 : this.count(`sender ${sender}`).bytes;
    if (sent + bytes > max_sender_mb * MiB)
      throw mediaErrors.media_full("the files of a sender", "media.max_sender_mb");
    if (this.count("home").bytes + bytes > max_mb * MiB)
      throw mediaErrors.media_full("all files", "media.max_mb");
  }

  private count(key: string): Count {
    return this.counts.get(key) ?? { bytes: 0, files: 0 };
  }

  private change({ address, sender }: Owner, bytes: number, files: number): void {
    for (const key of ["home", `session ${sessionKey(address)}`, `sender ${sender}`]) {
      const before = this.count(key);
      const after = { bytes: before.bytes + bytes, files: before.files + files };
      if (after.bytes <= 0 && after.files <= 0) this.counts.delete(key);
      else this.counts.set(key, after);
    }
  }

  private async read(): Promise<void> {
    const found: StoredFile[] = [];
    for await (const file of this.store.find({})) found.push(file);
    const uploads: ResumableUpload[] = [];
    for await (const { upload } of this.store.parts()) uploads.push(upload);
    this.counts.clear();
    this.uploads.clear();
    const times = [...found, ...uploads].map(({ agedAt = 0 }) => agedAt);
    this.newest = times.reduce((newest, at) => Math.max(newest, at), 0);
    for (const file of found) this.add(file);
    for (const upload of uploads) this.holdUpload(upload);
    for (const { owner, bytes } of this.arriving) this.change(owner, bytes, 1);
  }
}
