// The ends of answers.
import type { StoredEnd } from "../contract.ts";
import type { Connection } from "./driver.ts";

/** Writes the end of an answer; undefined for one that runs again. Call it in a transaction. */
export function writeEnd(
  connection: Connection,
  conversation: number,
  request: string,
  end: StoredEnd | undefined,
): void {
  const sql = "INSERT OR REPLACE INTO answer(conversation, request, value) VALUES (?, ?, ?)";
  connection.run(sql, conversation, request, JSON.stringify(end ?? null));
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
