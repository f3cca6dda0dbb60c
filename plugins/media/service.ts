// The service of the plugin: files with their limits, over one store.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { codeOf, type Clock } from "../../kernel/index.ts";
import type { Address, Conversations } from "../conversations/contract.ts";
import { runCheck } from "./check.ts";
import type { MediaConfig } from "./config.ts";
import { examineType, headBytes, isShown } from "./content-type.ts";
import type {
  ArrivedContent,
  ByteRange,
  DownloadOptions,
  FileDetails,
  FileView,
  MediaFiles,
  MediaStore,
  ResumableOptions,
  ResumableResponse,
  ResumableUpload,
  StoredFile,
  UploadOptions,
} from "./contract.ts";
import { sendFile } from "./download.ts";
import { mediaErrors } from "./errors.ts";
import { exportFiles } from "./export.ts";
import { FileClock } from "./file-clock.ts";
import { createFileId } from "./file-id.ts";
import { cleanFilename } from "./filename.ts";
import { readForm } from "./form.ts";
import { Parts } from "./parts.ts";
import { isResumable, resumableFeatures, serveResumable } from "./resumable.ts";
import { readDetails, readUpload, UploadSlots } from "./upload.ts";
import { application, Usage } from "./usage.ts";

interface MediaServiceOptions {
  readonly store: MediaStore;
  readonly clock: Clock;
  readonly random: (bytes: number) => Uint8Array;
  readonly config: () => MediaConfig;
  readonly conversations: Pick<Conversations, "find" | "steadyTime"> | undefined;
  /** Name of this node. */
  readonly node: () => string;
  /** `PATH` of the command that checks new files. */
  readonly searchPath: string;
}

const MiB = 1024 * 1024;

/** The first bytes, to recognise their type. */
async function readHead(content: ArrivedContent): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of content.open() as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size >= headBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, headBytes);
}

/** An upload is not tried again after them. */
const finalCodes: ReadonlySet<string> = new Set(["checksum_mismatch", "file_rejected"]);

export class MediaService implements MediaFiles {
  readonly usage: Usage;
  readonly fileClock: FileClock;
  private readonly options: MediaServiceOptions;
  readonly parts: Parts;
  private readonly slots = new UploadSlots();

  constructor(options: MediaServiceOptions) {
    this.options = options;
    this.usage = new Usage(options.store, options.config);
    this.fileClock = new FileClock({ ...options, usage: this.usage });
    const { usage, fileClock } = this;
    const finish = (upload: ResumableUpload) => this.finishUpload(upload);
    this.parts = new Parts({ ...options, usage, fileClock, finish });
  }

  put(
    address: Address,
    bytes: AsyncIterable<Uint8Array>,
    details: FileDetails = {},
  ): Promise<StoredFile> {
    return this.store(address, bytes, details, () => true);
  }

  async get(id: string): Promise<StoredFile | undefined> {
    for await (const file of this.options.store.find({ id })) return file;
    return undefined;
  }

  async list({ channel, session }: Address): Promise<readonly StoredFile[]> {
    const files: StoredFile[] = [];
    for await (const file of this.options.store.find({ channel, session })) files.push(file);
    return files.toSorted((one, other) => one.at - other.at);
  }

  async use(address: Address, id: string): Promise<StoredFile> {
    const { channel, session } = address;
    const file = await this.require(id);
    if (file.channel !== channel || file.session !== session) throw mediaErrors.unknown_media();
    const used = { ...file, ...(await this.useNow(address)) };
    await this.options.store.link(used);
    return used;
  }

  async share({ channel, session }: Address, id: string): Promise<StoredFile> {
    const file = await this.require(id);
    if (file.channel === channel && file.session === session)
      return this.use({ channel, session }, id);
    await this.usage.load();
    const { random, store } = this.options;
    const address = { channel, session };
    const used = await this.useNow(address);
    const { conversation: _, ...content } = file;
    const shared: StoredFile = {
      ...content,
      ...address,
      id: createFileId(address, random),
      sender: application,
      at: used.usedAt,
      ...used,
    };
    const reserved = this.usage.reserve({ address, sender: application }, file.size);
    try {
      await store.link(shared);
    } finally {
      reserved.release();
    }
    this.usage.add(shared);
    return shared;
  }

  async remove({ id, channel, session }: StoredFile): Promise<void> {
    const options = { address: { channel, session }, before: 0 };
    await this.usage.sweep((file) => file.id !== id, options);
  }

  async open(id: string, range?: ByteRange): Promise<Readable> {
    return this.options.store.open(await this.require(id), range);
  }

  path(file: StoredFile): string | undefined {
    return this.options.store.path?.(file);
  }

