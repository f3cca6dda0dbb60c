// The storage of the main thread: stores batches in the log, passes requests to the worker, and
// keeps the state for `health`.
import type { Address } from "../../../channels/index.ts";
import { codeOf, type Awaitable } from "../../../../kernel/index.ts";
import type {
  ConversationHistory,
  ConversationId,
  ConversationSummary,
  Page,
  SearchHit,
  StoreHealth,
  Turn,
} from "../../service.ts";
import type { Batch, ConversationStorage, StoredStream } from "../storage.ts";
import { exportConversation } from "./document.ts";
import { storeErrors } from "./errors.ts";
import { FileAccess, type FileAccessOptions } from "./file-access.ts";
import type { Stats } from "./protocol.ts";

/** Pause after a batch before the index for search is updated. */
const tidyMs = 250;
/** Pause between two parts of that work, unless batches arrive: those do not wait for it. */
const tidyNextMs = 20;
/** Pause between two attempts to write while the file cannot be written. */
const probeMs = 2_000;
const dayMs = 86_400_000;
/** Size at which batches wait for the rows of earlier ones: about 70,000 messages. */
const maxBacklogBytes = 64 * 1024 * 1024;

const clamp = (value: number, max: number): number =>
  Math.min(max, Math.max(1, Math.floor(value) || 1));

const describe = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

type Options<K extends keyof ConversationHistory> = NonNullable<
  Parameters<ConversationHistory[K]>[K extends "list" ? 0 : 1]
>;

interface SqliteStorageParts extends Pick<FileAccessOptions, "open" | "clock" | "log" | "thread"> {
  /** State of a file that the first request opens; undefined if the start opens it. */
  readonly closed: Stats | undefined;
  /** Releases the lock of the file. */
  readonly release: () => Promise<void>;
}

const noStats: Stats = { bytes: 0, conversations: 0, oldestAt: undefined, usedAt: undefined };

export class SqliteStorage implements ConversationStorage {
  private readonly parts: SqliteStorageParts;
  private readonly file: FileAccess;
  private since: number;
  private problem: string | undefined;
  /** Batches since the last work that can wait. */
  private batches = 0;
  private timer: unknown;
  private closing: Promise<void> | undefined;

  constructor(parts: SqliteStorageParts) {
    this.parts = parts;
    this.since = parts.clock.now();
    this.file = new FileAccess({
      ...parts,
      stats: parts.closed ?? noStats,
      opened: () => this.schedule(tidyMs),
      stored: (isFull) => this.noteStored(isFull),
      failed: (error, problem) => {
        if (this.closing === undefined) this.noteFailure(error, problem ?? describe(error));
      },
    });
  }

  /** Opens the file, unless it is known to be in order. */
  async open(): Promise<void> {
    if (this.parts.closed) return;
    try {
      await this.file.open();
    } catch (error) {
      await this.file.abandon();
      throw error;
    }
  }

  async load({ channel, session }: Address): Promise<StoredStream | undefined> {
    const stored = await this.file.ask("load", { channel, session, now: this.parts.clock.now() });
    this.file.writer!.heads.set({ channel, session }, stored?.seq ?? 0);
    return stored;
  }

  /** Needs no time unless something has failed, the disk is waited for or too many rows wait. */
  commit(batch: Batch): Awaitable<void> {
    const { writer } = this.file;
    if (this.closing !== undefined || this.problem !== undefined || !writer)
      return this.retry(batch);
    try {
      const stored = writer.write(batch);
      return stored?.catch((error: unknown) => this.fail(error)) ?? this.limitBacklog();
    } catch (error) {
      return this.fail(error);
    }
  }

  list(options: Options<"list"> = {}): Promise<Page<ConversationSummary>> {
    const { before, limit = 50, query } = options;
    return this.file.ask("list", {
      before,
      limit: clamp(limit, 200),
      query: query?.slice(0, 200),
    });
  }

  find({ channel, session }: Address): Promise<ConversationSummary | undefined> {
    return this.file.ask("find", { channel, session });
  }

  get(id: ConversationId): Promise<ConversationSummary> {
    return this.file.ask("get", { id });
  }

  read(id: ConversationId, options: Options<"read"> = {}): Promise<Page<Turn>> {
    const { before, after, limit = 50 } = options;
    return this.file.ask("read", { id, before, after, limit: clamp(limit, 200) });
  }

  search(text: string, options: Options<"search"> = {}): Promise<readonly SearchHit[]> {
    const { limit = 20 } = options;
    return this.file.ask("search", { text: text.slice(0, 200), limit: clamp(limit, 100) });
  }

  rename(id: ConversationId, title: string): Promise<void> {
    return this.file.ask("rename", { id, title });
  }

  async forget(id: ConversationId): Promise<void> {
    const conversation = await this.get(id);
    await this.delete([conversation]);
  }

