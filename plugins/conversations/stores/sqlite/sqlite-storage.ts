// The storage of the main thread: passes requests to the worker and keeps the state for `health`.
import type { Worker } from "node:worker_threads";
import type { Address } from "../../../channels/index.ts";
import { codeOf, type Clock, type Log } from "../../../../kernel/index.ts";
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
import { encodeBatch } from "./pack.ts";
import type { OpenRequest, Stats } from "./protocol.ts";
import { WorkerClient } from "./worker-client.ts";

/** Pause after a batch before the index for search is updated. */
const tidyMs = 250;
/** Pause between two parts of that work, unless batches arrive: those do not wait for it. */
const tidyNextMs = 20;
/** Pause between two attempts to write while the file cannot be written. */
const probeMs = 2_000;
const dayMs = 86_400_000;

const clamp = (value: number, max: number): number =>
  Math.min(max, Math.max(1, Math.floor(value) || 1));

type Options<K extends keyof ConversationHistory> = NonNullable<
  Parameters<ConversationHistory[K]>[K extends "list" ? 0 : 1]
>;

interface SqliteStorageParts {
  readonly open: OpenRequest;
  readonly thread: Worker;
  readonly clock: Clock;
  readonly log: Log;
  /** Releases the lock of the file. */
  readonly release: () => Promise<void>;
}

export class SqliteStorage implements ConversationStorage {
  private readonly parts: SqliteStorageParts;
  private readonly worker: WorkerClient;
  private current: Stats = { bytes: 0, conversations: 0, oldestAt: undefined };
  private since: number;
  private problem: string | undefined;
  private waitingBytes = 0;
  /** Batches since the last work that can wait. */
  private batches = 0;
  private timer: unknown;
  private closing: Promise<void> | undefined;

  constructor(parts: SqliteStorageParts) {
    this.parts = parts;
    this.since = parts.clock.now();
    this.worker = new WorkerClient({
      open: parts.open,
      thread: parts.thread,
      onStats: (stats) => void (this.current = stats),
      onExit: (error) => this.noteFailure(error, "its worker ended"),
    });
  }

  /** Starts the worker, which opens the file. */
  async open(): Promise<void> {
    const { open, log } = this.parts;
    try {
      const { renewed, sqlite } = await this.worker.request("open", open);
      log.debug({ path: open.path, sqlite }, "the conversation store is open");
      if (renewed > 0)
        log.warn(
          { path: open.path, streams: renewed },
          "the conversation store is a copy, or the machine ended without closing it: the last " +
            "moments may be lost, and clients are informed",
        );
      this.schedule(tidyMs);
    } catch (error) {
      await this.worker.stop();
      throw error;
    }
  }

  load(address: Address): Promise<StoredStream | undefined> {
    const { channel, session } = address;
    return this.worker.request("load", { channel, session, now: this.parts.clock.now() });
  }

  async commit(batch: Batch): Promise<void> {
    this.assertOpen();
    const encoded = encodeBatch(batch);
    const bytes = encoded.byteLength;
    this.batches += 1;
    this.waitingBytes += bytes;
    try {
      await this.worker.request("commit", encoded, [encoded.buffer as ArrayBuffer]);
      this.noteSuccess();
      this.schedule(tidyMs);
    } catch (error) {
      this.noteFailure(error, error instanceof Error ? error.message : String(error));
      throw error;
    } finally {
      this.waitingBytes -= bytes;
    }
  }

  list(options: Options<"list"> = {}): Promise<Page<ConversationSummary>> {
    const { before, limit = 50, query } = options;
    return this.worker.request("list", {
      before,
      limit: clamp(limit, 200),
      query: query?.slice(0, 200),
    });
  }

  find({ channel, session }: Address): Promise<ConversationSummary | undefined> {
    return this.worker.request("find", { channel, session });
  }

  get(id: ConversationId): Promise<ConversationSummary> {
    return this.worker.request("get", { id });
  }

  read(id: ConversationId, options: Options<"read"> = {}): Promise<Page<Turn>> {
    const { before, after, limit = 50 } = options;
    return this.worker.request("read", { id, before, after, limit: clamp(limit, 200) });
  }

  search(text: string, options: Options<"search"> = {}): Promise<readonly SearchHit[]> {
    const { limit = 20 } = options;
    return this.worker.request("search", { text: text.slice(0, 200), limit: clamp(limit, 100) });
  }

  rename(id: ConversationId, title: string): Promise<void> {
    return this.worker.request("rename", { id, title });
  }

  async forget(id: ConversationId): Promise<void> {
    await this.get(id);
    await this.worker.request("forget", { ids: [id] });
  }

  export(id: ConversationId, format: "json" | "markdown"): AsyncIterable<string> {
    return exportConversation(this, id, format);
  }

  async retain(
    { keepDays, maxBytes }: { readonly keepDays: number; readonly maxBytes: number },
    isLive: (address: Address) => boolean,
  ): Promise<number> {
    const before = keepDays > 0 ? this.parts.clock.now() - keepDays * dayMs : 0;
    const skip: string[] = [];
    let deleted = 0;
    for (;;) {
      const found = await this.worker.request("expired", { before, maxBytes, skip });
      if (found.length === 0) return deleted;
      const ids = found.filter((one) => !isLive(one)).map(({ id }) => id);
      skip.push(...found.map(({ id }) => id));
      if (ids.length > 0) deleted += await this.worker.request("forget", { ids });
    }
  }

  health(): StoreHealth {
    const { current, since, problem, waitingBytes } = this;
    return {
      kind: "sqlite",
      state: problem === undefined ? "up" : "away",
      since,
      ...(problem !== undefined && { problem }),
      path: this.parts.open.path,
      bytes: current.bytes,
      conversations: current.conversations,
      ...(current.oldestAt !== undefined && { oldestAt: current.oldestAt }),
      waitingBytes,
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
      await this.worker.request("close", undefined);
    } finally {
      await this.worker.stop();
      await this.parts.release();
    }
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
        await this.worker.request("probe", undefined);
        this.noteSuccess();
      }
      const isIdle = this.batches === 0;
      this.batches = 0;
      if (await this.worker.request("tidy", { isIdle }))
        this.schedule(isIdle ? tidyNextMs : tidyMs);
    } catch (error) {
      if (this.closing === undefined)
        this.noteFailure(error, error instanceof Error ? error.message : String(error));
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
