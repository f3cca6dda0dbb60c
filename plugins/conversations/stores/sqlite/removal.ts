// Deletes conversations with all traces, in bounded steps.
import type { Address } from "../../../channels/index.ts";
import type { Connection } from "./connection.ts";
import type { Indexer } from "./indexer.ts";
import type { Candidate, ExpiredRequest } from "./protocol.ts";

/** Entries of one transaction: about 10 ms. */
const chunk = 500;
/** Conversations that retention considers together. */
const candidates = 50;
/** Free pages that one step returns to the file system. */
const pagesPerStep = 1000;

/** @returns The channels and sessions of the conversations that exist. */
export function addressesOf(connection: Connection, ids: readonly string[]): Address[] {
  return ids.flatMap((id) =>
    connection
      .all("SELECT channel, session FROM conversation WHERE public_id = ?", id)
      .map(({ channel, session }) => ({ channel: String(channel), session: String(session) })),
  );
}

/**
 * Makes conversations invisible. Their entries follow with `removeStep`. Call it in a transaction.
 *
 * @returns How many had entries.
 */
export function hide(connection: Connection, ids: readonly string[]): number {
  let count = 0;
  for (const publicId of ids) {
    const row = connection.get(
      "SELECT id, created_at FROM conversation WHERE public_id = ?",
      publicId,
    );
    if (row === undefined) continue;
    const id = Number(row.id);
    connection.run("INSERT INTO removal VALUES (?)", id);
    connection.run("DELETE FROM taken WHERE conversation = ?", id);
    connection.run("DELETE FROM conversation WHERE id = ?", id);
    if (row.created_at !== null) count += 1;
  }
  return count;
}

/** Deletes a part of the entries of hidden conversations. @returns True if more are left. */
export function removeStep(connection: Connection, indexer: Indexer): boolean {
  const row = connection.get("SELECT conversation FROM removal LIMIT 1");
  if (row === undefined) return false;
  const conversation = Number(row.conversation);
  const reached = indexer.reached();
  connection.transaction(() => {
    const entries = connection.all(
      "SELECT id, conversation, seq, message, op, final FROM entry WHERE conversation = ? " +
        `ORDER BY seq LIMIT ${chunk}`,
      conversation,
    ) as unknown as Parameters<Indexer["remove"]>[0][];
    for (const entry of entries) {
      indexer.remove(entry, reached);
      connection.run("DELETE FROM entry WHERE id = ?", entry.id);
    }
    if (entries.length < chunk)
      connection.run("DELETE FROM removal WHERE conversation = ?", conversation);
  });
  return true;
}

/** Returns free pages to the file system. @returns True if more are left. */
export function shrinkStep(connection: Connection): boolean {
  const free = connection.number("PRAGMA freelist_count");
  if (free === 0) return false;
  connection.exec(`PRAGMA incremental_vacuum(${pagesPerStep})`);
  return free > pagesPerStep;
}

/** Bytes of the pages in use. */
const usedBytes = (connection: Connection): number =>
  (connection.number("PRAGMA page_count") - connection.number("PRAGMA freelist_count")) *
  connection.number("PRAGMA page_size");

/**
 * Names the least recently used conversations that are too old. If the rest does not fit, names
 * about half of those that have to go, because conversations differ in size.
 */
export function expired(
  connection: Connection,
  { before, maxBytes, skip }: ExpiredRequest,
): Candidate[] {
  const used = usedBytes(connection);
  const count = connection.number("SELECT count(*) FROM conversation");
  const old = oldest(connection, skip, before, candidates);
  if (old.length > 0 || used <= maxBytes || count === 0) return old;
  const half = Math.floor((used - maxBytes) / (used / count) / 2);
  const limit = Math.max(1, Math.min(candidates, half));
  return oldest(connection, skip, Number.MAX_SAFE_INTEGER, limit);
}

function oldest(
  connection: Connection,
  skip: readonly string[],
  before: number,
  limit: number,
): Candidate[] {
  const rows = connection.all(
    "SELECT public_id, channel, session FROM conversation WHERE used_at < ? " +
      "AND public_id NOT IN (SELECT value FROM json_each(?)) ORDER BY used_at, id LIMIT ?",
    before,
    JSON.stringify(skip),
    limit,
  );
  return rows.map(({ public_id, channel, session }) => ({
    id: String(public_id),
    channel: String(channel),
    session: String(session),
  }));
}