  export(id: ConversationId, format: "json" | "markdown"): AsyncIterable<string> {
    return exportConversation(this, id, format);
  }

  async retain(
    { keepDays, maxBytes }: { readonly keepDays: number; readonly maxBytes: number },
    isLive: (address: Address) => boolean,
  ): Promise<number> {
    const before = keepDays > 0 ? this.parts.clock.now() - keepDays * dayMs : 0;
    const { bytes, usedAt = before } = this.file.stats;
    // No worker is started for nothing.
    if (!this.file.isRunning && usedAt >= before && bytes <= maxBytes) return 0;
    const skip: string[] = [];
    let deleted = 0;
    for (;;) {
      const found = await this.file.ask("expired", { before, maxBytes, skip });
      if (found.length === 0) return deleted;
      const idle = found.filter((one) => !isLive(one));
      skip.push(...found.map(({ id }) => id));
      if (idle.length > 0) deleted += await this.delete(idle);
    }
  }

  health(): StoreHealth {
    const { since, problem } = this;
    const current = this.file.stats;
    return {
      kind: "sqlite",
      state: problem === undefined ? "up" : "away",
      since,
      ...(problem !== undefined && { problem }),
      path: this.parts.open.path,
      bytes: current.bytes,
      conversations: current.conversations,
      ...(current.oldestAt !== undefined && { oldestAt: current.oldestAt }),
      waitingBytes: this.file.writer?.waitingBytes ?? 0,
      searches: true,
    };
  }

  close(): Promise<void> {
    this.closing ??= this.shutDown();
    return this.closing;
  }

  private async shutDown(): Promise<void> {
    this.parts.clock.clearTimeout(this.timer);
    try {
      await this.file.close();
    } finally {
      await this.parts.release();
    }
  }

  /** Stores a batch after a failure, if the rows of the earlier ones can be written. */
  private async retry(batch: Batch): Promise<void> {
    this.assertOpen();
    try {
      await this.file.ask("probe", undefined);
      await this.file.writer!.write(batch);
    } catch (error) {
      return this.fail(error);
    }
    this.noteSuccess();
  }

  private fail(error: unknown): Promise<never> {
    this.noteFailure(error, describe(error));
    return Promise.reject(error as Error);
  }

  private noteStored(isFull: boolean): void {
    this.batches += 1;
    if (isFull) this.file.pass();
    this.schedule(tidyMs);
  }

  /** The batch is stored. If rows cannot be written, the next batch reports the error. */
  private limitBacklog(): Promise<void> | undefined {
    if (this.file.writer!.log.waitingBytes <= maxBacklogBytes) return undefined;
    return this.file
      .ask("write", { all: false })
      .catch((error: unknown) => this.noteFailure(error, describe(error)));
  }

  /** Deletes conversations, and their text in the log. */
  private async delete(conversations: readonly (Address & { readonly id: string })[]) {
    const { log, heads } = this.file.writer!;
    log.rotate();
    const count = await this.file.ask("forget", { ids: conversations.map(({ id }) => id) });
    for (const conversation of conversations) heads.delete(conversation);
    if (log.hasWritten()) {
      log.rotate();
      // On a full disk, the text stays in the log until there is room.
      await this.file.ask("write", { all: true }).catch(() => undefined);
    }
    return count;
  }

  private assertOpen(): void {
    if (this.closing !== undefined)
      throw storeErrors.store_unavailable(this.parts.open.path, "it is closed");
  }

  /** Runs the work that can wait, or while the file cannot be written, an attempt to write. */
  private schedule(ms: number): void {
    if (this.timer !== undefined || this.closing !== undefined) return;
    this.timer = this.parts.clock.setTimeout(() => {
      this.timer = undefined;
      void this.tidy();
    }, ms);
  }

  private async tidy(): Promise<void> {
    try {
      if (this.problem !== undefined) {
        await this.file.ask("probe", undefined);
        this.noteSuccess();
      }
      const isIdle = this.batches === 0;
      this.batches = 0;
      if (await this.file.tidy(isIdle)) this.schedule(isIdle ? tidyNextMs : tidyMs);
    } catch (error) {
      if (this.closing === undefined) this.noteFailure(error, describe(error));
    }
  }

  private noteSuccess(): void {
    if (this.problem === undefined) return;
    this.problem = undefined;
    this.since = this.parts.clock.now();
    this.parts.log.info(
      { path: this.parts.open.path },
      "the conversation store is available again",
    );
  }

  private noteFailure(error: unknown, problem: string): void {
    if (this.problem === undefined) {
      this.since = this.parts.clock.now();
      const level = codeOf(error) === "internal" ? "error" : "warn";
      this.parts.log[level]({ err: error, path: this.parts.open.path }, problem);
    }
    this.problem = problem;
    this.schedule(probeMs);
  }
}
