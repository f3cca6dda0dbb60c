/**
 * The rows of conversations and entries, and what is known of the conversations in use. Everything
 * that writes runs inside a transaction of `store.ts`.
 */
import type { Clock } from "../../../kernel/index.ts";
import { keyOf } from "../../../lib/util.ts";
import type { Address, StoredEnd } from "../contract.ts";
import type { StoredStream } from "../log/stream.ts";
import type { TakenId } from "../contract.ts";
import { payloadOf, toShortTitle, toTitle } from "../turn-frames.ts";
import { writeEnd } from "./answers.ts";
import { DeletedIds } from "./deleted-ids.ts";
import type { Connection, Row } from "./driver.ts";
import type { History } from "./history.ts";
import {
  addressOf,
  emptyLive,
  summaryOf,
  type Growth,
  type Live,
  type NewEntry,
  type Taken,
} from "./live.ts";
import { getMeta, setMeta } from "./recovery.ts";
import { QuestionIndex } from "./question-index.ts";
import { SteadyClock } from "../../../lib/steady-clock.ts";
import { kinds, kindsByType } from "./schema.ts";

/** Limits of the store. `keepDays` 0 keeps conversations indefinitely. */
export interface StoreLimits {
  readonly keepDays: number;
  readonly maxBytes: number;
}

interface RowsOptions {
  readonly clock: Clock;
  readonly random: (bytes: number) => Uint8Array;
  readonly history: History;
  /** Id of the last entry that the index for search reflects. */
  readonly indexed: number;
}

/** Entries in which the id of a message is looked for, ids that are kept, and for how long. */
const maxLooked = 2_048;
const maxTaken = 1_024;
const takenMs = 600_000;
/** Ids of messages that a conversation in use knows without looking. */
const maxRequests = 64;
/** Conversations in memory. */
const maxLives = 20_000;
/** Bounds of the frames that a stream is continued with. */
const maxFrames = 256;
const maxFrameBytes = 512 * 1024;
/** Conversations that retention deletes in one transaction: a step of 2 ms, roughly. */
const retained = 8;
const dayMs = 86_400_000;

export class Rows {
  /** Conversations whose row is older than their entries. */
  readonly unsaved = new Set<Live>();
  /** The latest text of messages that grow, until it is stored. */
  readonly growth = new Map<Live, Growth>();
  readonly retentionClock: SteadyClock;
  /** Measures how long ids are known: only while Doorward runs, whatever the system clock says. */
  private readonly idClock: SteadyClock;
  readonly questions: QuestionIndex;
  readonly deleted: DeletedIds;
  /** Conversations with entries. */
  count: number;
  /** Unix milliseconds of the first entry of the least recently used conversation, or 0. */
  oldestAt: number;
  private readonly connection: Connection;
  private readonly options: RowsOptions;
  private readonly lives = new Map<string, Live>();
  private nextId: number;

  constructor(connection: Connection, options: RowsOptions) {
    this.connection = connection;
    this.options = options;
    this.questions = new QuestionIndex(connection);
    const last = connection.number("SELECT max(id) FROM entry");
    const lastUsed = connection.number("SELECT max(last) FROM conversation");
    // No id is used twice, also if its entry was forgotten.
    const marks = [options.indexed, Number(getMeta(connection, "saved") ?? 0)];
    this.nextId = 1 + Math.max(last, lastUsed, ...marks);
    const newest = connection.number("SELECT max(aged) FROM conversation");
    const saved = Number(getMeta(connection, "clock") ?? 0);
    this.retentionClock = new SteadyClock(options.clock, Math.max(newest, saved) || undefined);
    const ids = getMeta(connection, "ids");
    this.idClock = new SteadyClock(options.clock, ids ? Number(ids) : undefined, 0);
    const now = (): number => this.idClock.read();
    this.deleted = new DeletedIds(connection, { random: options.random, now });
    this.count = 0;
    this.oldestAt = 0;
    this.completeSummaries();
    this.count = connection.number("SELECT count(*) FROM conversation WHERE last > 0");
    this.oldestAt = this.firstUse();
  }

  /** The conversation of a session, if it is in use. */
  live(address: Address): Live | undefined {
    return this.lives.get(keyOf(address.channel, address.session));
  }

  /** Forgets what is known about a conversation that is not in use. */
  release(address: Address): void {
    const live = this.live(address);
    if (live === undefined || live.writes > 0 || this.unsaved.has(live) || this.growth.has(live))
      return;
    this.lives.delete(keyOf(live.channel, live.session));
  }

