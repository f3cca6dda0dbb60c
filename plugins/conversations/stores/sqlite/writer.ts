// Writes batches.
import type { Address } from "../../../channels/index.ts";
import type { Connection } from "./connection.ts";
import type { Row } from "./driver.ts";
import type { StreamPositions } from "../storage.ts";
import { payloadOf, toTitle } from "./frames.ts";
import type { Identifiers } from "./identifiers.ts";
import { operations, type PackedBatch } from "./protocol.ts";
import { opensTurn, operationBefore, readTurns, turnSeq } from "./turns.ts";

/** The columns of a conversation that batches change. */
interface LiveRow {
  readonly id: number;
  epoch: string;
  seq: number;
  createdAt: number | null;
  usedAt: number;
  turns: number;
  title: string;
  titleRank: number;
  titleMessage: string | null;
  titleSeq: number;
  isRetitled: boolean;
  positions: StreamPositions;
}

/** Conversations that began with a batch. */
export interface Written {
  begun: number;
  /** Unix milliseconds of the first entry of the oldest one. */
  oldestAt: number | undefined;
}

interface WrittenEntry {
  readonly seq: number;
  readonly message: string | null;
  readonly op: number;
  readonly final: number;
  readonly at: number;
  readonly frame: Uint8Array;
}

/** Rows that are kept in memory between batches. */
const maxRows = 20_000;
/** Batches between two deletions of ids that are no longer needed. */
const batchesPerPruning = 64;
/** How long ids of messages are known, in milliseconds. */
export const takenMs = 600_000;
/** Turns that are searched for a title after the titled message was deleted. */
const titleTurns = 200;

const toLiveRow = (row: Row): LiveRow => ({
  id: Number(row.id),
  epoch: String(row.epoch),
  seq: Number(row.seq),
  createdAt: row.created_at as number | null,
  usedAt: Number(row.used_at),
  turns: Number(row.turns),
  title: String(row.title),
  titleRank: Number(row.title_rank),
  titleMessage: row.title_message as string | null,
  titleSeq: Number(row.title_seq),
  isRetitled: false,
  positions: {
    written: Number(row.written),
    plain: Number(row.plain),
    acknowledged: Number(row.acknowledged),
    resumes: row.resumes === 1,
  },
});

const titleOf = (frame: Uint8Array): string => {
  const { content } = payloadOf(frame);
  return typeof content === "string" ? toTitle(content) : "";
};

interface Title {
  readonly title: string;
  readonly rank: number;
  readonly message: string | null;
  /** Number of the entry that begins the turn. */
  readonly seq: number;
}

function setTitle(row: LiveRow, { title, rank, message, seq }: Title): void {
  if (title === "") return;
  Object.assign(row, { title, titleRank: rank, titleMessage: message, titleSeq: seq });
  row.isRetitled = true;
}

const keyOf = ({ channel, session }: Address): string => `${channel}\0${session}`;

export class Writer {
  private readonly connection: Connection;
  private readonly identifiers: Identifiers;
  private rows = new Map<string, LiveRow>();
  private readonly changed = new Set<LiveRow>();
  private batches = 0;

  constructor(connection: Connection, identifiers: Identifiers) {
    this.connection = connection;
    this.identifiers = identifiers;
  }

  /** Forgets what is known about conversations, because they may have changed. */
  reset(): void {
    this.rows = new Map();
    this.changed.clear();
  }

  /** The last number of a stream; undefined if there is none. */
  seqOf(address: Address): number | undefined {
    return this.find(address)?.seq;
  }

  /** Whether a conversation has entries. */
  hasBegun(address: Address): boolean {
    const createdAt = this.find(address)?.createdAt;
    return createdAt !== undefined && createdAt !== null;
  }

