/**
 * Conversations in one SQLite file, on the main thread: one transaction per turn of the event loop.
 * Read it from top to bottom; `schema.ts` describes the tables.
 */
import fs, { statSync } from "node:fs";
import { promisify } from "node:util";
import type { Clock, Log } from "../../../kernel/index.ts";
import type { Address } from "../../channels/index.ts";
import type { StoredStream, StreamPositions } from "../log/stored-stream.ts";
import type { StoreHealth, StoreMetrics, TakenId } from "../service.ts";
import { payloadOf, toTitle } from "../turn-frames.ts";
import { CommitMetrics } from "../commit-metrics.ts";
import { codes, describeError, isDamage, resultCode, type Connection, type Row } from "./driver.ts";
import { storeErrors } from "./errors.ts";
import { History } from "./history.ts";
import { fileId, getMeta, setMeta } from "./recovery.ts";
import { RetentionClock } from "./retention.ts";
import { kinds } from "./schema.ts";
import { Upkeep } from "./upkeep.ts";

/** An entry of a stream, with what history needs to know of it. */
export interface NewEntry {
  readonly kind: keyof typeof kinds;
  /** Id of the message that this entry creates, updates or deletes. */
  readonly message?: string | undefined;
  /** True if the text is complete; only then it is indexed for search. */
  readonly final: boolean;
  /** For the message of a person, the id that its client gave it. */
  readonly request?: string | undefined;
  /** The message of a person that this entry answers completely: the application has taken it. */
  readonly answers?: string | undefined;
  /** A complete Pico server frame: a JSON object in UTF-8, without its `seq` and `epoch`. */
  readonly frame: Uint8Array;
}

/** Receives the outcome of a write: nothing, or why it was not stored. */
export type Outcome = (error?: unknown) => void;

export interface SqliteStoreOptions {
  readonly path: string;
  readonly durability: "process" | "power";
  readonly clock: Clock;
  readonly log: Log;
  readonly random: (bytes: number) => Uint8Array;
  /** Runs after each batch with the sessions that have new entries. */
  readonly changed?: ((addresses: readonly Address[]) => void) | undefined;
  /** Reads the limits of the store. @defaultValue none */
  readonly limits?: (() => StoreLimits) | undefined;
  /** Runs when the store is larger than its limit by a tenth. */
  readonly overfull?: (() => void) | undefined;
}

/** Limits of the store. `keepDays` 0 keeps conversations indefinitely. */
export interface StoreLimits {
  readonly keepDays: number;
  readonly maxBytes: number;
}

/** The entry of a person's message, and whether its id is taken. */
interface KnownRequest {
  readonly entry: number;
  isTaken: boolean;
}

/** A conversation in use. `committed` to `turns` summarize its stored entries. */
interface Live extends Address {
  /** 0 until its row is written. */
  id: number;
  readonly publicId: string;
  readonly epoch: string;
  /** The last number, of the entries that wait too. */
  seq: number;
  committed: number;
  last: number;
  title: string;
  titleTurn: number;
  createdAt: number;
  usedAt: number;
  aged: number;
  turns: number;
  positions: StreamPositions;
  /** The `seq` of the entry that opened the turn of each message that is not complete. */
  readonly open: Map<string, number>;
  /** The latest messages of persons, by the ids that their clients gave them. */
  readonly requests: Map<string, KnownRequest>;
  /** Messages with a row in `growing`. */
  readonly grown: Set<string>;
  /** Writes that have no outcome yet. */
  writes: number;
}

interface Write {
  readonly live: Live;
  readonly bytes: number;
  /** Writes its rows, inside the transaction. Absent for what only waits for the batch. */
  readonly run?: () => void;
  readonly done: Outcome;
}

interface Batch {
  readonly at: number;
  readonly writes: Write[];
  bytes: number;
}

/** A message of a person in the batch that gathers, whose id may be taken in the same batch. */
interface WaitingTurn {
  readonly batch: Batch;
  taken: { readonly digest: string | null; readonly outcome: number } | undefined;
}

const fdatasync = promisify(fs.fdatasync);
const pause = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** Writes and bytes that may wait. */
const maxWaiting = 10_000;
const maxWaitingBytes = 16 * 1024 * 1024;
/** How long a batch is tried again while another program holds a lock, and how often. */
const busyMs = 2_000;
const busyRetryMs = 10;
/** Pause before summaries and the index are brought up to date, and between two steps of that. */
const tidyMs = 250;
const tidyNextMs = 10;
/** Pause between two attempts to write while the file cannot be written. */
const probeMs = 2_000;
/** How often the text of a message that grows is stored. */
const growthMs = 5_000;
/** Entries in which the id of a message is looked for, ids that are kept, and for how long. */
const maxLooked = 2_048;
const maxTaken = 1_024;
const maxRequests = 64;
const takenMs = 600_000;
/** Conversations in memory. */
const maxLives = 20_000;
/** Bounds of the frames that a stream is continued with. */
const maxFrames = 256;
const maxFrameBytes = 512 * 1024;
/** Conversations that retention deletes in one transaction. */
const retained = 50;
/** Size at which retention runs at once, and then new messages are rejected. */
const overfullRatio = 1.1;
const dayMs = 86_400_000;

const noPositions: StreamPositions = { written: 0, plain: 0, acknowledged: 0, resumes: false };
const keyOf = ({ channel, session }: Address): string => `${channel}\0${session}`;

