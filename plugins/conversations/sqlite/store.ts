/**
 * Conversations in one SQLite file, on the main thread: one transaction per turn of the event loop,
 * with a limited number of writes. A read writes what it needs, and tells no writer.
 * Read it from top to bottom; `schema.ts` describes the tables.
 */
import type { Clock, Log } from "../../../kernel/index.ts";
import { keyOf } from "../../../lib/util.ts";
import type { Address, StoredEnd, StoredQuestion } from "../contract.ts";
import type { CommitMetrics } from "../commit-metrics.ts";
import type { StoredStream, StreamPositions } from "../log/stream.ts";
import type { StoreHealth, TakenId } from "../contract.ts";
import { deletedMs } from "./deleted-ids.ts";
import { codes, resultCode, type Connection } from "./driver.ts";
import { storeErrors } from "./errors.ts";
import { History } from "./history.ts";
import type { Growth, Live, NewEntry, Taken } from "./live.ts";
import { setMeta } from "./recovery.ts";
import { Rows, type StoreLimits } from "./rows.ts";
import { Retention, type RetainedSessions } from "./retention.ts";
import { StoreState } from "./state.ts";
import { Upkeep } from "./upkeep.ts";
import type { Outcome, Write } from "./write-queue.ts";
import { Writer } from "./writer.ts";

export type { NewEntry } from "./live.ts";

export interface SqliteStoreOptions {
  readonly path: string;
  readonly durability: "process" | "power";
  readonly clock: Clock;
  readonly log: Log;
  readonly random: (bytes: number) => Uint8Array;
  /** Runs after each batch with the sessions that have new entries. */
  readonly changed?: ((address: Address) => void) | undefined;
  /** True if the file was there and empty. */
  readonly wasEmpty?: boolean;
  /** Reads the limits of the store. @defaultValue none */
  readonly limits?: (() => StoreLimits) | undefined;
  /** Runs when the store is larger than its limit by a tenth, and for each message that it then
   *  rejects. */
  readonly overfull?: ((isRejected: boolean) => void) | undefined;
}

const pause = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** Writes and bytes that may wait. */
const maxWaiting = 10_000;
const maxWaitingBytes = 16 * 1024 * 1024;
/** Pause before a change is tried again while another program holds a lock. */
const busyRetryMs = 10;
/** Pause before summaries and the index are brought up to date, and between two steps of that. */
const tidyMs = 250;
const tidyNextMs = 10;
/** How long a search waits for the index. */
const searchMs = 20;
/** Pause between two attempts to write while the file cannot be written. */
const probeMs = 2_000;
/** How often the text of a message that grows is stored. */
const growthMs = 5_000;
/** Size at which retention runs immediately, and then new messages are rejected. */
const overfullRatio = 1.1;

export class SqliteStore {
  readonly history: History;
  private readonly options: SqliteStoreOptions;
  private readonly connection: Connection;
  private readonly upkeep: Upkeep;
  readonly rows: Rows;
  private readonly state: StoreState;
  /** The messages of persons that wait, whose rows may record their acceptance, too. */
  private readonly waitingTurns = new Map<string, { taken: Taken | undefined }>();
  /** Messages whose answers have not ended. Those of earlier processes are lost. */
  private readonly running = new Set<string>();
  private readonly writer: Writer;
  private readonly timers: { tidy?: unknown; growth?: unknown; expiry?: unknown } = {};
  private savedAt = -Infinity;
  private isOverfull = false;
  /** Deleted conversations of which something is left in the file. */
  private removing = 0;
  private isCatchingUp = false;

