// The ends of answers. They are written with the row of their conversation: a kill may lose some.
import type { StoredEnd } from "../contract.ts";
import type { Connection } from "./driver.ts";
import type { Live } from "./live.ts";

/** Writes the ends that wait. Call it in a transaction. */
export function writeEnds(connection: Connection, live: Live): void {
  if (live.ends.size === 0) return;
  const sql = "INSERT OR REPLACE INTO answer(conversation, request, value) VALUES (?, ?, ?)";
  if (live.id !== 0)
    for (const [request, end] of live.ends)
      connection.run(sql, live.id, request, JSON.stringify(end ?? null));
  // The former map stays as it is, in case the transaction fails.
  live.ends = new Map();
}

/** @returns The end of the answer to a message; nothing if none is stored. */
export function readEnd(
  connection: Connection,
  conversation: number,
  request: string,
): StoredEnd | null | undefined {
  const sql = "SELECT value FROM answer WHERE conversation = ? AND request = ?";
  const row = connection.get(sql, conversation, request);
  return row && (JSON.parse(String(row.value)) as StoredEnd | null);
}

/** Deletes ends of a deleted conversation. @returns False if none was left. */
export function removeEnds(connection: Connection, conversation: number): boolean {
  const own = "SELECT request FROM answer WHERE conversation = ?1 LIMIT 100";
  const sql = `DELETE FROM answer WHERE conversation = ?1 AND request IN (${own})`;
  connection.run(sql, conversation);
  return connection.number("SELECT changes()") > 0;
}
