// Uploads that arrive in several requests. The size on the disk is how far one is, and one request
// at a time writes it.
import type { Clock } from "../../kernel/index.ts";
import { BoundedMap, createGate } from "../../lib/util.ts";
import type { Address } from "../conversations/contract.ts";
import type { MediaStore, ResumableUpload, StoredFile, StoredPart } from "./contract.ts";
import { mediaErrors } from "./errors.ts";
import type { FileClock } from "./file-clock.ts";
import { createFileId } from "./file-id.ts";
import type { Usage } from "./usage.ts";

/** A request whose bytes stay away for so long gives way to the next one: its connection may be
 *  dead without a sign of it. */
const quietMs = 5_000;
const dayMs = 86_400_000;
/** More uploads than may be unfinished. */
const maxSeen = 4_096;

interface PartsOptions {
  readonly store: MediaStore;
  readonly usage: Usage;
  readonly fileClock: FileClock;
  readonly clock: Clock;
  readonly random: (bytes: number) => Uint8Array;
  /** Name of this node. */
  readonly node: () => string;
  /** Makes a complete upload a file. */
  readonly finish: (upload: ResumableUpload) => Promise<StoredFile>;
}

interface Writer {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
  /** Monotonic time of the latest bytes. */
  lastAt: number;
}

/** Bytes for an upload. */
interface Append {
  /** Where the client continues. */
  readonly offset: number;
  /** Reads the bytes. Ends with the reason of the signal. */
  readonly read: (stop: AbortSignal) => AsyncIterable<Uint8Array>;
  readonly isCurrent: () => boolean;
}

export class Parts {
  private readonly options: PartsOptions;
  private readonly writers = new Map<string, Writer>();
  /** Upload -> monotonic time of the sweep that has seen it last. */
  private readonly seenAt = new BoundedMap<string, number>(maxSeen);

  constructor(options: PartsOptions) {
    this.options = options;
  }

  /** Reserves the whole length. */
  async begin(
    { channel, session }: Address,
    details: Pick<ResumableUpload, "size" | "sender" | "contentType" | "filename" | "sha256">,
  ): Promise<ResumableUpload> {
    const { store, usage, fileClock, random, node } = this.options;
    await usage.load();
    const address = { channel, session };
    const agedAt = await fileClock.read();
    const id = createFileId(address, random);
    const upload = { ...address, ...details, id, node: node(), agedAt, ranMs: 0 };
    usage.addUpload(upload);
    try {
      await store.begin(id, upload);
    } catch (error) {
      usage.forgetUpload(id);
      throw error;
    }
    return upload;
  }

  /** @returns The upload, if it began at this node. */
  async find(id: string): Promise<StoredPart | undefined> {
    for await (const part of this.options.store.parts(id))
      if (part.upload.node === this.options.node()) return part;
    return undefined;
  }

  /**
   * Stores bytes, and the file after the last one.
   *
   * @returns The bytes that are stored.
   * @throws upload_conflict, upload_locked, unknown_media if it was deleted in the meantime
   */
  async append(upload: ResumableUpload, { offset, read, isCurrent }: Append): Promise<number> {
    const { id, size } = upload;
    await this.giveWay(id);
    if (this.writers.has(id)) throw mediaErrors.upload_locked();
    const stop = new AbortController();
    const gate = createGate();
    const ended = gate.opened;
    const writer: Writer = { stop, ended, lastAt: this.options.clock.monotonic() };
    this.writers.set(id, writer);
    try {
      const found = await this.find(id);
      if (!found) throw mediaErrors.unknown_media();
      if (found.offset !== offset) throw mediaErrors.upload_conflict(found.offset);
      const bytes = this.limited(read(stop.signal), size - offset, writer, isCurrent);
      await this.options.store.append(id, offset, bytes);
      const after = (await this.find(id))?.offset;
      if (after === undefined || stop.signal.aborted) throw mediaErrors.unknown_media();
      if (after === size) await this.finish(upload, isCurrent);
      return after;
    } finally {
      this.writers.delete(id);
      gate.open();
    }
  }

  /** Deletes an upload, also while bytes of it arrive. */
  async discard(id: string): Promise<void> {
    const writer = this.writers.get(id);
    writer?.stop.abort(mediaErrors.unknown_media());
    await this.drop(id);
    await writer?.ended;
  }

  /** Deletes an upload that is complete. */
  async drop(id: string): Promise<void> {
    await this.options.store.discard(id);
    this.options.usage.forgetUpload(id);
  }

  /** Deletes the uploads of a session that began until this time. */
  async deleteOf({ channel, session }: Address, until: number): Promise<void> {
    for await (const { upload } of this.options.store.parts())
      if (upload.channel === channel && upload.session === session && upload.agedAt <= until)
        await this.discard(upload.id);
  }

  /**
   * Deletes what has been unfinished for a day in which this node was running, and what nodes that
   * no longer run have left. Called once an hour.
   *
   * @param longAgo - On the clock by which files are deleted.
   */
  async sweep(longAgo: number): Promise<void> {
    const { store, clock, node } = this.options;
    const now = clock.monotonic();
    for await (const { upload } of store.parts()) {
      const { id, ranMs } = upload;
      const seenAt = this.seenAt.get(id) ?? now;
      this.seenAt.set(id, now);
      const ran = ranMs + now - seenAt;
      const isOver = upload.node === node() ? ran >= dayMs : upload.agedAt < longAgo;
      if (isOver) await this.discard(id);
      else if (ran > ranMs && upload.node === node()) await store.renew({ ...upload, ranMs: ran });
    }
  }

  private async finish(upload: ResumableUpload, isCurrent: () => boolean): Promise<void> {
    if (!isCurrent()) throw mediaErrors.upload_unauthorized();
    await this.options.finish(upload);
    this.options.usage.forgetUpload(upload.id);
  }

  /** Ends a request from which nothing came for a while. */
  private async giveWay(id: string): Promise<void> {
    const writer = this.writers.get(id);
    if (!writer || this.options.clock.monotonic() - writer.lastAt < quietMs) return;
    writer.stop.abort(mediaErrors.upload_locked());
    await writer.ended;
  }

  private async *limited(
    bytes: AsyncIterable<Uint8Array>,
    room: number,
    writer: Writer,
    isCurrent: () => boolean,
  ): AsyncIterable<Uint8Array> {
    let left = room;
    for await (const chunk of bytes) {
      if (!isCurrent()) throw mediaErrors.upload_unauthorized();
      if (chunk.byteLength > left)
        throw mediaErrors.upload_invalid("Content-Length", `at most ${room}, the bytes that miss`);
      left -= chunk.byteLength;
      writer.lastAt = this.options.clock.monotonic();
      yield chunk;
    }
  }
}