  /** @param connection - An open database whose schema and state were checked. */
  constructor(connection: Connection, options: SqliteStoreOptions) {
    const { path, durability, clock, log, changed } = options;
    this.options = options;
    this.connection = connection;
    this.history = new History(
      connection,
      () => this.beforeReading(),
      ({ channel, session }, request) => this.running.has(keyOf(channel, session, request)),
    );
    this.upkeep = new Upkeep(connection, () => clock.monotonic());
    this.state = new StoreState(options);
    const { history, upkeep } = this;
    this.rows = new Rows(connection, { ...options, history, indexed: upkeep.indexed });
    this.writer = new Writer({
      ...{ path, durability, clock, log, connection, changed },
      ...{ rows: this.rows, state: this.state },
      wrote: () => this.scheduleTidy(tidyMs),
      failed: (error) => this.fail(error),
    });
    this.removing = upkeep.removing();
    if (this.upkeep.hasWork()) this.scheduleTidy(tidyMs);
    if (this.rows.deleted.isKeeping()) this.scheduleExpiry();
  }

  get metrics(): CommitMetrics {
    return this.writer.metrics;
  }

  /** Resolves when all present writes are stored: a read of many sessions writes little then. */
  settled(): Promise<void> {
    return this.writer.settled();
  }

  // Writes

  /** @throws store_busy if 10,000 writes or 16 MiB wait; store_unavailable if the store is full. */
  assertRoom(): void {
    this.state.assertOpen();
    const { added, told, bytes } = this.writer.queue;
    if (added - told >= maxWaiting || bytes >= maxWaitingBytes) throw storeErrors.store_busy();
    if (!this.isOverfull) return;
    this.options.overfull?.(true);
    const reason = "it has reached store.max_mb, and all conversations in it have a client";
    throw storeErrors.store_unavailable(this.options.path, reason);
  }

  /** Writes the row of a stream without entries, because a client learns its epoch. */
  begin(address: Address, epoch: string, done: Outcome): void {
    const live = this.live(address, epoch);
    this.add({ live, bytes: 0, run: () => this.rows.ensureRow(live), done });
  }

  /**
   * Adds an entry with the next number of its stream to those that are written soon. Publish the
   * entry after `done` only: if it is not stored, its number is used again.
   */
  append(address: Address, epoch: string, entry: NewEntry, done: Outcome): void {
    const live = this.live(address, epoch);
    const seq = (live.seq += 1);
    const at = this.options.clock.now();
    const turn: { taken: Taken | undefined } = { taken: undefined };
    const { request, answers } = entry;
    const name = keyOf(address.channel, address.session, request ?? "");
    if (request !== undefined) this.waitingTurns.set(name, turn);
    if (request !== undefined) this.running.add(name);
    const answered =
      answers === undefined
        ? undefined
        : this.waitingTurns.get(keyOf(address.channel, address.session, answers));
    if (answered) answered.taken ??= { digest: null, isStopped: false };
    const run = (): void => this.rows.insert(live, seq, at, entry, turn.taken);
    const ran = (): void => {
      if (this.waitingTurns.get(name) === turn) this.waitingTurns.delete(name);
    };
    const bytes = entry.frame.byteLength;
    this.add({ live, bytes, run, done, ...(request !== undefined && { ran }) });
  }

  /** Records that the application accepted a message, or that a client stopped it before that. */
  settle(address: Address, id: string, digest: string, isStopped: boolean, done: Outcome): void {
    const live = this.live(address);
    const taken = { digest, isStopped };
    const bytes = id.length + digest.length;
    const turn = this.waitingTurns.get(keyOf(address.channel, address.session, id));
    if (turn) turn.taken = taken;
    const write = turn ? {} : { run: () => this.rows.take(live, id, taken) };
    this.add({ live, bytes, ...write, done });
  }

  /** Runs after everything that was added before is stored, or was not. */
  afterBatch(address: Address, done: () => void): void {
    const live = this.rows.live(address);
    if (!live || live.writes === 0) done();
    else this.add({ live, bytes: 0, done });
  }

  /** True while something of this session waits to be stored. */
  isWaiting(address: Address): boolean {
    return (this.rows.live(address)?.writes ?? 0) > 0;
  }

  /** True if the stream of this session is stored. */
  isStored(address: Address): boolean {
    return (this.rows.live(address)?.id ?? 0) !== 0;
  }