export class SqliteStore {
  readonly history: History;
  private readonly options: SqliteStoreOptions;
  private readonly connection: Connection;
  private readonly upkeep: Upkeep;
  private readonly metricsOfCommits = new CommitMetrics();
  private readonly retentionClock: RetentionClock;
  private readonly file: string;
  private readonly lives = new Map<string, Live>();
  /** Conversations whose row is older than their entries. */
  private readonly unsaved = new Set<Live>();
  /** The latest text of messages that grow, until it is stored. */
  private readonly growth = new Map<Live, Map<string, () => Uint8Array>>();
  private readonly waitingTurns = new Map<string, WaitingTurn>();
  private batch: Batch | undefined;
  private nextId: number;
  /** Set while the disk is synced: nothing is committed meanwhile. */
  private syncing: Promise<unknown> | undefined;
  private log: number | undefined;
  private readonly timers: { tidy?: unknown; growth?: unknown; retry?: unknown } = {};
  private problem: string | undefined;
  private since: number;
  private isClosed = false;
  private count = 0;
  private oldestAt = 0;
  private isOverfull = false;
  private isCatchingUp = false;

  /** @param connection - An open database whose schema and state were checked. */
  constructor(connection: Connection, options: SqliteStoreOptions) {
    const { clock, path } = options;
    this.options = options;
    this.connection = connection;
    this.history = new History(connection, () => this.beforeReading());
    this.upkeep = new Upkeep(connection, () => clock.monotonic());
    this.file = fileId(path);
    this.since = clock.now();
    const last = connection.number("SELECT max(id) FROM entry");
    const lastUsed = connection.number("SELECT max(last) FROM conversation");
    // No id is used twice, also if its entry was forgotten.
    const marks = [this.upkeep.indexed, Number(getMeta(connection, "saved") ?? 0)];
    this.nextId = 1 + Math.max(last, lastUsed, ...marks);
    const newest = connection.number("SELECT max(aged) FROM conversation");
    const saved = Number(getMeta(connection, "clock") ?? 0);
    this.retentionClock = new RetentionClock(clock, Math.max(newest, saved) || undefined);
    this.completeSummaries();
    this.countConversations();
    if (this.upkeep.hasWork()) this.scheduleTidy(tidyMs);
  }

  // Writes

  /** @throws store_busy if 10,000 writes or 16 MiB wait; store_unavailable if the store is full. */
  assertRoom(): void {
    this.assertOpen();
    const { writes = [], bytes = 0 } = this.batch ?? {};
    if (writes.length >= maxWaiting || bytes >= maxWaitingBytes) throw storeErrors.store_busy();
    if (!this.isOverfull) return;
    const reason = "it has reached store.max_mb, and all conversations in it are in use";
    throw storeErrors.store_unavailable(this.options.path, reason);
  }

  /** Writes the row of a stream without entries, because a client learns its epoch. */
  begin(address: Address, epoch: string, done: Outcome): void {
    const live = this.liveOf(address, epoch);
    this.add({ live, bytes: 0, run: () => this.ensureRow(live), done });
  }

  /**
   * Adds an entry with the next number of its stream to the batch of this turn of the event loop.
   * Tell nobody before `done`: if the batch fails, its numbers are used again.
   */
  append(address: Address, epoch: string, entry: NewEntry, done: Outcome): void {
    const live = this.liveOf(address, epoch);
    const seq = (live.seq += 1);
    const at = this.options.clock.now();
    const turn: WaitingTurn = { batch: this.openBatch(), taken: undefined };
    const { request } = entry;
    if (request !== undefined) this.waitingTurns.set(`${keyOf(address)}\0${request}`, turn);
    const run = (): void => this.insert(live, seq, at, entry, turn);
    this.add({ live, bytes: entry.frame.byteLength, run, done });
  }

  /** Records that the application accepted a message, or that a client stopped it before that. */
  settle(address: Address, id: string, digest: string, isStopped: boolean, done: Outcome): void {
    const live = this.liveOf(address);
    const at = this.takenAt();
    const outcome = isStopped ? -at : at;
    const bytes = id.length + digest.length;
    const turn = this.waitingTurns.get(`${keyOf(address)}\0${id}`);
    if (turn && turn.batch === this.batch) {
      turn.taken = { digest, outcome };
      return this.add({ live, bytes, done });
    }
    this.add({ live, bytes, run: () => this.take(live, id, digest, outcome), done });
  }

  /** Runs after everything that was added before is stored, or was not. */
  afterBatch(address: Address, done: () => void): void {
    const live = this.lives.get(keyOf(address));
    if (!this.batch || !live) done();
    else this.add({ live, bytes: 0, done });
  }

  /** True while something of this session waits to be stored. */
  isWaiting(address: Address): boolean {
    return (this.lives.get(keyOf(address))?.writes ?? 0) > 0;
  }

  /** True if the stream of this session is stored. */
  isStored(address: Address): boolean {
    return (this.lives.get(keyOf(address))?.id ?? 0) !== 0;
  }

  /** Stores how far the readers of a stream have got, a moment later: a kill repeats some frames. */
  note(address: Address, positions: StreamPositions): void {
    const live = this.lives.get(keyOf(address));
    if (live === undefined || live.id === 0) return;
    live.positions = positions;
    this.unsaved.add(live);
    this.scheduleTidy(tidyMs);
  }

