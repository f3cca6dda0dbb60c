// What follows from the entries and can wait: the index for search, and the removal of conversations.
import type { Connection } from "./driver.ts";
import { getMeta, setMeta } from "./recovery.ts";
import { kinds } from "./schema.ts";

/*
 * `meta.indexed` is the id of the last entry that the index reflects. An entry is in the index if
 * its text is complete and no later entry of its turn up to `indexed` is complete or a deletion.
 * FTS5 needs the old text to delete a row, which is still in the entry, and is damaged by the deletion
 * of a row that it does not have, so the rule must be exact.
 */

/** Milliseconds of one step, roughly. */
const stepMs = 2;
/** Entries and bytes that are indexed together. */
const maxEntries = 250;
const maxBytes = 128 * 1024;
const pagesPerMerge = 32;
const pagesPerShrink = 50;

/** One statement for many entries: each one opens a temporary table, which takes 10 µs. */
const insertWords =
  "INSERT INTO words(rowid, text) SELECT id, text FROM entry_text " +
  "WHERE id IN (SELECT value FROM json_each(?))";
const deleteWords =
  "INSERT INTO words(words, rowid, text) SELECT 'delete', id, text FROM entry_text WHERE id = ?";
const columns = "id, conversation, seq, kind, final, turn";

interface IndexedEntry {
  readonly id: number;
  readonly conversation: number;
  readonly seq: number | null;
  readonly kind: number;
  readonly final: number;
  readonly turn: number | null;
  readonly bytes: number;
}

const hasText = ({ kind, final }: IndexedEntry): boolean =>
  final === 1 && kind !== kinds.other && kind !== kinds.delete;

export class Upkeep {
  private readonly connection: Connection;
  /** Monotonic time in milliseconds. */
  private readonly now: () => number;
  private isMergeDue = true;

  constructor(connection: Connection, now: () => number) {
    this.connection = connection;
    this.now = now;
  }

  /** Id of the last entry that the index reflects. */
  get indexed(): number {
    return Number(getMeta(this.connection, "indexed") ?? 0);
  }

  private hasRemovals(): boolean {
    return this.connection.get("SELECT 1 FROM removal LIMIT 1") !== undefined;
  }

  /** True while entries of deleted conversations are left, or their words in the index. */
  isRemoving(): boolean {
    return this.isMergeDue || this.hasRemovals();
  }

  hasWork(): boolean {
    return this.hasRemovals() || this.nextEntries().length > 0;
  }

  /** Does a part of the work. Call it in a transaction. @returns True if more is left. */
  step(): boolean {
    const end = this.now() + stepMs;
    // First, because FTS5 would merge for up to 20 ms inside a commit.
    while (this.isMergeDue) {
      this.merge();
      if (this.now() > end) return true;
    }
    return this.remove(end) || this.index() || this.shrink();
  }

  private merge(): void {
    const before = this.connection.number("SELECT total_changes()");
    this.connection.run(`INSERT INTO words(words, rank) VALUES ('merge', ${pagesPerMerge})`);
    this.isMergeDue = this.connection.number("SELECT total_changes()") - before > 1;
  }

  private nextEntries(): IndexedEntry[] {
    return this.connection.all(
      `SELECT ${columns}, length(frame) AS bytes FROM entry WHERE id > ? ORDER BY id LIMIT ${maxEntries}`,
      this.indexed,
    ) as unknown as IndexedEntry[];
  }

  private index(): boolean {
    const entries = this.nextEntries();
    if (entries.length === 0) return false;
    const added = new Set<number>();
    const insert = (): void => {
      if (added.size > 0) this.connection.run(insertWords, JSON.stringify([...added]));
      added.clear();
    };
    let bytes = 0;
    let reached = 0;
    for (const entry of entries) {
      if (reached > 0 && bytes + entry.bytes > maxBytes) break;
      bytes += entry.bytes;
      reached = entry.id;
      if (!hasText(entry) && entry.kind !== kinds.delete) continue;
      const replaced = this.replacedBy(entry);
      if (replaced !== undefined) {
        insert();
        this.connection.run(deleteWords, replaced);
      }
      if (entry.kind !== kinds.delete) added.add(entry.id);
    }
    insert();
    setMeta(this.connection, "indexed", reached);
    this.isMergeDue = true;
    return true;
  }

  /** @returns The entry of the same turn that is in the index. */
  private replacedBy({ id, conversation, turn }: IndexedEntry): number | undefined {
    if (turn === null) return undefined;
    const before = this.connection.get(
      "SELECT id, kind FROM (SELECT id, final, kind FROM entry WHERE conversation = ?1 AND seq = ?2 " +
        "UNION ALL SELECT id, final, kind FROM entry WHERE conversation = ?1 AND turn = ?2) " +
        `WHERE id < ?3 AND (final = 1 OR kind = ${kinds.delete}) ORDER BY id DESC LIMIT 1`,
      conversation,
      turn,
      id,
    );
    return before === undefined || before.kind === kinds.delete ? undefined : Number(before.id);
  }

  /** Takes 0.2 to 0.8 ms per entry: FTS5 looks for each word in each part of its index. */
  private remove(end: number): boolean {
    const row = this.connection.get("SELECT conversation FROM removal LIMIT 1");
    if (row === undefined) return false;
    const conversation = Number(row.conversation);
    const entries = this.connection.all(
      `SELECT ${columns}, 0 AS bytes FROM entry WHERE conversation = ? ORDER BY seq LIMIT 100`,
      conversation,
    ) as unknown as IndexedEntry[];
    const { indexed } = this;
    for (const entry of entries) {
      if (this.isIndexed(entry, indexed)) this.connection.run(deleteWords, entry.id);
      this.connection.run("DELETE FROM entry WHERE id = ?", entry.id);
      this.isMergeDue = true;
      if (this.now() > end) return true;
    }
    if (entries.length === 0)
      this.connection.run("DELETE FROM removal WHERE conversation = ?", conversation);
    return true;
  }

  private isIndexed(entry: IndexedEntry, indexed: number): boolean {
    const { id, conversation, seq, turn } = entry;
    if (id > indexed || !hasText(entry)) return false;
    const later = this.connection.get(
      "SELECT 1 FROM entry WHERE conversation = ? AND turn = ? AND seq > ? AND id <= ? " +
        `AND (final = 1 OR kind = ${kinds.delete}) LIMIT 1`,
      conversation,
      turn ?? seq,
      seq,
      indexed,
    );
    return later === undefined;
  }

  /** Returns free pages to the file system. */
  private shrink(): boolean {
    const free = this.connection.number("PRAGMA freelist_count");
    if (free > 0) this.connection.all(`PRAGMA incremental_vacuum(${pagesPerShrink})`);
    return free > pagesPerShrink;
  }
}