  /** Stores the positions of readers of a stream, a moment later: a kill repeats some frames. */
  note(address: Address, positions: StreamPositions): void {
    const live = this.rows.live(address);
    if (live === undefined || live.id === 0) return;
    live.positions = positions;
    this.rows.unsaved.add(live);
    this.scheduleTidy(tidyMs);
  }

  /** Stores the end of an answer with the frames that were added in this turn of the loop. */
  noteEnd(address: Address, request: string, end: StoredEnd | undefined): void {
    const name = keyOf(address.channel, address.session, request);
    if (end) this.running.delete(name);
    else this.running.add(name);
    const live = this.reading(() => this.rows.find(address));
    if (live === undefined) return;
    const run = (): void => this.rows.noteEnd(live, request, end);
    this.add({ live, bytes: 0, run, done: () => undefined });
  }

  /**
   * Stores the text of a message that is not complete, within 5 s: after a kill, its turn has it.
   *
   * @param frame - Returns the latest frame. Called when it is stored.
   */
  grow(address: Address, message: string, frame: () => Uint8Array): void {
    const live = this.rows.live(address);
    if (live === undefined) return;
    const messages: Growth = this.rows.growth.get(live) ?? new Map();
    this.rows.growth.set(live, messages.set(message, frame));
    this.timers.growth ??= this.after(growthMs, () => {
      delete this.timers.growth;
      this.attempt(() => this.rows.writeGrowth());
    });
  }

  /** Forgets what is known about a session that is not in use. */
  release(address: Address): void {
    this.rows.release(address);
  }

  // Reads

  /** Reads what a session needs to continue; undefined if it was never used, or forgotten. */
  load(address: Address): StoredStream | undefined {
    const live = this.reading(() => this.rows.find(address));
    if (live === undefined || live.id === 0) return undefined;
    const { epoch, committed: seq, positions } = live;
    return { epoch, seq, ...positions, frames: this.reading(() => this.rows.latestFrames(live)) };
  }

  questions(address?: Address): readonly StoredQuestion[] {
    this.writer.writeNow(address && this.rows.live(address));
    return this.reading(() => this.rows.questions.list(address));
  }

  questionsLostSince(since: number): readonly Address[] {
    this.writer.writeNow();
    return this.reading(() => this.rows.questions.lostSince(since));
  }

  /** Reads the ids of a session of the last ten minutes, at most 1,024, oldest first. */
  knownIds(address: Address): readonly TakenId[] {
    this.writeSession(address);
    return this.reading(() => this.rows.knownIds(address));
  }

  /** Records that a message which is not stored belongs to a deleted conversation. */
  discard(address: Address, id: string, done: Outcome): void {
    const run = (): void => this.rows.deleted.add(address, [id]);
    this.add({ live: this.live(address), bytes: id.length, run, done });
    this.scheduleExpiry();
  }

  /** True if the message was deleted with its conversation in the last ten minutes of running. */
  isDeleted(address: Address, id: string): boolean {
    return this.reading(() => this.rows.deleted.has(address, id));
  }

  /** True if one of the newest 2,048 entries is the message of a client with this id. */
  hasTurn(address: Address, request: string): boolean {
    this.writeSession(address);
    return this.reading(() => {
      const live = this.rows.find(address);
      return live !== undefined && this.rows.findRequest(live, request) !== undefined;
    });
  }

  health(): StoreHealth {
    const days = this.isCatchingUp ? this.rows.retentionClock.daysBehind() : 0;
    return {
      ...this.state.health(days),
      conversations: this.rows.count,
      ...(this.rows.oldestAt > 0 && { oldestAt: this.rows.oldestAt }),
      waitingBytes: this.writer.queue.bytes,
      ...(this.removing > 0 && { removing: this.removing }),
      searches: true,
    };
  }

  /** Brings the index for search up to date, for at most 20 ms. */
  completeIndex(): void {
    const end = this.options.clock.monotonic() + searchMs;
    this.writer.writeNow();
    for (let hasMore = !this.writer.syncing; hasMore && this.options.clock.monotonic() <= end;)
      if (!this.attempt(() => (hasMore = this.upkeep.step()))) return;
  }