  async receive(
    request: IncomingMessage,
    { address, sender, key, isCurrent, isForm = false }: UploadOptions,
  ): Promise<StoredFile> {
    const given = isForm ? {} : readDetails(request);
    const release = this.slots.take(key);
    try {
      const body = readUpload(request, this.options.clock);
      const form = isForm ? await readForm(request.headers, body) : undefined;
      const details = { ...given, ...form?.details, sender };
      return await this.store(address, form?.bytes ?? body, details, isCurrent);
    } finally {
      release();
    }
  }

  isResumable(request: IncomingMessage): boolean {
    return isResumable(request);
  }

  resumableHeaders(): Readonly<Record<string, string>> {
    return resumableFeatures(this.maxFileBytes());
  }

  resume(request: IncomingMessage, options: ResumableOptions): Promise<ResumableResponse> {
    const { slots, parts } = this;
    const find = (id: string) => this.get(id);
    return serveResumable(request, options, { slots, parts, clock: this.options.clock, find });
  }

  send(
    file: StoredFile,
    request: IncomingMessage,
    response: ServerResponse,
    options: DownloadOptions,
  ): Promise<void> {
    return sendFile(this.options.store, file, { request, response }, options);
  }

  async *exportWith(document: AsyncIterable<string>, address: Address): AsyncIterable<string> {
    const used = (await this.list(address)).filter(({ usedAt }) => usedAt !== undefined);
    yield* exportFiles(document, used, (id) => this.open(id));
  }

  view(file: StoredFile, url: string): FileView {
    const { id, size, sha256, contentType, filename, inline } = file;
    const content = { size, sha256, content_type: contentType };
    return { id, url, ...content, filename, inline: isShown(inline) };
  }

  maxFileBytes(): number {
    return this.options.config().max_file_mb * MiB;
  }

  /** The fields of a file that a message uses now. */
  private async useNow(
    address: Address,
  ): Promise<Pick<StoredFile, "agedAt" | "conversation"> & { readonly usedAt: number }> {
    const { clock, conversations } = this.options;
    // The first message has no conversation yet, and a store that fails logs why: `Upkeep` follows.
    const found = await conversations?.find(address).catch(() => undefined);
    const times = { usedAt: clock.now(), agedAt: await this.fileClock.read() };
    return found ? { ...times, conversation: found.id } : times;
  }

  private async require(id: string): Promise<StoredFile> {
    const file = await this.get(id);
    if (file) return file;
    throw mediaErrors.unknown_media();
  }

  /** Counts the bytes against the limits while they arrive. */
  private async store(
    { channel, session }: Address,
    bytes: AsyncIterable<Uint8Array>,
    details: FileDetails,
    isCurrent: () => boolean,
  ): Promise<StoredFile> {
    await this.usage.load();
    const { sender = application, size = 0 } = details;
    const address = { channel, session };
    const reserved = this.usage.reserve({ address, sender }, size);
    async function* counted(): AsyncIterable<Uint8Array> {
      for await (const chunk of bytes) {
        reserved.grow(chunk.byteLength);
        yield chunk;
      }
    }
    const { store, random } = this.options;
    const id = createFileId(address, random);
    try {
      await store.begin(id);
      await store.append(id, 0, counted());
      const file = await store.finish(id, async (content) => {
        await this.check(content, details);
        if (!isCurrent()) throw mediaErrors.upload_unauthorized();
        return this.describe({ ...address, id }, content, details);
      });
      this.usage.add(file);
      return file;
    } catch (error) {
      await store.discard(id);
      throw error;
    } finally {
      reserved.release();
    }
  }

  private async finishUpload(upload: ResumableUpload): Promise<StoredFile> {
    const { store } = this.options;
    const { id, channel, session } = upload;
    try {
      const file = await store.finish(id, async (content) => {
        await this.check(content, upload);
        return this.describe({ channel, session, id }, content, upload);
      });
      this.usage.add(file);
      return file;
    } catch (error) {
      if (finalCodes.has(codeOf(error))) await this.parts.drop(id);
      throw error;
    }
  }

  private async check(
    content: ArrivedContent,
    { sha256 = content.sha256 }: Pick<FileDetails, "sha256">,
  ): Promise<void> {
    if (sha256 !== content.sha256) throw mediaErrors.checksum_mismatch();
    const { config, clock, searchPath } = this.options;
    const { check } = config();
    if (check.length > 0) await runCheck(check, content, { clock, searchPath });
  }

  private async describe(
    place: Address & { readonly id: string },
    content: ArrivedContent,
    { contentType: declared, filename: given, sender = application }: FileDetails,
  ): Promise<StoredFile> {
    const filename = cleanFilename(given);
    return {
      ...place,
      sha256: content.sha256,
      size: content.size,
      filename,
      ...examineType(await readHead(content), declared, filename),
      sender,
      at: this.options.clock.now(),
      // The application stores a file to send it.
      ...(sender === application
        ? await this.useNow(place)
        : { agedAt: await this.fileClock.read() }),
    };
  }
}