  /**
   * Stores the text of a message that is not complete, within 5 s: after a kill, its turn has it.
   *
   * @param frame - Returns the latest frame. Called when it is stored.
   */
  grow(address: Address, message: string, frame: () => Uint8Array): void {
    const live = this.lives.get(keyOf(address));
    if (live === undefined) return;
    const messages = this.growth.get(live) ?? new Map<string, () => Uint8Array>();
    this.growth.set(live, messages.set(message, frame));
    this.timers.growth ??= this.after(growthMs, () => {
      delete this.timers.growth;
      this.attempt(() => this.writeGrowth());
    });
  }

  /** Forgets what is known about a session that is not in use. */
  release(address: Address): void {
    const live = this.lives.get(keyOf(address));
    if (live) this.forgetLive(live);
  }

  private forgetLive(live: Live): void {
    if (live.writes > 0 || this.unsaved.has(live) || this.growth.has(live)) return;
    this.lives.delete(keyOf(live));
  }

  // Reads

  /** Reads what a session needs to continue; undefined if it was never used, or forgotten. */
  load(address: Address): StoredStream | undefined {
    const live = this.reading(() => this.find(address));
    if (live === undefined || live.id === 0) return undefined;
    const { epoch, committed: seq, positions } = live;
    return { epoch, seq, ...positions, frames: this.reading(() => this.latestFrames(live)) };
  }

  /** Reads the ids of a session of the last ten minutes, at most 1,024, oldest first. */
  knownIds(address: Address): readonly TakenId[] {
    return this.reading(() => {
      this.flush();
      const now = this.options.clock.now();
      const conversation = this.find(address)?.id ?? 0;
      const columns = "SELECT id, request, digest, taken FROM entry WHERE conversation = ?1";
      const rows = this.connection.all(
        `SELECT * FROM (${columns} ORDER BY seq DESC LIMIT ${maxLooked}) WHERE abs(taken) > ?2 ` +
          `UNION SELECT * FROM (${columns} AND seq IS NULL) WHERE abs(taken) > ?2 ` +
          `ORDER BY id DESC LIMIT ${maxTaken}`,
        conversation,
        now - takenMs,
      );
      return rows.reverse().map(({ request, digest, taken }) => ({
        id: String(request),
        ...(digest !== null && { digest: String(digest) }),
        ageMs: Math.max(0, now - Math.abs(Number(taken))),
        ...(Number(taken) < 0 && { stopped: true }),
      }));
    });
  }

  /** True if one of the newest 2,048 entries is the message of a client with this id. */
  hasTurn(address: Address, request: string): boolean {
    return this.reading(() => {
      this.flush();
      const live = this.find(address);
      return live !== undefined && this.findRequest(live, request) !== undefined;
    });
  }

  health(): StoreHealth {
    const days = this.isCatchingUp ? this.retentionClock.daysBehind() : 0;
    const notice =
      `The system's clock is ${days} days ahead of the conversations. If it is right, old ` +
      "conversations are deleted a day's worth per hour; if not, set it right.";
    return {
      kind: "sqlite",
      state: this.problem === undefined ? "up" : "away",
      since: this.since,
      ...(this.problem !== undefined ? { problem: this.problem } : days > 2 && { notice }),
      path: this.options.path,
      bytes: this.isClosed ? 0 : this.fileBytes(),
      conversations: this.count,
      ...(this.oldestAt > 0 && { oldestAt: this.oldestAt }),
      waitingBytes: this.batch?.bytes ?? 0,
      searches: true,
    };
  }

  /** True while entries wait for the index, or deleted ones for their removal. */
  isBusy(): boolean {
    return this.batch !== undefined || this.upkeep.hasWork();
  }

  metrics(): StoreMetrics {
    return this.metricsOfCommits.read();
  }

  // Changes of whole conversations

  /** Sets the title; an empty one restores the first words. @throws not_found */
  async rename(id: string, name: string): Promise<void> {
    await this.exclusively(() => this.history.rename(id, name));
  }

  /**
   * Deletes a conversation. Resolves when no byte of it is left in a file of the store.
   *
   * @param hidden - Runs as soon as it cannot be read any more.
   * @throws not_found
   */
  async forget(id: string, hidden: () => void): Promise<void> {
    await this.exclusively(() => this.hide([this.history.requireRow(id)]), hidden);
    await this.removeHidden();
    await this.exclusively(() => undefined);
    if (this.connection.number("PRAGMA wal_checkpoint(TRUNCATE)") === 0) return;
    const text = "another program reads the conversation store; deleted text stays in its log";
    this.options.log.warn({ path: this.options.path }, `${text} until that ends`);
  }

  /** Deletes the entries of hidden conversations, in steps between which others write. */
  private async removeHidden(): Promise<void> {
    while (!this.isClosed && this.upkeep.hasRemovals()) {
      await this.exclusively(() => this.upkeep.step());
      await pause();
    }
    // Free pages return to the file system.
    this.scheduleTidy(tidyMs);
  }

  /**
   * Deletes what is too old or does not fit, the least recently written first.
   *
   * @returns How many conversations were deleted.
   */
  async retain(limits: StoreLimits, isLive: (address: Address) => boolean): Promise<number> {
    const skip: number[] = [];
    let deleted = 0;
    let oldest = Infinity;
    for (;;) {
      const { found, idle } = await this.exclusively(() => {
        this.save();
        const expired = this.expired(limits, skip);
        const unused = expired.filter((row) => !isLive(addressOf(row)));
        this.hide(unused);
        return { found: expired, idle: unused };
      });
      if (found.length === 0) break;
      skip.push(...found.map(({ id }) => Number(id)));
      deleted += idle.length;
      for (const { used_at } of idle) oldest = Math.min(oldest, Number(used_at));
      await this.removeHidden();
    }
    this.isOverfull = this.usedBytes() > limits.maxBytes * overfullRatio;
    this.warnOfClock(limits);
    if (deleted === 0) return 0;
    const fields = { count: deleted, oldest: new Date(oldest).toISOString() };
    this.options.log.info(fields, "old conversations were deleted");
    return deleted;
  }

