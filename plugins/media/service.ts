// The service of the plugin: files with their limits, over one store.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import type { Clock } from "../../kernel/index.ts";
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
import { readDetails, readUpload, UploadSlots } from "./upload.ts";
import { application, Usage } from "./usage.ts";

interface MediaServiceOptions {
  readonly store: MediaStore;
  readonly clock: Clock;
  readonly random: (bytes: number) => Uint8Array;
  readonly config: () => MediaConfig;
  readonly conversations: Pick<Conversations, "find" | "steadyTime"> | undefined;
  /** `PATH` of the command that checks new files. */
  readonly searchPath: string;
}

const MiB = 1024 * 1024;

/** Keeps the first bytes that pass, to recognise their type. */
class Head {
  private readonly parts: Uint8Array[] = [];
  private length = 0;

  add(chunk: Uint8Array): void {
    if (this.length >= headBytes) return;
    // A copy: the chunk may be a part of a larger buffer that is used again.
    const part = Buffer.from(chunk.subarray(0, headBytes - this.length));
    this.parts.push(part);
    this.length += part.length;
  }

  bytes(): Uint8Array {
    return Buffer.concat(this.parts);
  }
}

export class MediaService implements MediaFiles {
  readonly usage: Usage;
  readonly fileClock: FileClock;
  private readonly options: MediaServiceOptions;
  private readonly slots = new UploadSlots();

  constructor(options: MediaServiceOptions) {
    this.options = options;
    this.usage = new Usage(options.store, options.config);
    this.fileClock = new FileClock({ ...options, usage: this.usage });
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
    const head = new Head();
    async function* counted(): AsyncIterable<Uint8Array> {
      for await (const chunk of bytes) {
        reserved.grow(chunk.byteLength);
        head.add(chunk);
        yield chunk;
      }
    }
    try {
      const file = await this.options.store.put(counted(), async (content) => {
        await this.check(content, details, isCurrent);
        const described = this.describe(address, content, details, head.bytes());
        // The application stores a file to send it.
        return sender === application
          ? { ...described, ...(await this.useNow(address)) }
          : { ...described, agedAt: await this.fileClock.read() };
      });
      this.usage.add(file);
      return file;
    } finally {
      reserved.release();
    }
  }

  private async check(
    content: ArrivedContent,
    { sha256 = content.sha256 }: FileDetails,
    isCurrent: () => boolean,
  ): Promise<void> {
    if (sha256 !== content.sha256) throw mediaErrors.checksum_mismatch();
    const { config, clock, searchPath } = this.options;
    const { check } = config();
    if (check.length > 0) await runCheck(check, content, { clock, searchPath });
    if (!isCurrent()) throw mediaErrors.upload_unauthorized();
  }

  private describe(
    address: Address,
    { sha256, size }: ArrivedContent,
    { contentType: declared, filename: given, sender = application }: FileDetails,
    head: Uint8Array,
  ): StoredFile {
    const { clock, random } = this.options;
    const filename = cleanFilename(given);
    return {
      ...address,
      id: createFileId(address, random),
      sha256,
      size,
      filename,
      ...examineType(head, declared, filename),
      sender,
      at: clock.now(),
    };
  }
}