  /** Writes batches in their order. Call it in a transaction, and `reset` if that fails. */
  write(batches: readonly PackedBatch[]): Written {
    const written: Written = { begun: 0, oldestAt: undefined };
    for (const batch of batches) {
      for (const { address, epoch, seq } of batch.streams)
        this.begin(batch.addresses[address]!, epoch, seq);
      this.writeEntries(batch, written);
      this.writeTaken(batch);
      this.writePositions(batch);
    }
    for (const row of this.changed) this.save(row);
    this.changed.clear();
    if (this.rows.size > maxRows) this.reset();
    return written;
  }

  private begin(address: Address, epoch: string, seq: number): void {
    const row = this.find(address);
    if (row === undefined) return void this.create(address, epoch, seq);
    if (seq < row.seq) throw new Error(`the stream begins at ${seq}, below its end ${row.seq}`);
    row.epoch = epoch;
    row.seq = seq;
    this.changed.add(row);
  }

  private find(address: Address): LiveRow | undefined {
    const key = keyOf(address);
    const known = this.rows.get(key);
    if (known !== undefined) return known;
    const found = this.connection.get(
      "SELECT * FROM conversation WHERE channel = ? AND session = ?",
      address.channel,
      address.session,
    );
    if (found === undefined) return undefined;
    const row = toLiveRow(found);
    this.rows.set(key, row);
    return row;
  }

  private findOrCreate(address: Address): LiveRow {
    return this.find(address) ?? this.create(address);
  }

  private create(address: Address, epoch?: string, seq = 0): LiveRow {
    const random = this.identifiers.next();
    this.connection.run(
      "INSERT INTO conversation(public_id, channel, session, epoch, seq) VALUES (?, ?, ?, ?, ?)",
      random.slice(0, 24),
      address.channel,
      address.session,
      epoch ?? random.slice(24, 40),
      seq,
    );
    return this.find(address)!;
  }

  private writeEntries({ addresses, entries, frames }: PackedBatch, written: Written): void {
    const rows: (LiveRow | undefined)[] = [];
    let offset = 0;
    for (let at = 0; at < entries.seq.length; at++) {
      const place = entries.address[at]!;
      const row = (rows[place] ??= this.findOrCreate(addresses[place]!));
      const end = offset + entries.size[at]!;
      if (row.createdAt === null) {
        written.begun += 1;
        written.oldestAt = Math.min(written.oldestAt ?? Infinity, entries.at[at]!);
      }
      this.writeEntry(row, {
        seq: entries.seq[at]!,
        message: entries.message[at] ?? null,
        op: entries.op[at]!,
        final: entries.final[at]!,
        at: entries.at[at]!,
        frame: frames.subarray(offset, end),
      });
      offset = end;
    }
  }

  private writeEntry(row: LiveRow, entry: WrittenEntry): void {
    const { seq, message, op, final, at, frame } = entry;
    if (seq <= row.seq) throw new Error(`number ${seq} follows ${row.seq} in its stream`);
    const opens = this.count(row, entry);
    this.connection.run(
      "INSERT INTO entry(conversation, seq, message, op, final, at, data) " +
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
      row.id,
      seq,
      message,
      op,
      final,
      at,
      frame,
    );
    row.seq = seq;
    row.createdAt ??= at;
    row.usedAt = Math.max(row.usedAt, at);
    this.changed.add(row);
    this.retitle(row, entry, opens);
  }

  /** Counts the turns of a conversation. @returns Whether this entry begins one. */
  private count(row: LiveRow, { op, message, seq }: WrittenEntry): boolean {
    if (op === operations.other) return false;
    if (op === operations.delete) {
      if (message !== null) row.turns -= this.turnsOf(row.id, message);
      return false;
    }
    const opens =
      op === operations.user ||
      message === null ||
      opensTurn(operationBefore(this.connection, row.id, message, seq));
    if (opens) row.turns += 1;
    return opens;
  }