  /** Forgets conversations that are not in use, if there are many. */
  releaseMany(): void {
    if (this.lives.size > maxLives) for (const live of this.lives.values()) this.release(live);
  }

  /**
   * Notes what is not written yet, before a transaction that may fail.
   *
   * @returns Call it after the failure: all of it is written later.
   */
  snapshot(): () => void {
    const { count } = this;
    const unsaved = [...this.unsaved];
    const growth = [...this.growth];
    return () => {
      this.count = count;
      for (const live of unsaved) {
        this.unsaved.add(live);
        this.lives.set(keyOf(live.channel, live.session), live);
      }
      for (const [live, messages] of growth) this.growth.set(live, messages);
    };
  }

  private rowOf({ channel, session }: Address): Row | undefined {
    const sql = "SELECT * FROM conversation WHERE channel = ? AND session = ?";
    return this.connection.get(sql, channel, session);
  }

  find(address: Address): Live | undefined {
    const known = this.lives.get(keyOf(address.channel, address.session));
    if (known !== undefined) return known;
    const row = this.rowOf(address);
    if (row === undefined) return undefined;
    const live = { ...emptyLive(address), ...summaryOf(row) } as Live;
    this.readGrown(live);
    this.summarizeLater(live);
    live.seq = live.committed;
    this.lives.set(keyOf(live.channel, live.session), live);
    return live;
  }

  /** @param epoch - Of a stream that is new; otherwise it has the one of its row. */
  liveOf(address: Address, epoch?: string): Live {
    const found = this.find(address);
    if (found?.id === 0 && epoch !== undefined) found.epoch = epoch;
    if (found) return found;
    const hex = (bytes: number): string => Buffer.from(this.options.random(bytes)).toString("hex");
    const live: Live = { ...emptyLive(address), publicId: hex(12), epoch: epoch ?? hex(8) };
    this.lives.set(keyOf(live.channel, live.session), live);
    return live;
  }

  /** After a kill, entries are newer than the row of their conversation. */
  private summarizeLater(live: Live): void {
    const later = this.connection.all(
      "SELECT id, seq, at, kind, turn, frame FROM entry " +
        "WHERE conversation = ? AND seq > ? ORDER BY seq",
      live.id,
      live.committed,
    );
    for (const entry of later) this.summarize(live, entry as unknown as SummarizedEntry);
  }

  private summarize(live: Live, { id, seq, at, kind, turn, frame }: SummarizedEntry): void {
    live.committed = seq;
    if (kind === kinds.quiet) return void this.unsaved.add(live);
    if (live.last === 0) this.count += 1;
    live.last = id;
    live.createdAt ||= at;
    live.usedAt = Math.max(live.usedAt, at);
    live.aged = 0;
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
    else if (opener === live.titleTurn) {
      const next = this.options.history.firstTitle(live.id, opener);
      Object.assign(live, { title: "", titleTurn: 0 }, next);
    }
  }