  /** Writes what waits, and closes the file. What does not fit any more is completed at the next start. */
  async close(): Promise<void> {
    if (this.isClosed) return;
    while (this.batch || this.syncing) {
      if (this.syncing) await this.syncing;
      else this.flush();
      if (this.timers.retry !== undefined) await pause();
    }
    this.isClosed = true;
    for (const timer of Object.values(this.timers)) this.options.clock.clearTimeout(timer);
    try {
      this.connection.transaction(() => {
        this.writeGrowth();
        this.save();
        setMeta(this.connection, "clean", 1);
      });
      this.connection.get("PRAGMA wal_checkpoint(TRUNCATE)");
    } catch (error) {
      const { path, log } = this.options;
      log.warn({ err: error, path }, "the summaries of the conversations follow at the next start");
    }
    this.connection.close();
    if (this.log !== undefined) fs.closeSync(this.log);
  }

  // Batches

  private openBatch(): Batch {
    this.assertOpen();
    if (this.batch === undefined) {
      this.batch = { at: this.options.clock.monotonic(), writes: [], bytes: 0 };
      setImmediate(() => this.flush());
    }
    return this.batch;
  }

  private add(write: Write): void {
    const batch = this.openBatch();
    batch.writes.push(write);
    batch.bytes += write.bytes;
    write.live.writes += 1;
  }

  /** Stores the batch and tells its writers, unless the disk is being synced. */
  private flush(): void {
    const { batch } = this;
    if (batch === undefined || this.syncing || this.isClosed) return;
    const failed = new Map<Live, unknown>();
    const startedAt = this.options.clock.monotonic();
    try {
      this.assertSameFile();
      this.write(batch, failed);
      this.noteSuccess();
      this.metricsOfCommits.committed((this.options.clock.monotonic() - startedAt) / 1_000);
    } catch (error) {
      const isBusy = resultCode(error) === codes.busy;
      if (isBusy && startedAt - batch.at < busyMs) return this.retry();
      const failure = this.fail(error);
      this.metricsOfCommits.failed(failure);
      for (const { live } of batch.writes) failed.set(live, failure);
    }
    this.batch = undefined;
    this.waitingTurns.clear();
    if (failed.size > 0) this.reloadFailed(failed.keys());
    this.scheduleTidy(tidyMs);
    const tell = (): void => this.tell(batch, failed);
    if (this.options.durability === "process") return tell();
    void this.whileSyncing(async () => this.sync()).then(tell, (error: unknown) => {
      const failure = this.fail(error);
      for (const { live } of batch.writes) failed.set(live, failure);
      tell();
    });
  }

  /**
   * Writes all rows of a batch in one transaction. If that fails for another reason than the disk or
   * a lock, only the sessions whose rows fail are refused.
   */
  private write({ writes }: Batch, failed: Map<Live, unknown>): void {
    try {
      return this.connection.transaction(() => {
        for (const { run } of writes) run?.();
      });
    } catch (error) {
      if (isOfFile(error)) throw error;
    }
    this.reload(
      writes.map(({ live }) => live),
      true,
    );
    this.connection.transaction(() => {
      for (const { live, run } of writes) {
        if (failed.has(live) || !run) continue;
        this.connection.exec("SAVEPOINT write");
        try {
          run();
        } catch (error) {
          if (isOfFile(error)) throw error;
          this.connection.exec("ROLLBACK TO write");
          failed.set(live, this.refuse(live, error));
        }
        this.connection.exec("RELEASE write");
      }
    });
  }

  /** Another program holds a lock. Later writes join the batch. */
  private retry(): void {
    this.timers.retry ??= this.after(busyRetryMs, () => {
      delete this.timers.retry;
      this.flush();
    });
  }

  private tell({ writes }: Batch, failed: ReadonlyMap<Live, unknown>): void {
    for (const { live, done } of writes) {
      live.writes -= 1;
      try {
        if (failed.has(live)) done(failed.get(live));
        else done();
      } catch (error) {
        this.options.log.error({ err: error }, "the outcome of a stored message was not delivered");
      }
    }
    const { changed } = this.options;
    if (!changed) return;
    const lives = new Set(
      writes.filter(({ live, bytes }) => bytes > 0 && !failed.has(live)).map(({ live }) => live),
    );
    if (lives.size > 0) changed([...lives].map(({ channel, session }) => ({ channel, session })));
  }

  private reloadFailed(lives: Iterable<Live>): void {
    for (const live of lives)
      try {
        this.reload([live], false);
      } catch {
        // The file cannot be read either: the session is read again when it is used.
        this.lives.delete(keyOf(live));
      }
  }

  /**
   * Numbers, ids and turns in memory are again those of the file.
   *
   * @param keepsNumbers - The same entries are written again.
   */
  private reload(lives: Iterable<Live>, keepsNumbers: boolean): void {
    for (const live of new Set(lives)) {
      const { positions, seq, writes } = live;
      this.unsaved.delete(live);
      if (live.last > 0) this.count -= 1;
      live.open.clear();
      live.requests.clear();
      const row = this.rowOf(live);
      const { publicId, epoch } = live;
      Object.assign(live, emptyLive(live), row ? summaryOf(row) : { publicId, epoch });
      Object.assign(live, { positions, writes });
      if (live.last > 0) this.count += 1;
      if (row) this.readGrown(live);
      if (row) this.summarizeLater(live);
      live.seq = keepsNumbers ? seq : live.committed;
      if (!row && !keepsNumbers) this.lives.delete(keyOf(live));
    }
  }