  /** True while entries wait for the index, or deleted ones for their removal. */
  isBusy(): boolean {
    return !this.writer.queue.isEmpty || this.upkeep.hasWork();
  }

  // Changes of whole conversations
  /** Sets the title of a person, or the one shown without it. @throws not_found */
  async rename(id: string, name: string, isPerson = true): Promise<void> {
    const set = (): void => this.rows.setTitle(this.history.requireRow(id), name);
    await this.exclusively(isPerson ? () => this.history.rename(id, name) : set);
  }

  /**
   * Deletes a conversation. Resolves when no byte of it is left in a file of the store.
   *
   * @param hidden - Runs as soon as it cannot be read any more.
   * @throws not_found
   */
  async forget(id: string, hidden: () => void): Promise<void> {
    await this.exclusively(() => this.rows.hide([this.history.requireRow(id)]), hidden);
    this.scheduleExpiry();
    await this.removeHidden();
    await this.exclusively(() => undefined);
    if (this.connection.number("PRAGMA wal_checkpoint(TRUNCATE)") === 0) return;
    const text = "another program reads the conversation store; deleted text stays in its log";
    this.options.log.warn({ path: this.options.path }, `${text} until that ends`);
  }

  /** Deletes the entries of hidden conversations, in steps between which others write. */
  private async removeHidden(): Promise<void> {
    while (!this.state.isClosed && this.upkeep.isRemoving()) {
      await this.exclusively(() => {
        this.upkeep.step();
        this.removing = this.upkeep.removing();
      });
      await pause();
    }
    // Free pages return to the file system.
    this.scheduleTidy(tidyMs);
  }

  /** @returns How many conversations were deleted: see `Retention`. */
  async retain(limits: StoreLimits, ...sessions: RetainedSessions): Promise<number> {
    const { rows } = this;
    const { log } = this.options;
    const deleted = await new Retention({
      ...{ rows, log },
      reading: (run) => this.reading(run),
      exclusively: (...change) => this.exclusively(...change),
      removeHidden: () => this.removeHidden(),
    }).run(limits, ...sessions);
    if (deleted > 0) this.scheduleExpiry();
    this.isOverfull = this.rows.usedBytes() > limits.maxBytes * overfullRatio;
    this.warnOfClock(limits);
    return deleted;
  }

  /** Writes the rest, and closes the file. The next start completes summaries that failed. */
  async close(): Promise<void> {
    if (this.state.isClosed) return;
    await this.writer.close();
    this.state.isClosed = true;
    this.state.lost = undefined;
    for (const timer of Object.values(this.timers)) this.options.clock.clearTimeout(timer);
    try {
      this.connection.transaction(() => {
        this.rows.writeGrowth();
        this.rows.save();
        setMeta(this.connection, "clean", 1);
      });
      this.connection.get("PRAGMA wal_checkpoint(TRUNCATE)");
    } catch (error) {
      const { path, log } = this.options;
      log.warn({ err: error, path }, "the summaries of the conversations follow at the next start");
    }
    this.connection.close();
    this.writer.release();
  }

  // Writing

  private add(write: Write): void {
    this.writer.add(write);
  }

  private writeSession(address: Address): void {
    const live = this.rows.live(address);
    if (live && live.writes > 0) this.writer.writeNow(live);
  }

  /** @param epoch - Of a stream that is new. */
  private live(address: Address, epoch?: string): Live {
    return this.reading(() => this.rows.liveOf(address, epoch));
  }

  // The file

  /** Retention follows a system clock that is far ahead only slowly, and logs that. */
  private warnOfClock({ keepDays }: StoreLimits): void {
    this.isCatchingUp =
      keepDays > 0 && this.rows.count > 0 && this.rows.retentionClock.daysBehind() > 2;
    const { notice } = this.health();
    if (notice !== undefined) this.options.log.warn({ path: this.options.path }, notice);
  }

