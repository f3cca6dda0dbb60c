// Keeps the index for search up to date with the entries.
import type { Connection } from "./connection.ts";
import { operations } from "./protocol.ts";

/*
 * `meta.indexed` is the id of the last entry that the index reflects. An entry is in the index if
 * its text is complete and no later entry up to `indexed` replaces it: for an entry of the person a
 * deletion, for one of the application any other entry of the message. The deletion of a row from
 * the index needs its old text, which is still in the entry; a deletion of a row that is not in the
 * index would damage it, so the rule must be exact.
 */

/** Entries of one transaction: about 5 ms. */
const chunk = 250;

const insertSql = "INSERT INTO words(rowid, text) SELECT id, text FROM entry_text WHERE id = ?";
const deleteSql =
  "INSERT INTO words(words, rowid, text) SELECT 'delete', id, text FROM entry_text WHERE id = ?";

interface IndexedEntry {
  readonly id: number;
  readonly conversation: number;
  readonly seq: number;
  readonly message: string | null;
  readonly op: number;
  readonly final: number;
}
const columns = "id, conversation, seq, message, op, final";

export class Indexer {
  private readonly connection: Connection;

  constructor(connection: Connection) {
    this.connection = connection;
  }

  /** The id of the last entry that the index reflects. */
  reached(): number {
    return this.connection.number("SELECT value FROM meta WHERE key = 'indexed'");
  }

  /** Indexes a part of the new entries. @returns True if more are left. */
  step(): boolean {
    const reached = this.reached();
    const entries = this.connection.all(
      `SELECT ${columns} FROM entry WHERE id > ? ORDER BY id LIMIT ${chunk}`,
      reached,
    ) as unknown as IndexedEntry[];
    const last = entries.at(-1);
    if (last === undefined) return false;
    this.connection.transaction(() => {
      for (const entry of entries) this.index(entry);
      this.connection.run("UPDATE meta SET value = ? WHERE key = 'indexed'", last.id);
    });
    return entries.length === chunk;
  }

  /** Removes an entry of a conversation whose entries are deleted in their order. */
  remove(entry: IndexedEntry, reached: number): void {
    const { id, conversation, seq, message, op, final } = entry;
    if (id > reached || final === 0 || !hasText(op)) return;
    const isReplaced =
      message !== null &&
      this.connection.get(
        "SELECT 1 FROM entry WHERE conversation = ? AND message = ? AND seq > ? " +
          `AND ${op === operations.user ? "op = 4" : "op > 1"} AND id <= ? LIMIT 1`,
        conversation,
        message,
        seq,
        reached,
      ) !== undefined;
    if (!isReplaced) this.connection.run(deleteSql, id);
  }

  private index(entry: IndexedEntry): void {
    const { id, message, op, final } = entry;
    if (op === operations.other) return;
    if (message !== null && op !== operations.user) this.removeReplaced(entry, message);
    if (final === 1 && hasText(op)) this.connection.run(insertSql, id);
  }

  /** Removes the entries that this one replaces. All earlier entries are in the index. */
  private removeReplaced({ conversation, seq, op }: IndexedEntry, message: string): void {
    const earlier = this.connection.all(
      "SELECT id, op, final FROM entry WHERE conversation = ? AND message = ? AND seq < ? " +
        "AND op > 0 ORDER BY seq DESC LIMIT 1000",
      conversation,
      message,
      seq,
    );
    let isLatest = true;
    for (const found of earlier) {
      const isUser = found.op === operations.user;
      if (found.op === operations.delete) return;
      const replaces = isUser ? op === operations.delete : isLatest;
      if (replaces && found.final === 1) this.connection.run(deleteSql, Number(found.id));
      if (!isUser) isLatest = false;
    }
  }
}

const hasText = (op: number): boolean =>
  op === operations.user || op === operations.create || op === operations.update;
