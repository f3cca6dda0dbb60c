/** Writes in slices, one in a turn of the event loop, and tells the writers. */
import fs from "node:fs";
import { promisify } from "node:util";
import type { Clock, Log } from "../../../kernel/index.ts";
import type { Address } from "../contract.ts";
import { CommitMetrics } from "../commit-metrics.ts";
import { codes, isOfFile, resultCode, type Connection } from "./driver.ts";
import type { Live } from "./live.ts";
import type { Rows } from "./rows.ts";
import type { StoreState } from "./state.ts";
import { WriteQueue, type Write, type WriteOutcome } from "./write-queue.ts";

interface WriterOptions {
  readonly path: string;
  readonly durability: "process" | "power";
  readonly clock: Clock;
  readonly log: Log;
  readonly connection: Connection;
  readonly rows: Rows;
  readonly state: StoreState;
  /** Runs for each session with new entries, once in a turn. */
  readonly changed: ((address: Address) => void) | undefined;
  /** Something was written, or the file failed. @returns The error for callers. */
  readonly wrote: () => void;
  readonly failed: (error: unknown) => unknown;
}

const fdatasync = promisify(fs.fdatasync);
const pause = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** How long writes are tried again while another program holds a lock, and how often. */
const busyMs = 2_000;
const busyRetryMs = 10;

export class Writer {
  readonly queue = new WriteQueue();
  readonly metrics = new CommitMetrics();
  /** Set while the disk is synced: nothing is committed in that time. */
  syncing: Promise<unknown> | undefined;
  private readonly options: WriterOptions;
  /** Outcomes of writes that are on the disk. */
  private synced = 0;
  /** Since when the next write waits. */
  private waitsSince = 0;
  private isScheduled = false;
  private retrying: unknown;
  private log: number | undefined;

  constructor(options: WriterOptions) {
    this.options = options;
  }

  add(write: Write): void {
    this.options.state.assertOpen();
    if (!this.queue.hasWaiting) this.waitsSince = this.options.clock.monotonic();
    this.queue.add(write);
    this.schedule();
  }

  private schedule(): void {
    if (this.isScheduled || this.options.state.isClosed) return;
    this.isScheduled = true;
    setImmediate(() => this.step());
  }

  /** Writes and tells once in a turn of the event loop, unless the disk is being synced. */
  step(): void {
    this.isScheduled = false;
    const { queue } = this;
    if (this.syncing || this.options.state.isClosed) return;
    if (queue.outcomes.length === 0) this.writeSlice();
    if (this.options.durability === "process") this.synced = queue.outcomes.length;
    else if (this.synced < queue.outcomes.length) return this.syncOutcomes();
    this.tell();
    if (queue.outcomes.length > 0 || (queue.hasWaiting && !this.retrying)) this.schedule();
  }

  private syncOutcomes(): void {
    const { outcomes } = this.queue;
    const count = outcomes.length;
    const told = (): void => {
      this.synced = count;
      this.tell();
    };
    void this.sync().then(told, (error: unknown) => {
      // They may or may not be on the disk, so nothing can follow them.
      const lost = this.options.failed(error);
      this.options.state.lost = lost;
      outcomes.forEach(({ write }, index) => void (outcomes[index] = { write, error: lost }));
      told();
    });
  }

  /** Writes everything, of one session or of all. Its writers learn of it in a later turn. */
  writeNow(only?: Live): void {
    while (!this.syncing && this.writeSlice(only));
  }