  // Rows

  private ensureRow(live: Live): void {
    if (live.id !== 0) return;
    const { publicId, channel, session, epoch } = live;
    live.id = this.connection.run(
      "INSERT INTO conversation(public_id, channel, session, epoch) VALUES (?, ?, ?, ?)",
      publicId,
      channel,
      session,
      epoch,
    );
  }

  private insert(
    live: Live,
    seq: number,
    at: number,
    entry: NewEntry,
    { taken }: WaitingTurn,
  ): void {
    this.ensureRow(live);
    const { kind, message, final, request, answers, frame } = entry;
    const turn = message === undefined ? null : this.turnOf(live, seq, kind, final, message);
    const id = this.nextId++;
    this.connection.run(
      "INSERT INTO entry(id, conversation, seq, at, kind, final, turn, message, request, digest, taken, frame) " +
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      id,
      live.id,
      seq,
      at,
      kinds[kind],
      final ? 1 : 0,
      turn,
      message ?? null,
      request ?? null,
      taken?.digest ?? null,
      taken?.outcome ?? null,
      frame,
    );
    if (message !== undefined && (final || kind === "delete")) this.endGrowth(live, message);
    if (request !== undefined) this.remember(live, request, id, taken !== undefined);
    if (answers !== undefined) this.takeAnswered(live, answers);
    this.summarize(live, { id, seq, at, kind: kinds[kind], turn, frame });
  }

  /** @returns The entry that opened the turn which an entry changes; null if it opens one. */
  private turnOf(
    live: Live,
    seq: number,
    kind: NewEntry["kind"],
    final: boolean,
    message: string,
  ): number | null {
    const isOpen = !final && kind !== "delete";
    const known = live.open.get(message);
    const opener =
      known ?? (kind === "update" || kind === "delete" ? this.findTurn(live, message) : null);
    if (!isOpen) live.open.delete(message);
    else if (opener === null && kind !== "user") live.open.set(message, seq);
    return kind === "user" ? null : opener;
  }

  private findTurn({ id }: Live, message: string): number | null {
    const row = this.connection.get(
      "SELECT seq, turn, kind FROM entry WHERE conversation = ? AND seq IS NOT NULL AND message = ? " +
        "AND kind > 1 ORDER BY seq DESC LIMIT 1",
      id,
      message,
    );
    return row === undefined || row.kind === kinds.delete ? null : Number(row.turn ?? row.seq);
  }

  private remember({ requests }: Live, request: string, entry: number, isTaken: boolean): void {
    requests.set(request, { entry, isTaken });
    const [oldest] = requests.size > maxRequests ? requests.keys() : [];
    if (oldest !== undefined) requests.delete(oldest);
  }

  /** A message whose complete answer is stored is not handled again, whatever happens next. */
  private takeAnswered(live: Live, request: string): void {
    const known = live.requests.get(request);
    if (known?.isTaken) return;
    const entry = known?.entry ?? this.findRequest(live, request);
    if (entry === undefined) return;
    this.remember(live, request, entry, true);
    this.connection.run(
      "UPDATE entry SET taken = ? WHERE id = ? AND taken IS NULL",
      this.takenAt(),
      entry,
    );
  }

  private takenAt(): number {
    return Math.max(1, this.options.clock.now());
  }

  private take(live: Live, request: string, digest: string, outcome: number): void {
    this.ensureRow(live);
    const entry = live.requests.get(request)?.entry ?? this.findRequest(live, request);
    if (entry === undefined) return this.takeAlone(live, request, digest, outcome);
    this.remember(live, request, entry, true);
    const set = "UPDATE entry SET digest = ?, taken = ? WHERE id = ?";
    this.connection.run(set, digest, outcome, entry);
  }

  /** The message has no entry: it was stopped before that, or its channel has none. */
  private takeAlone({ id }: Live, request: string, digest: string, outcome: number): void {
    this.connection.run(
      "INSERT INTO entry(id, conversation, seq, at, kind, final, request, digest, taken, frame) " +
        "VALUES (?, ?, NULL, ?, 0, 1, ?, ?, ?, x'')",
      this.nextId++,
      id,
      this.options.clock.now(),
      request,
      digest,
      outcome,
    );
    if (this.nextId % 256 !== 0) return;
    const own = "FROM entry WHERE conversation = ?1 AND seq IS NULL";
    this.connection.run(
      `DELETE ${own} AND id <= (SELECT id ${own} ORDER BY id DESC LIMIT 1 OFFSET ${maxTaken})`,
      id,
    );
  }

  private findRequest({ id, committed }: Live, request: string): number | undefined {
    const row = this.connection.get(
      "SELECT id FROM entry WHERE conversation = ? AND seq > ? AND request = ? ORDER BY seq DESC LIMIT 1",
      id,
      committed - maxLooked,
      request,
    );
    return row && Number(row.id);
  }

  private endGrowth(live: Live, message: string): void {
    const messages = this.growth.get(live);
    if (messages?.delete(message) && messages.size === 0) this.growth.delete(live);
    if (!live.grown.delete(message)) return;
    const sql = "DELETE FROM growing WHERE conversation = ? AND message = ?";
    this.connection.run(sql, live.id, message);
  }