  /** Runs a read, and turns errors of SQLite into those of the store. */
  reading<T>(run: () => T): T {
    this.state.assertOpen();
    try {
      return run();
    } catch (error) {
      if (resultCode(error) === 0) throw error;
      throw this.fail(error);
    }
  }

  /** A reader finds everything that was appended before. */
  private beforeReading(): void {
    this.state.assertOpen();
    this.writer.writeNow();
    const { growth, unsaved } = this.rows;
    if (growth.size > 0 || unsaved.size > 0)
      this.attempt(() => {
        this.rows.writeGrowth();
        this.rows.save();
      });
  }

  /**
   * Runs a change in a transaction of its own, after all writes and the sync.
   *
   * @param committed - Runs in the same step as the change.
   */
  private async exclusively<T>(run: () => T, committed?: () => void): Promise<T> {
    for (;;) {
      await this.writer.settled();
      while (!this.writer.settleNow()) await (this.writer.syncing ?? pause());
      this.state.assertOpen();
      const restore = this.rows.snapshot();
      let result: T;
      try {
        this.state.assertSameFile();
        result = this.connection.transaction(run);
      } catch (error) {
        restore();
        if (resultCode(error) === 0) throw error;
        if (resultCode(error) !== codes.busy) throw this.fail(error);
        await new Promise((resolve) => void this.after(busyRetryMs, () => resolve(undefined)));
        continue;
      }
      committed?.();
      if (this.options.durability === "power") await this.writer.sync();
      return result;
    }
  }

  /** Notes that the store fails. @returns The error for callers. */
  private fail(error: unknown): unknown {
    const sessions = new Set([...this.writer.queue.lives()].map(({ session }) => session));
    const failure = this.state.fail(error, sessions);
    this.scheduleTidy(probeMs);
    return failure;
  }

  // Work that can wait

  private after(ms: number, run: () => void): unknown {
    return this.options.clock.setTimeout(run, ms);
  }

  /** Runs work that can wait in a transaction. @returns False if it has to run again. */
  private attempt(run: () => void): boolean {
    const restore = this.rows.snapshot();
    try {
      this.state.assertSameFile();
      this.connection.transaction(run);
      return true;
    } catch (error) {
      restore();
      if (resultCode(error) !== codes.busy) this.fail(error);
      return false;
    }
  }

  private scheduleTidy(ms: number): void {
    if (this.state.isClosed) return;
    this.timers.tidy ??= this.after(ms, () => this.tidy());
  }

  /** Removes ids of deleted messages in time, also if nothing else happens. */
  private scheduleExpiry(): void {
    this.timers.expiry ??= this.after(deletedMs, () => {
      delete this.timers.expiry;
      if (this.state.isClosed) return;
      this.attempt(() => this.rows.deleted.expire());
      if (this.reading(() => this.rows.deleted.isKeeping())) this.scheduleExpiry();
    });
  }

  private tidy(): void {
    delete this.timers.tidy;
    if (this.state.isClosed || this.state.lost !== undefined) return;
    if (this.writer.syncing || this.writer.queue.hasWaiting) return this.scheduleTidy(tidyNextMs);
    const now = this.options.clock.monotonic();
    const isSaveDue = this.state.hasProblem() || now - this.savedAt >= tidyMs;
    let hasMore = false;
    const isDone = this.attempt(() => {
      if (isSaveDue) this.rows.save();
      hasMore = this.upkeep.step();
      if (this.removing > 0) this.removing = this.upkeep.removing();
    });
    if (!isDone) return this.scheduleTidy(probeMs);
    this.state.noteSuccess();
    if (hasMore) this.scheduleTidy(tidyNextMs);
    else if (this.rows.unsaved.size > 0) this.scheduleTidy(tidyMs);
    if (!isSaveDue) return;
    this.savedAt = now;
    this.rows.releaseMany();
    const { limits, overfull } = this.options;
    if (limits && this.rows.usedBytes() > limits().maxBytes * overfullRatio) overfull?.(false);
    else this.isOverfull = false;
  }
}