  /** Counts the turns of a message that its deletion ends. */
  private turnsOf(conversation: number, message: string): number {
    const since =
      "seq > coalesce((SELECT max(seq) FROM entry WHERE conversation = ?1 AND message = ?2 " +
      "AND op = 4), -1)";
    return this.connection.number(
      "SELECT count(CASE WHEN op = 1 THEN 1 END) + (count(CASE WHEN op > 1 THEN 1 END) > 0) " +
        `FROM entry WHERE conversation = ?1 AND message = ?2 AND op > 0 AND ${since}`,
      conversation,
      message,
    );
  }

  /**
   * Sets the title if this entry changes it. Runs after the entry was inserted.
   *
   * @param opens - Whether the entry begins a turn.
   */
  private retitle(row: LiveRow, { op, message, seq, frame }: WrittenEntry, opens: boolean): void {
    if (op === operations.other) return;
    if (op === operations.delete) {
      if (message !== null && row.titleMessage === message) this.findTitle(row);
    } else if (opens) {
      const rank = op === operations.user ? 2 : 1;
      if (rank > row.titleRank) setTitle(row, { title: titleOf(frame), rank, message, seq });
    } else if (row.titleRank < 2) {
      const begins = turnSeq(this.connection, row.id, message!);
      if (row.titleRank === 0 || begins <= row.titleSeq) this.findTitle(row);
    }
  }

  private findTitle(row: LiveRow): void {
    Object.assign(row, { title: "", titleRank: 0, titleMessage: null, isRetitled: true });
    const search = { from: -1, isForward: true, limit: titleTurns };
    for (const { id, role, content, seq } of readTurns(this.connection, row.id, search)) {
      const rank = role === "user" ? 2 : 1;
      const title = toTitle(content);
      if (rank > row.titleRank) setTitle(row, { title, rank, message: id, seq });
      if (row.titleRank === 2) return;
    }
  }

  private writeTaken({ addresses, taken }: PackedBatch): void {
    for (const { address, id, digest, at, stopped } of taken) {
      const row = this.findOrCreate(addresses[address]!);
      this.connection.run(
        "INSERT INTO taken(conversation, message, digest, at, stopped) VALUES (?, ?, ?, ?, ?)",
        row.id,
        id,
        digest,
        at,
        Number(stopped),
      );
      if (row.createdAt !== null) continue;
      row.usedAt = Math.max(row.usedAt, at);
      this.changed.add(row);
    }
    const latest = taken.at(-1);
    if (latest === undefined || this.batches++ % batchesPerPruning !== 0) return;
    this.connection.run(
      "DELETE FROM taken WHERE id IN (SELECT id FROM taken ORDER BY id LIMIT 1000) AND at < ?",
      latest.at - takenMs,
    );
  }

  private writePositions({ addresses, positions }: PackedBatch): void {
    for (const { address, written, plain, acknowledged, resumes } of positions) {
      const row = this.find(addresses[address]!);
      if (row === undefined) continue;
      row.positions = { written, plain, acknowledged, resumes };
      this.changed.add(row);
    }
  }

  private save(row: LiveRow): void {
    const { written, plain, acknowledged, resumes } = row.positions;
    this.connection.run(
      "UPDATE conversation SET epoch = ?, seq = ?, created_at = ?, used_at = ?, turns = ?, " +
        "written = ?, plain = ?, acknowledged = ?, resumes = ? WHERE id = ?",
      row.epoch,
      row.seq,
      row.createdAt,
      row.usedAt,
      row.turns,
      written,
      plain,
      acknowledged,
      Number(resumes),
      row.id,
    );
    if (!row.isRetitled) return;
    row.isRetitled = false;
    this.connection.run(
      "UPDATE conversation SET title = ?, title_rank = ?, title_message = ?, title_seq = ?, " +
        "folded = CASE WHEN name IS NULL THEN ? ELSE folded END WHERE id = ?",
      row.title,
      row.titleRank,
      row.titleMessage,
      row.titleSeq,
      row.title.toLowerCase(),
      row.id,
    );
  }
}