  /** @returns False if nothing waits, or if it could not be written. */
  private writeSlice(only?: Live): boolean {
    const { queue } = this;
    const writes = queue.next(only);
    if (writes.length === 0 || this.options.state.isClosed || this.retrying !== undefined)
      return false;
    const failed = new Map<Live, unknown>();
    const startedAt = this.options.clock.monotonic();
    try {
      this.options.state.assertSameFile();
      this.write(writes, failed);
      this.options.state.noteSuccess();
      this.metrics.committed((this.options.clock.monotonic() - startedAt) / 1_000);
    } catch (error) {
      const isBusy = resultCode(error) === codes.busy;
      if (isBusy && startedAt - this.waitsSince < busyMs) return this.retry();
      const failure = this.options.failed(error);
      this.metrics.failed(failure);
      for (const live of queue.lives()) failed.set(live, failure);
    }
    this.waitsSince = startedAt;
    queue.wrote(writes, failed);
    if (failed.size > 0) this.options.rows.reload(failed.keys());
    this.options.wrote();
    this.schedule();
    return failed.size === 0;
  }

  /**
   * Writes all rows in one transaction. If that fails for another reason than the disk
   * or a lock, only the sessions whose rows fail are refused.
   */
  private write(writes: readonly Write[], failed: Map<Live, unknown>): void {
    if (!writes.some(({ run }) => run)) return;
    try {
      return this.options.connection.transaction(() => {
        for (const { run } of writes) run?.();
      });
    } catch (error) {
      if (isOfFile(error)) throw error;
    }
    this.options.rows.reload(
      writes.map(({ live }) => live),
      true,
    );
    this.options.connection.transaction(() => {
      for (const live of new Set(writes.map((write) => write.live))) {
        this.options.connection.exec("SAVEPOINT session");
        try {
          for (const write of writes) if (write.live === live) write.run?.();
        } catch (error) {
          if (isOfFile(error)) throw error;
          this.options.connection.exec("ROLLBACK TO session");
          failed.set(live, this.options.state.refuse(live, error));
        }
        this.options.connection.exec("RELEASE session");
      }
    });
  }

  /** Another program holds a lock. */
  private retry(): false {
    this.retrying ??= this.options.clock.setTimeout(() => {
      this.retrying = undefined;
      this.step();
    }, busyRetryMs);
    return false;
  }

  private tell(): void {
    const outcomes = this.queue.take(this.synced);
    this.synced -= outcomes.length;
    for (const { write, error } of outcomes) {
      try {
        write.done(error);
      } catch (err) {
        this.options.log.error({ err }, "the outcome of a stored message was not delivered");
      }
    }
    this.tellOfChanges(outcomes);
  }

  private tellOfChanges(outcomes: readonly WriteOutcome[]): void {
    const { changed } = this.options;
    if (!changed) return;
    const stored = outcomes.filter(({ write, error }) => write.bytes > 0 && error === undefined);
    const lives = new Set(stored.map(({ write }) => write.live));
    for (const { channel, session } of lives) changed({ channel, session });
  }

  /** Resolves when all present writes have their outcome. */
  async settled(): Promise<void> {
    const { added } = this.queue;
    while (this.queue.told < added && !this.options.state.isClosed && this.retrying === undefined)
      await pause();
  }

  /** Writes the rest, and tells its writers. @returns False if that takes time. */
  settleNow(): boolean {
    while (!this.queue.isEmpty) {
      if (this.syncing || this.options.durability === "power") return false;
      this.writeNow();
      this.synced = this.queue.outcomes.length;
      if (this.synced === 0) return false;
      this.tell();
    }
    return !this.syncing;
  }

  /** Waits for the disk. Nothing is committed in that time. */
  sync(): Promise<void> {
    this.log ??= fs.openSync(`${this.options.path}-wal`, "r+");
    const result = fdatasync(this.log);
    const settled = result.catch(() => undefined);
    this.syncing = settled;
    void settled.then(() => {
      this.syncing = undefined;
      this.schedule();
    });
    return result;
  }

  /** Writes and tells everything. Nothing may be added. */
  async close(): Promise<void> {
    while (!this.queue.isEmpty || this.syncing) {
      if (this.syncing) await this.syncing;
      else this.step();
      if (!this.queue.isEmpty) await pause();
    }
  }

  /** Call it after the database was closed. */
  release(): void {
    if (this.log !== undefined) fs.closeSync(this.log);
  }
}