  private writeGrowth(): void {
    const sql = "INSERT OR REPLACE INTO growing(conversation, message, frame) VALUES (?, ?, ?)";
    for (const [live, messages] of this.growth) {
      if (live.id === 0) continue;
      for (const [message, frame] of messages) {
        this.connection.run(sql, live.id, message, frame());
        live.grown.add(message);
      }
    }
    this.growth.clear();
  }

  // Conversations in use

  private rowOf({ channel, session }: Address): Row | undefined {
    const sql = "SELECT * FROM conversation WHERE channel = ? AND session = ?";
    return this.connection.get(sql, channel, session);
  }

  private find(address: Address): Live | undefined {
    const known = this.lives.get(keyOf(address));
    if (known !== undefined) return known;
    const row = this.rowOf(address);
    if (row === undefined) return undefined;
    const live = { ...emptyLive(address), ...summaryOf(row) } as Live;
    this.readGrown(live);
    this.summarizeLater(live);
    live.seq = live.committed;
    this.lives.set(keyOf(live), live);
    return live;
  }

  private readGrown({ id, grown }: Live): void {
    const sql = "SELECT message FROM growing WHERE conversation = ?";
    for (const { message } of this.connection.all(sql, id)) grown.add(String(message));
  }

  /** @param epoch - Of a stream that is new; otherwise it has the one of its row. */
  private liveOf(address: Address, epoch?: string): Live {
    const found = this.reading(() => this.find(address));
    if (found) return found;
    const hex = (bytes: number): string => Buffer.from(this.options.random(bytes)).toString("hex");
    const live: Live = { ...emptyLive(address), publicId: hex(12), epoch: epoch ?? hex(8) };
    this.lives.set(keyOf(live), live);
    return live;
  }

  /** After a kill, entries are newer than the row of their conversation. */
  private summarizeLater(live: Live): void {
    const later = this.connection.all(
      "SELECT id, seq, at, kind, turn, frame FROM entry WHERE conversation = ? AND seq > ? ORDER BY seq",
      live.id,
      live.committed,
    );
    for (const entry of later) this.summarize(live, entry as unknown as SummarizedEntry);
  }

  private summarize(live: Live, { id, seq, at, kind, turn, frame }: SummarizedEntry): void {
    if (live.last === 0) this.count += 1;
    live.committed = seq;
    live.last = id;
    live.createdAt ||= at;
    live.usedAt = Math.max(live.usedAt, at);
    live.aged = this.retentionClock.read();
    if (this.oldestAt === 0) this.oldestAt = at;
    if (kind === kinds.delete) live.turns -= turn === null ? 0 : 1;
    else if (kind !== kinds.other && turn === null) live.turns += 1;
    this.retitle(live, { id, seq, at, kind, turn, frame });
    this.unsaved.add(live);
  }

  /** The first words of a person make the title; until there are some, those of the application. */
  private retitle(live: Live, { seq, kind, turn, frame }: SummarizedEntry): void {
    if (kind === kinds.other || live.titleTurn < 0) return;
    if (kind === kinds.user) {
      const title = titleOf(frame);
      // Negative: of a person. It never changes, because such a turn is never deleted.
      if (title !== "") Object.assign(live, { title, titleTurn: -seq });
      return;
    }
    const opener = turn ?? seq;
    if (live.titleTurn !== 0 && opener > live.titleTurn) return;
    const title = kind === kinds.delete ? "" : titleOf(frame);
    if (title !== "") Object.assign(live, { title, titleTurn: opener });
    else if (opener === live.titleTurn)
      Object.assign(live, { title: "", titleTurn: 0 }, this.history.firstTitle(live.id, opener));
  }

  /** Completes the rows of conversations whose last entries are newer, after a kill. */
  private completeSummaries(): void {
    const saved = Number(getMeta(this.connection, "saved") ?? 0);
    const sql = "SELECT DISTINCT conversation FROM entry WHERE id > ? AND seq IS NOT NULL";
    const later = this.connection.all(sql, saved);
    if (later.length === 0) return;
    this.connection.transaction(() => {
      for (const { conversation } of later) {
        const row = this.connection.get("SELECT * FROM conversation WHERE id = ?", conversation!);
        if (row !== undefined) this.find(addressOf(row));
      }
      this.save();
    });
    this.lives.clear();
  }

  /** Writes the rows of the conversations that changed. Call it in a transaction. */
  private save(): void {
    for (const live of this.unsaved) {
      const { written, plain, acknowledged, resumes } = live.positions;
      this.connection.run(
        "UPDATE conversation SET seq = ?, last = ?, title = ?, title_turn = ?, created_at = ?, used_at = ?, " +
          "aged = ?, turns = ?, written = ?, plain = ?, acknowledged = ?, resumes = ?, " +
          "folded = CASE WHEN name IS NULL THEN ? ELSE folded END WHERE id = ?",
        live.committed,
        live.last,
        live.title,
        live.titleTurn,
        live.createdAt,
        live.usedAt,
        live.aged,
        live.turns,
        written,
        plain,
        acknowledged,
        Number(resumes),
        live.title.toLowerCase(),
        live.id,
      );
    }
    setMeta(this.connection, "saved", this.nextId - 1);
    setMeta(this.connection, "clock", this.retentionClock.read());
    this.unsaved.clear();
  }

