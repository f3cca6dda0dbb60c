// Work that follows from the entries and can wait: the index for search, and the removal of
// conversations.
import { removeEnds } from "./answers.ts";
import type { Connection, Row, SqlValue } from "./driver.ts";
import { getMeta, setMeta } from "./recovery.ts";
import { kinds } from "./schema.ts";

/*
 * `meta.indexed` is the id of the last entry that the index reflects. An entry is in the index if
 * its text is complete and no later entry of its turn up to `indexed` is complete or a deletion.
 * FTS5 needs the old text to delete a row, which is still in the entry, and is damaged by the
 * deletion of a row that it does not have, so the rule must be exact.
 */

/** Milliseconds of one step, roughly. */
const stepMs = 2;
/** Entries and bytes that are indexed together. */
const maxEntries = 250;
const maxBytes = 128 * 1024;
const pagesPerMerge = 32;
/** A conversation with more entries, and more than this part of the pages of the file, is large. */
const smallEntries = 200;
const pagesPerEntry = 50;
const pagesPerShrink = 50;

/** True for an entry that is in the index while `meta.indexed` is `?1`. */
const isIndexed =
  `entry.id <= ?1 AND final = 1 AND kind NOT IN (${kinds.other}, ${kinds.delete}) ` +
  "AND NOT EXISTS (SELECT 1 FROM entry AS later WHERE later.conversation = entry.conversation " +
  "AND later.turn = coalesce(entry.turn, entry.seq) AND later.seq > entry.seq " +
  `AND later.id <= ?1 AND (later.final = 1 OR later.kind = ${kinds.delete}))`;
/** One statement for many entries: each one opens a temporary table, which takes 10 µs. */
const insertWords =
  "INSERT INTO words(rowid, text) SELECT id, text FROM entry_text WHERE id IN " +
  `(SELECT id FROM entry WHERE id > ?2 AND ${isIndexed})`;
const deleteWords =
  "INSERT INTO words(words, rowid, text) SELECT 'delete', id, text FROM entry_text WHERE id = ?";
/** The next entries: the id of the last one that is indexed now, and of the last one. */
const nextStep =
  "SELECT max(id) FILTER (WHERE sum <= ?2 OR sum = bytes) AS reached, max(id) AS last, " +
  "count(*) AS count FROM (SELECT id, bytes, sum(bytes) OVER (ORDER BY id) AS sum FROM " +
  `(SELECT id, length(frame) AS bytes FROM entry WHERE id > ?1 ORDER BY id LIMIT ${maxEntries}))`;

