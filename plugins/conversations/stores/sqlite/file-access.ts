// Opens the database file at the first request, and ends the worker after a minute without use.
import type { Worker } from "node:worker_threads";
import type { Clock, Log } from "../../../../kernel/index.ts";
import { BatchLog } from "./batch-log.ts";
import { removeCloseRecord, writeCloseRecord } from "./close-record.ts";
import { LogWriter } from "./log-writer.ts";
import type { OpenRequest, RequestName, Requests, Stats } from "./protocol.ts";
import { WorkerClient } from "./worker-client.ts";

/** Time without a request after which the worker ends. It needs 12 MiB, and 40 ms to start. */
const quietMs = 60_000;
/** The same after a start that needed the worker only to check the file. */
const quietAtStartMs = 1_000;

export interface FileAccessOptions {
  readonly open: OpenRequest;
  /** The first worker, if it was started already. */
  readonly thread: Worker | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** State of a file that is not open yet. */
  readonly stats: Stats;
  readonly opened: () => void;
  /** Runs after each stored batch. @param isFull - A MiB of batches waits for the worker. */
  readonly stored: (isFull: boolean) => void;
  readonly failed: (error: unknown, problem?: string) => void;
}

export class FileAccess {
  /** Undefined until the file is open. */
  writer: LogWriter | undefined;
  stats: Stats;
  private readonly options: FileAccessOptions;
  private readonly worker: WorkerClient;
  /** Identifies the database in the log, from the first time it was opened. */
  private key: string | undefined;
  private opening: Promise<void> | undefined;
  private isUsed = false;
  private hasWork = true;
  private timer: unknown;

  constructor(options: FileAccessOptions) {
    const { open, thread, failed, stats } = options;
    this.options = options;
    this.stats = stats;
    this.worker = new WorkerClient({
      path: open.path,
      thread,
      toOpen: () => ({ ...open, key: this.key }),
      onStats: (found) => void (this.stats = found),
      onWritten: (number) => this.writer?.log.release(number),
      onExit: (error) => failed(error, "its worker ended"),
    });
  }

  /** False while nothing but the log can have changed since the last answer of the worker. */
  get isRunning(): boolean {
    return this.worker.isRunning;
  }

  /** Opens the file, unless it is open. */
  open(): Promise<void> {
    this.opening ??= this.openFile().catch((error: unknown) => {
      this.opening = undefined;
      throw error;
    });
    return this.opening;
  }

  /** The worker answers with all batches that were stored before. */
  async ask<K extends RequestName>(
    name: K,
    given: Requests[K]["given"],
  ): Promise<Requests[K]["result"]> {
    if (this.writer === undefined) {
      await this.open().catch((error: unknown) => {
        this.options.failed(error);
        throw error;
      });
    }
    this.isUsed = true;
    this.pass();
    return this.request(name, given);
  }

  /** Does a part of the work that can wait. @returns True if more is left. */
  async tidy(isIdle: boolean): Promise<boolean> {
    this.pass();
    this.hasWork = await this.request("tidy", { isIdle });
    return this.hasWork;
  }

  /** Passes the stored batches to the worker. If it has ended, the next one reads the log. */
  pass(): void {
    const records = this.writer?.takeUnpassed();
    if (!records) return;
    this.request("append", records, [records.buffer as ArrayBuffer]).catch((error: unknown) =>
      this.options.failed(error),
    );
  }

  /** Stores everything. A file that was never opened stays as it is. */
  async close(): Promise<void> {
    await this.opening?.catch(() => undefined);
    const log = this.writer?.log;
    this.options.clock.clearTimeout(this.timer);
    try {
      if (!log) return;
      if (log.waitingBytes > 0) await log.sync();
      this.pass();
      await this.worker.request("close", undefined);
    } finally {
      await this.worker.stop();
      log?.close();
    }
    // Without the record, the next start opens the file.
    if (log.waitingBytes === 0)
      await writeCloseRecord(this.options.open.path, this.stats).catch(() => undefined);
  }

  /** Ends the worker after an attempt to open the file has failed. */
  async abandon(): Promise<void> {
    await this.worker.stop();
  }

  private async openFile(): Promise<void> {
    const { open, log, opened, stored } = this.options;
    const { path, durability } = open;
    this.startTimer(quietAtStartMs);
    this.worker.start();
    removeCloseRecord(path);
    const { renewed, sqlite, key, last, hasOthers } = await this.worker.request("open", open);
    const batchLog = new BatchLog({ path, durability, key, last });
    this.key = key;
    this.writer = new LogWriter({ path, log: batchLog, stored });
    log.debug({ path, sqlite }, "the conversation store is open");
    if (hasOthers)
      log.warn({ path }, "the log of the conversation store follows another copy; it is not used");
    if (renewed > 0)
      log.warn(
        { path, streams: renewed },
        "the conversation store is a copy, or the machine ended without closing it: the last " +
          "moments may be lost, and clients are informed",
      );
    opened();
  }

  private request<K extends RequestName>(
    name: K,
    given: Requests[K]["given"],
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<Requests[K]["result"]> {
    this.startTimer(quietMs);
    return this.worker.request(name, given, transfer);
  }

  private startTimer(ms: number): void {
    this.timer ??= this.options.clock.setTimeout(() => {
      this.timer = undefined;
      void this.rest();
    }, ms);
  }

  /** Ends the worker, unless it was used since the last time or has work left. */
  private async rest(): Promise<void> {
    const { worker, writer } = this;
    if (!worker.isRunning) return;
    const isQuiet =
      !this.isUsed && !this.hasWork && worker.isIdle && writer?.log.waitingBytes === 0;
    this.isUsed = false;
    try {
      if (isQuiet && (await worker.request("rest", undefined)) && worker.isIdle)
        return await worker.end();
    } catch {
      // The request that needs the worker next reports the error.
    }
    if (worker.isRunning) this.startTimer(quietMs);
  }
}