  private latestFrames({ id, committed }: Live): StoredStream["frames"] {
    const sql =
      "SELECT seq, message, frame FROM entry WHERE conversation = ? AND seq <= ? ORDER BY seq DESC LIMIT 32";
    const frames: StoredStream["frames"][number][] = [];
    for (let bytes = 0, expected = committed; ;) {
      const rows = this.connection.all(sql, id, expected);
      for (const { seq, message, frame } of rows) {
        bytes += (frame as Uint8Array).byteLength;
        if (seq !== expected || bytes > maxFrameBytes || frames.length === maxFrames)
          return frames.reverse();
        const own = (message as string | null) ?? undefined;
        frames.push({ seq: expected, message: own, frame: frame as Uint8Array });
        expected -= 1;
      }
      if (rows.length < 32) return frames.reverse();
    }
  }

  // Deletion

  /** Makes conversations invisible; their entries follow in steps. Call it in a transaction. */
  private hide(rows: readonly Row[]): void {
    for (const row of rows) {
      const id = Number(row.id);
      const key = keyOf(addressOf(row));
      const live = this.lives.get(key);
      if (live) {
        this.unsaved.delete(live);
        this.growth.delete(live);
        this.lives.delete(key);
      }
      this.connection.run("INSERT INTO removal VALUES (?)", id);
      this.connection.run("DELETE FROM growing WHERE conversation = ?", id);
      this.connection.run("DELETE FROM conversation WHERE id = ?", id);
      if (Number(row.last) > 0) this.count -= 1;
    }
    if (rows.length > 0) this.oldestAt = this.firstUse();
  }

  private expired({ keepDays, maxBytes }: StoreLimits, skip: readonly number[]): Row[] {
    const sql =
      "SELECT * FROM conversation WHERE last > 0 AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY last LIMIT ?";
    const skipped = JSON.stringify(skip);
    const before = keepDays > 0 ? this.retentionClock.read() - keepDays * dayMs : -Infinity;
    const old = this.connection
      .all(sql, skipped, retained)
      .filter(({ aged }) => Number(aged) < before);
    const excess = this.usedBytes() - maxBytes;
    if (old.length > 0 || excess <= 0 || this.count === 0) return old;
    // About half of those that have to go, because conversations differ in size.
    const half = Math.floor(excess / (this.usedBytes() / this.count) / 2);
    return this.connection.all(sql, skipped, Math.max(1, Math.min(retained, half)));
  }

  /** Retention follows a system's clock that is far ahead only slowly, and says so. */
  private warnOfClock({ keepDays }: StoreLimits): void {
    this.isCatchingUp = keepDays > 0 && this.count > 0 && this.retentionClock.daysBehind() > 2;
    const { notice } = this.health();
    if (notice !== undefined) this.options.log.warn({ path: this.options.path }, notice);
  }

  private countConversations(): void {
    this.count = this.connection.number("SELECT count(*) FROM conversation WHERE last > 0");
    this.oldestAt = this.firstUse();
  }

  private firstUse(): number {
    return this.connection.number(
      "SELECT created_at FROM conversation WHERE last > 0 ORDER BY last LIMIT 1",
    );
  }

  /** Bytes of the pages in use, without those that wait to be returned to the file system. */
  private usedBytes(): number {
    const pages =
      this.connection.number("PRAGMA page_count") - this.connection.number("PRAGMA freelist_count");
    return pages * 4_096;
  }

  private fileBytes(): number {
    const size = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    return size(this.options.path) + size(`${this.options.path}-wal`);
  }

  // The file

  private assertOpen(): void {
    if (this.isClosed) throw storeErrors.store_unavailable(this.options.path, "it is closed");
  }

  private assertSameFile(): void {
    if (fileId(this.options.path) === this.file) return;
    const reason = "another file has taken its place; restart Doorward to use that one";
    throw storeErrors.store_unavailable(this.options.path, reason);
  }

  /** Runs a read, and turns errors of SQLite into those of the store. */
  reading<T>(run: () => T): T {
    this.assertOpen();
    try {
      return run();
    } catch (error) {
      if (resultCode(error) === 0) throw error;
      throw this.fail(error);
    }
  }

  /** A reader finds everything that was appended before. */
  private beforeReading(): void {
    this.assertOpen();
    this.flush();
    if (this.growth.size > 0 || this.unsaved.size > 0)
      this.attempt(() => {
        this.writeGrowth();
        this.save();
      });
  }

  /**
   * Runs a change in a transaction of its own, after the batch and the sync.
   *
   * @param committed - Runs in the same step as the change.
   */
  private async exclusively<T>(run: () => T, committed?: () => void): Promise<T> {
    for (;;) {
      while (this.batch || this.syncing) {
        this.flush();
        if (this.batch || this.syncing) await (this.syncing ?? pause());
      }
      this.assertOpen();
      const { count } = this;
      const unsaved = [...this.unsaved];
      const growth = [...this.growth];
      let result: T;
      try {
        this.assertSameFile();
        result = this.connection.transaction(run);
      } catch (error) {
        this.restore(unsaved, growth);
        this.count = count;
        if (resultCode(error) === 0) throw error;
        if (resultCode(error) !== codes.busy) throw this.fail(error);
        await new Promise((resolve) => void this.after(busyRetryMs, () => resolve(undefined)));
        continue;
      }
      committed?.();
      if (this.options.durability === "power") await this.whileSyncing(() => this.sync());
      return result;
    }
  }

