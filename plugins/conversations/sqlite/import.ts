// Reads a file of the development forms (versions 1 to 4) into one of this version, once.
import { copyFileSync, existsSync, renameSync, rmSync, statSync } from "node:fs";
import type { Clock, Log } from "../../../kernel/index.ts";
import { payloadOf } from "../turn-frames.ts";
import { Connection, type DatabaseClass, type Row } from "./driver.ts";
import { storeErrors } from "./errors.ts";
import { getMeta, setMeta } from "./recovery.ts";
import { createTables, kinds } from "./schema.ts";

interface ImportOptions {
  readonly path: string;
  /** Version of the file. */
  readonly version: number;
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
}

/**
 * Copies the file to `…before-5`, and replaces it with a new file that has its conversations.
 * If that is interrupted, the next start begins again: the old file is in place until the end.
 *
 * @throws STORE_UNFINISHED if a log of the old version has messages that are not in the file.
 */
export function importFile(
  driver: DatabaseClass,
  { path, version, clock, log }: ImportOptions,
  old: Connection,
): Connection {
  for (const name of [`${path}-log1`, `${path}-log2`])
    if (sizeOf(name) > 0) throw storeErrors.STORE_UNFINISHED(path, name);
  if (version === 3 && old.get("SELECT 1 FROM journal LIMIT 1"))
    throw storeErrors.STORE_UNFINISHED(path, "its journal");
  old.get("PRAGMA wal_checkpoint(TRUNCATE)");
  const copy = freeName(`${path}.before-5`);
  copyFileSync(path, `${copy}.part`);
  renameSync(`${copy}.part`, copy);
  const next = `${path}.importing`;
  for (const suffix of ["", "-journal", "-wal", "-shm"]) rmSync(next + suffix, { force: true });
  const target = new Connection(driver, next);
  createTables(target);
  const count = target.transaction(() => importRows(old, target, clock.now()));
  target.close();
  old.close();
  renameSync(next, path);
  log.info(
    { path, copy, conversations: count },
    "the conversations of an earlier version were imported",
  );
  return new Connection(driver, path);
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

function freeName(path: string): string {
  for (let number = 1; ; number++) {
    const name = number === 1 ? path : `${path}-${number}`;
    if (!existsSync(name)) return name;
  }
}

/** @returns The number of conversations with entries. */
function importRows(old: Connection, target: Connection, now: number): number {
  let count = 0;
  for (const row of old.all("SELECT * FROM conversation ORDER BY id")) {
    const last = importEntries(old, target, row);
    importTaken(old, target, Number(row.id), now);
    if (last > 0) count += 1;
    const used = Number(row.used_at);
    insert(target, "conversation", {
      ...pick(row, conversationColumns),
      last,
      title_turn: (row.title_rank === 2 ? -1 : 1) * Number(row.title_seq),
      created_at: Number(row.created_at ?? 0),
      used_at: used,
      aged: Math.min(used, now),
    });
  }
  // After a power failure, streams get new epochs as they would have in the old form.
  for (const key of ["clean", "boot", "durability"]) {
    const value = getMeta(old, key);
    if (typeof value === "string" || typeof value === "number") setMeta(target, key, value);
  }
  const lastId = target.number("SELECT max(id) FROM entry");
  setMeta(target, "saved", lastId);
  return count;
}

/** @returns The id of the last entry; 0 if there is none. */
function importEntries(old: Connection, target: Connection, { id }: Row): number {
  const openers = new Map<string, number>();
  let last = 0;
  // Page by page, because frames may be large.
  for (let seq = 0; ;) {
    const sql = "SELECT * FROM entry WHERE conversation = ? AND seq > ? ORDER BY seq LIMIT 100";
    const rows = old.all(sql, id!, seq);
    if (rows.length === 0) return last;
    for (const row of rows) {
      seq = Number(row.seq);
      last = Math.max(last, Number(row.id));
      insert(target, "entry", {
        ...pick(row, ["id", "seq", "at", "final", "message"]),
        conversation: id!,
        kind: row.op!,
        turn: turnOf(openers, row),
        request: requestOf(row),
        frame: row.data!,
      });
    }
  }
}

function turnOf(openers: Map<string, number>, { op, message, seq }: Row): number | null {
  if (typeof message !== "string" || op === kinds.user || op === kinds.other) return null;
  const opener = openers.get(message) ?? null;
  if (op === kinds.delete) openers.delete(message);
  else if (opener === null) openers.set(message, Number(seq));
  return opener;
}

function requestOf({ op, data }: Row): string | null {
  if (op !== kinds.user) return null;
  const request = payloadOf(data as Uint8Array).request_id;
  return typeof request === "string" ? request : null;
}

function importTaken(old: Connection, target: Connection, conversation: number, now: number): void {
  const rows = old.all(
    "SELECT * FROM taken WHERE conversation = ? AND at > ?",
    conversation,
    now - 600_000,
  );
  for (const { message, digest, at, stopped } of rows) {
    const outcome = (stopped === 1 ? -1 : 1) * Number(at);
    const known = target.get(
      "SELECT id FROM entry WHERE conversation = ? AND request = ? ORDER BY seq DESC LIMIT 1",
      conversation,
      message!,
    );
    if (known) {
      const set = "UPDATE entry SET digest = ?, taken = ? WHERE id = ?";
      target.run(set, digest!, outcome, known.id!);
      continue;
    }
    const nextId =
      old.number("SELECT max(id) FROM entry") + target.number("SELECT count(*) FROM entry") + 1;
    insert(target, "entry", {
      ...{ id: nextId, conversation, at: at!, kind: kinds.other, final: 1 },
      ...{ request: message!, digest: digest!, taken: outcome, frame: new Uint8Array() },
    });
  }
}

/** Columns that have the same values in the old table. */
const conversationColumns = [
  ...["id", "public_id", "channel", "session", "epoch", "name", "folded", "seq", "title", "turns"],
  ...["written", "plain", "acknowledged", "resumes"],
];

const pick = (row: Row, columns: readonly string[]): Row =>
  Object.fromEntries(columns.map((column) => [column, row[column]!]));

function insert(target: Connection, table: "conversation" | "entry", row: Row): void {
  const columns = Object.keys(row);
  const marks = columns.map(() => "?");
  const sql = `INSERT INTO ${table}(${columns.join(", ")}) VALUES (${marks.join(", ")})`;
  target.run(sql, ...Object.values(row));
}