  /** Sets a title of the application, which the first words do not replace. */
  setTitle(row: Row, title: string): void {
    const live = this.liveOf(addressOf(row));
    Object.assign(live, { title: toShortTitle(title), titleTurn: ownTitle });
    this.unsaved.add(live);
    this.save();
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

  /** Stores the end of an answer, unless its conversation is deleted. */
  noteEnd(live: Live, request: string, end: StoredEnd | undefined): void {
    const isKept = this.lives.get(keyOf(live.channel, live.session)) === live;
    if (isKept && live.id !== 0) writeEnd(this.connection, live.id, request, end);
  }

  /** Writes the rows of the conversations that changed. Call it in a transaction. */
  save(): void {
    const now = this.retentionClock.read();
    for (const live of this.unsaved) {
      live.aged ||= now;
      const { written, plain, acknowledged, resumes } = live.positions;
      this.connection.run(
        "UPDATE conversation SET seq = ?, last = ?, title = ?, title_turn = ?, created_at = ?, " +
          "used_at = ?, aged = ?, turns = ?, written = ?, plain = ?, acknowledged = ?, " +
          "resumes = ?, folded = CASE WHEN name IS NULL THEN ? ELSE folded END WHERE id = ?",
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
    setMeta(this.connection, "clock", now);
    setMeta(this.connection, "ids", this.idClock.read());
    this.unsaved.clear();
  }

  latestFrames({ id, committed }: Live): StoredStream["frames"] {
    const sql =
      "SELECT seq, message, frame FROM entry WHERE conversation = ? AND seq <= ? " +
      "ORDER BY seq DESC LIMIT 32";
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

  /** Reads the ids of a session of the last ten minutes of running, at most 1,024, oldest first. */
  knownIds(address: Address): readonly TakenId[] {
    const now = this.idClock.read();
    const conversation = this.find(address)?.id ?? 0;
    return [...this.begunIds(conversation), ...this.takenIds(conversation, now)];
  }

  private takenIds(conversation: number, now: number): readonly TakenId[] {
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
  }

  /** Messages among the newest entries that were not accepted, so that they have no age. */
  private begunIds(conversation: number): readonly TakenId[] {
    const rows = this.connection.all(
      "SELECT request FROM (SELECT request, kind, taken FROM entry " +
        `WHERE conversation = ? ORDER BY seq DESC LIMIT ${maxLooked}) ` +
        `WHERE kind = ${kinds.user} AND taken IS NULL AND request IS NOT NULL`,
      conversation,
    );
    return rows.reverse().map(({ request }) => ({ id: String(request), ageMs: 0, begun: true }));
  }

  ensureRow(live: Live): void {
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

  insert(live: Live, seq: number, at: number, entry: NewEntry, taken: Taken | undefined): void {
    this.ensureRow(live);
    const { type = "", message, final = false, request, answers, question, frame } = entry;
    const kind = question?.isQuiet ? kinds.quiet : (kindsByType[type] ?? kinds.other);
    const turn = message === undefined ? null : this.turnOf(live, seq, kind, final, message);
    const id = this.nextId++;
    this.connection.run(
      "INSERT INTO entry(id, conversation, seq, at, kind, final, turn, message, request, digest, " +
        "taken, frame) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      id,
      live.id,
      seq,
      at,
      kind,
      final ? 1 : 0,
      turn,
      message ?? null,
      request ?? null,
      taken?.digest ?? null,
      taken ? this.takenAt(taken.isStopped) : null,
      frame,
    );
    if (message !== undefined && (final || kind === kinds.update || kind === kinds.delete))
      this.endGrowth(live, message);
    if (request !== undefined) this.remember(live, request, id, taken !== undefined);
    if (answers !== undefined) this.takeAnswered(live, answers);
    if (taken !== undefined) this.questions.taken(live.id, request!);
    if (question !== undefined) this.questions.note(live.id, message!, seq, question);
    this.summarize(live, { id, seq, at, kind, turn, frame });
  }

  /** @returns The entry that opened the turn which an entry changes; null if it opens one. */
  private turnOf(
    live: Live,
    seq: number,
    kind: number,
    final: boolean,
    message: string,
  ): number | null {
    const isOpen = !final && kind !== kinds.delete;
    const known = live.open.get(message);
    const opener = known ?? (isChange(kind) ? this.findTurn(live, message) : null);
    if (!isOpen) live.open.delete(message);
    else if (opener === null && kind !== kinds.user) live.open.set(message, seq);
    return kind === kinds.user ? null : opener;
  }

  private findTurn({ id }: Live, message: string): number | null {
    const row = this.connection.get(
      "SELECT seq, turn, kind FROM entry WHERE conversation = ? AND seq IS NOT NULL " +
        "AND message = ? AND kind > 1 ORDER BY seq DESC LIMIT 1",
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

  /** The value of `entry.taken`. */
  private takenAt(isStopped: boolean): number {
    const at = Math.max(1, this.idClock.read());
    return isStopped ? -at : at;
  }

  /** A message whose complete answer is stored is not handled again, whatever happens next. */
  private takeAnswered(live: Live, request: string): void {
    const known = live.requests.get(request);
    if (known?.isTaken) return;
    const entry = known?.entry ?? this.findRequest(live, request);
    if (entry === undefined) return;
    this.remember(live, request, entry, true);
    this.questions.taken(live.id, request);
    this.connection.run(
      "UPDATE entry SET taken = ? WHERE id = ? AND taken IS NULL",
      this.takenAt(false),
      entry,
    );
  }

  take(live: Live, request: string, taken: Taken): void {
    this.ensureRow(live);
    this.questions.taken(live.id, request);
    const entry = live.requests.get(request)?.entry ?? this.findRequest(live, request);
    if (entry === undefined) return this.takeAlone(live, request, taken);
    this.remember(live, request, entry, true);
    const set = "UPDATE entry SET digest = ?, taken = ? WHERE id = ?";
    this.connection.run(set, taken.digest, this.takenAt(taken.isStopped), entry);
  }

  /** The message has no entry: it was stopped before that, or its channel has none. */
  private takeAlone({ id }: Live, request: string, taken: Taken): void {
    this.connection.run(
      "INSERT INTO entry(id, conversation, seq, at, kind, final, request, digest, taken, frame) " +
        "VALUES (?, ?, NULL, ?, 0, 1, ?, ?, ?, x'')",
      this.nextId++,
      id,
      this.options.clock.now(),
      request,
      taken.digest,
      this.takenAt(taken.isStopped),
    );
    if (this.nextId % 256 !== 0) return;
    const own = "FROM entry WHERE conversation = ?1 AND seq IS NULL";
    this.connection.run(
      `DELETE ${own} AND id <= (SELECT id ${own} ORDER BY id DESC LIMIT 1 OFFSET ${maxTaken})`,
      id,
    );
  }

  findRequest({ id, committed }: Live, request: string): number | undefined {
    const row = this.connection.get(
      "SELECT id FROM entry WHERE conversation = ? AND seq > ? AND request = ? " +
        "ORDER BY seq DESC LIMIT 1",
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

  writeGrowth(): void {
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

  /**
   * Numbers, ids and turns in memory are again those of the file.
   *
   * @param keepsNumbers - The same entries are written again.
   */
  reload(lives: Iterable<Live>, keepsNumbers = false): void {
    for (const live of new Set(lives)) {
      try {
        this.read(live, keepsNumbers);
      } catch (error) {
        if (keepsNumbers) throw error;
        // The file cannot be read either: the session is read again when it is used.
        this.lives.delete(keyOf(live.channel, live.session));
      }
    }
  }

  private read(live: Live, keepsNumbers: boolean): void {
    const { positions, seq, writes, publicId, epoch } = live;
    this.unsaved.delete(live);
    const row = this.rowOf(live);
    if (live.last > 0) this.count -= 1;
    Object.assign(live, emptyLive(live), row ? summaryOf(row) : { publicId, epoch });
    Object.assign(live, { positions, writes });
    if (live.last > 0) this.count += 1;
    if (row) this.readGrown(live);
    if (row) this.summarizeLater(live);
    live.seq = keepsNumbers ? seq : live.committed;
    if (!row && !keepsNumbers) this.lives.delete(keyOf(live.channel, live.session));
  }

  private readGrown({ id, grown }: Live): void {
    const sql = "SELECT message FROM growing WHERE conversation = ?";
    for (const { message } of this.connection.all(sql, id)) grown.add(String(message));
  }

  /** Makes conversations invisible; their entries follow in steps. Call it in a transaction. */
  hide(rows: readonly Row[]): void {
    for (const row of rows) {
      const id = Number(row.id);
      const { channel, session } = addressOf(row);
      const ids = [...this.begunIds(id), ...this.takenIds(id, this.idClock.read())];
      const names = ids.map((known) => known.id);
      this.deleted.add({ channel, session }, names);
      const key = keyOf(channel, session);
      const live = this.lives.get(key);
      if (live) {
        this.unsaved.delete(live);
        this.growth.delete(live);
        this.lives.delete(key);
      }
      this.connection.run("INSERT INTO removal VALUES (?)", id);
      this.connection.run("DELETE FROM growing WHERE conversation = ?", id);
      this.questions.forget(id);
      this.connection.run("DELETE FROM conversation WHERE id = ?", id);
      if (Number(row.last) > 0) this.count -= 1;
    }
    if (rows.length > 0) this.oldestAt = this.firstUse();
  }

  expired({ keepDays, maxBytes }: StoreLimits, skip: readonly number[]): Row[] {
    const sql =
      "SELECT * FROM conversation WHERE last > 0 AND id NOT IN (SELECT value FROM json_each(?)) " +
      "ORDER BY last LIMIT ?";
    // A conversation with an open question is in use.
    const skipped = JSON.stringify([...skip, ...this.questions.conversations()]);
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

  private firstUse(): number {
    return this.connection.number(
      "SELECT created_at FROM conversation WHERE last > 0 ORDER BY last LIMIT 1",
    );
  }

  /** Bytes of the pages in use, without those that wait to be returned to the file system. */
  usedBytes(): number {
    const pages =
      this.connection.number("PRAGMA page_count") - this.connection.number("PRAGMA freelist_count");
    return pages * 4_096;
  }
}

/** True for entries of a message that an earlier entry has created. */
const isChange = (kind: number): boolean => kind > kinds.create;

interface SummarizedEntry {
  readonly id: number;
  readonly seq: number;
  readonly at: number;
  readonly kind: number;
  readonly turn: number | null;
  readonly frame: Uint8Array;
}

/** `title_turn` of a title that the application set: no turn has this number. */
const ownTitle = -Number.MAX_SAFE_INTEGER;

const titleOf = (frame: Uint8Array): string => {
  const { content } = payloadOf(frame);
  return typeof content === "string" ? toTitle(content) : "";
};