  /** What was not written is written later. */
  private restore(
    unsaved: readonly Live[],
    growth: readonly [Live, Map<string, () => Uint8Array>][],
  ): void {
    for (const live of unsaved) {
      this.unsaved.add(live);
      this.lives.set(keyOf(live), live);
    }
    for (const [live, messages] of growth) this.growth.set(live, messages);
  }

  private async sync(): Promise<void> {
    this.log ??= fs.openSync(`${this.options.path}-wal`, "r+");
    await fdatasync(this.log);
  }

  private whileSyncing<T>(run: () => Promise<T>): Promise<T> {
    const result = run();
    const settled = result.then(
      () => undefined,
      () => undefined,
    );
    this.syncing = settled;
    void settled.then(() => {
      this.syncing = undefined;
      this.flush();
    });
    return result;
  }

  private refuse({ channel, session }: Live, error: unknown): Error {
    const { path, log } = this.options;
    const text = "a message of this session could not be stored";
    log.error({ err: error, path, channel, session }, text);
    return storeErrors.store_unavailable(path, describeError(error), { cause: error });
  }

  /** Notes that the store fails. @returns The error for callers. */
  private fail(error: unknown): unknown {
    const { path, log, clock } = this.options;
    const reason = describeError(error);
    const known = resultCode(error) === 0 && error instanceof Error ? error : undefined;
    const failure = isDamage(error)
      ? storeErrors.store_unavailable(
          path,
          `${reason}. ${storeErrors.STORE_BROKEN(path, reason).message}`,
          { cause: error },
        )
      : (known ?? storeErrors.store_unavailable(path, reason, { cause: error }));
    if (this.problem === undefined) this.since = clock.now();
    if (this.problem !== failure.message) {
      const sessions = this.batch?.writes.map(({ live }) => live.session) ?? [];
      log.error(
        { err: error, path, sessions: [...new Set(sessions)].slice(0, 20) },
        failure.message,
      );
    }
    this.problem = failure.message;
    this.scheduleTidy(probeMs);
    return failure;
  }

  private noteSuccess(): void {
    if (this.problem === undefined) return;
    this.problem = undefined;
    this.since = this.options.clock.now();
    this.options.log.info({ path: this.options.path }, "conversations are stored again");
  }

  // What can wait

  private after(ms: number, run: () => void): unknown {
    return this.options.clock.setTimeout(run, ms);
  }

  /** Runs work that can wait in a transaction. @returns False if it failed, and has to run again. */
  private attempt(run: () => void): boolean {
    const unsaved = [...this.unsaved];
    const growth = [...this.growth];
    try {
      this.assertSameFile();
      this.connection.transaction(run);
      return true;
    } catch (error) {
      this.restore(unsaved, growth);
      if (resultCode(error) !== codes.busy) this.fail(error);
      return false;
    }
  }

  private scheduleTidy(ms: number): void {
    if (this.isClosed) return;
    this.timers.tidy ??= this.after(ms, () => this.tidy());
  }

  private tidy(): void {
    delete this.timers.tidy;
    if (this.isClosed) return;
    if (this.syncing || this.batch) return this.scheduleTidy(tidyNextMs);
    let hasMore = false;
    const isDone = this.attempt(() => {
      if (this.unsaved.size > 0 || this.problem !== undefined) this.save();
      hasMore = this.upkeep.step();
    });
    if (!isDone) return this.scheduleTidy(probeMs);
    this.noteSuccess();
    if (hasMore) this.scheduleTidy(tidyNextMs);
    if (this.lives.size > maxLives) for (const live of this.lives.values()) this.forgetLive(live);
    const { limits, overfull } = this.options;
    if (limits && this.usedBytes() > limits().maxBytes * overfullRatio) overfull?.();
    else this.isOverfull = false;
  }
}

/** True if the file or the disk is to blame, and not a row (https://www.sqlite.org/rescode.html). */
const isOfFile = (error: unknown): boolean =>
  [3, 5, 7, 8, 10, 11, 13, 14, 26].includes(resultCode(error));

interface SummarizedEntry {
  readonly id: number;
  readonly seq: number;
  readonly at: number;
  readonly kind: number;
  readonly turn: number | null;
  readonly frame: Uint8Array;
}

const addressOf = ({ channel, session }: Row): Address => ({
  channel: String(channel),
  session: String(session),
});

const titleOf = (frame: Uint8Array): string => {
  const { content } = payloadOf(frame);
  return typeof content === "string" ? toTitle(content) : "";
};

const emptyLive = ({ channel, session }: Address): Live => ({
  id: 0,
  publicId: "",
  channel,
  session,
  epoch: "",
  seq: 0,
  committed: 0,
  last: 0,
  title: "",
  titleTurn: 0,
  createdAt: 0,
  usedAt: 0,
  aged: 0,
  turns: 0,
  positions: noPositions,
  open: new Map(),
  requests: new Map(),
  grown: new Set(),
  writes: 0,
});

const summaryOf = (row: Row): Partial<Live> => ({
  id: Number(row.id),
  publicId: String(row.public_id),
  epoch: String(row.epoch),
  committed: Number(row.seq),
  last: Number(row.last),
  title: String(row.title),
  titleTurn: Number(row.title_turn),
  createdAt: Number(row.created_at),
  usedAt: Number(row.used_at),
  aged: Number(row.aged),
  turns: Number(row.turns),
  positions: {
    written: Number(row.written),
    plain: Number(row.plain),
    acknowledged: Number(row.acknowledged),
    resumes: row.resumes === 1,
  },
});