export class Upkeep {
  private readonly connection: Connection;
  /** Monotonic time in milliseconds. */
  private readonly now: () => number;
  private isMergeDue = true;
  /** The conversation that is being removed. */
  private removed: { readonly conversation: number; readonly isLarge: boolean } | undefined;

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
    return this.isMergeDue || this.hasRemovals() || this.erasing !== undefined;
  }

  /** How many deleted conversations have entries or words left. */
  removing(): number {
    const left = this.connection.number("SELECT count(*) FROM removal");
    return left === 0 && this.erasing !== undefined ? 1 : left;
  }

  hasWork(): boolean {
    const sql = "SELECT 1 FROM entry WHERE id > ? LIMIT 1";
    const isDue = this.hasRemovals() || this.erasing !== undefined;
    return isDue || this.connection.get(sql, this.indexed) !== undefined;
  }

  /**
   * `deletes` while words are deleted in the ordinary way, which leaves them in the older parts of
   * the index; `merges` while all parts are merged to one, which erases them. It survives a kill.
   */
  private get erasing(): SqlValue | undefined {
    return getMeta(this.connection, "erasing");
  }

  /** Does a part of the work. Call it in a transaction. @returns True if more is left. */
  step(): boolean {
    const end = this.now() + stepMs;
    // First, because FTS5 would merge for up to 20 ms inside a commit.
    while (this.isMergeDue) {
      this.merge();
      if (this.now() > end) return true;
    }
    return this.remove(end) || this.erase() || this.index() || this.shrink();
  }

  private merge(): void {
    const before = this.connection.number("SELECT total_changes()");
    this.connection.run(`INSERT INTO words(words, rank) VALUES ('merge', ${pagesPerMerge})`);
    this.isMergeDue = this.connection.number("SELECT total_changes()") - before > 1;
  }

  /** @returns False if it has reached the last entry. Few entries wait for more: see `store.ts`. */
  private index(): boolean {
    const { indexed } = this;
    const { reached, last, count } = this.connection.get(nextStep, indexed, maxBytes)!;
    if (count === 0) return false;
    for (const { id } of this.replaced(indexed, Number(reached)))
      this.connection.run(deleteWords, id!);
    this.connection.run(insertWords, reached!, indexed);
    setMeta(this.connection, "indexed", Number(reached));
    this.isMergeDue = true;
    return reached !== last || count === maxEntries;
  }

  /** @returns The entries in the index whose turns have a later text, or are deleted. */
  private replaced(indexed: number, reached: number): Row[] {
    const turns = this.connection.all(
      "SELECT DISTINCT conversation, turn FROM entry WHERE id > ? AND id <= ? " +
        `AND turn IS NOT NULL AND (final = 1 OR kind = ${kinds.delete})`,
      indexed,
      reached,
    );
    const ofTurn = "SELECT id FROM entry WHERE conversation = ?2";
    const sql =
      `${ofTurn} AND seq = ?3 AND ${isIndexed} UNION ALL ` +
      `${ofTurn} AND turn = ?3 AND ${isIndexed}`;
    return turns.flatMap(({ conversation, turn }) =>
      this.connection.all(sql, indexed, conversation!, turn!),
    );
  }

  /** Merges the parts of the index to one, after ordinary deletes.
   *  @returns True if more is left. */
  private erase(): boolean {
    const { erasing } = this;
    if (erasing === undefined) return false;
    if (erasing === "merges") {
      // `step` has merged until nothing was left.
      this.connection.run("DELETE FROM meta WHERE key = 'erasing'");
      return true;
    }
    this.connection.run("INSERT INTO words(words, rank) VALUES ('secure-delete', 1)");
    this.connection.run(`INSERT INTO words(words, rank) VALUES ('merge', -${pagesPerMerge})`);
    setMeta(this.connection, "erasing", "merges");
    this.isMergeDue = true;
    return true;
  }

  /**
   * A secure delete takes 0.2 to 0.8 ms per entry, because FTS5 looks for each word in each part of
   * its index. For a large conversation, ordinary deletes and a merge of the index take a ninth.
   */
  private beginRemoval(conversation: number): void {
    if (this.removed?.conversation === conversation) return;
    const pages = this.connection.number("PRAGMA page_count");
    const most = Math.max(smallEntries, Math.floor(pages / pagesPerEntry));
    const count = "SELECT count(*) FROM (SELECT 1 FROM entry WHERE conversation = ? LIMIT ?)";
    const isLarge = this.connection.number(count, conversation, most + 1) > most;
    this.removed = { conversation, isLarge };
    if (!isLarge) return;
    this.connection.run("INSERT INTO words(words, rank) VALUES ('secure-delete', 0)");
    setMeta(this.connection, "erasing", "deletes");
  }

  private remove(end: number): boolean {
    const row = this.connection.get("SELECT conversation FROM removal LIMIT 1");
    if (row === undefined) return false;
    this.beginRemoval(Number(row.conversation));
    while (removeEnds(this.connection, Number(row.conversation))) if (this.now() > end) return true;
    const entries = this.connection.all(
      `SELECT id, ${isIndexed} AS indexed FROM entry WHERE conversation = ?2 ` +
        "ORDER BY seq LIMIT 100",
      this.indexed,
      row.conversation!,
    );
    for (const { id, indexed } of entries) {
      if (indexed === 1) this.connection.run(deleteWords, id!);
      this.connection.run("DELETE FROM entry WHERE id = ?", id!);
      this.isMergeDue = true;
      if (this.now() > end) return true;
    }
    if (entries.length === 0)
      this.connection.run("DELETE FROM removal WHERE conversation = ?", row.conversation!);
    return true;
  }

  /** Returns free pages to the file system. */
  private shrink(): boolean {
    const free = this.connection.number("PRAGMA freelist_count");
    if (free > 0) this.connection.all(`PRAGMA incremental_vacuum(${pagesPerShrink})`);
    return free > pagesPerShrink;
  }
}
