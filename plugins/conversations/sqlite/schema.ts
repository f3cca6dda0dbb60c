// The tables, and the checks before a file is used as the store.
import { closeSync, lstatSync, openSync, readSync, statSync } from "node:fs";
import { describeErrno } from "../../../lib/files/index.ts";
import {
  Connection,
  describeError,
  fixOf,
  isDamage,
  resultCode,
  type DatabaseClass,
} from "./driver.ts";
import { storeErrors } from "./errors.ts";

/** Marks a file as a conversation store: the start of the product name in ASCII. */
const applicationId = 0x446f6f72;
/**
 * Versions 1 to 4 are development forms, which are refused. 5 lacks `answer`, and 6 what
 * `additions` has for it.
 */
export const version = 7;
const oldestVersion = 5;

const answerTable = `CREATE TABLE answer(
  conversation INTEGER NOT NULL,
  request TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY(conversation, request)
) WITHOUT ROWID;`;

const deletedTable = `CREATE TABLE deleted(
  id INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,
  at INTEGER NOT NULL
);`;

/** Brings a file of this version to the next one. */
const additions: Readonly<Record<number, string>> = { 5: answerTable, 6: deletedTable };

/*
 * An append writes one row of `entry` and its key in `entry_seq`, both at the end of a few pages:
 * that is all that has to be stored before it is acknowledged. Everything else follows from the
 * entries and is written later:
 *
 * - `conversation.seq` to `resumes` summarize the entries up to `seq`; `aged` is the time of the
 *   last entry on the clock of retention, `title_turn` the turn that the title was made of.
 * - `words` has the latest complete text of each turn, of entries up to `meta.indexed`.
 * - `growing` has the latest text of each message that is not complete.
 * - `answer` has the end of the answer to each message of a person, as JSON.
 *
 * `entry.id` is the order of writing and is never used twice. `turn` is the `seq` of the entry that
 * opened the turn; null for an entry that opens one. `taken`: when the application accepted the
 * message of a person; negative if its client stopped it. An entry without a `seq` is only that.
 * `removal`: deleted conversations with entries left. `deleted`: see `deleted-ids.ts`. `meta` also
 * has a row for each open question and each undelivered answer, `question:CONVERSATION:MESSAGE`.
 */
export const tables = `
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE conversation(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  public_id TEXT NOT NULL UNIQUE,
  channel TEXT NOT NULL,
  session TEXT NOT NULL,
  epoch TEXT NOT NULL,
  name TEXT,
  folded TEXT NOT NULL DEFAULT '',
  seq INTEGER NOT NULL DEFAULT 0,
  last INTEGER NOT NULL DEFAULT 0,
  title TEXT NOT NULL DEFAULT '',
  title_turn INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL DEFAULT 0,
  used_at INTEGER NOT NULL DEFAULT 0,
  aged INTEGER NOT NULL DEFAULT 0,
  turns INTEGER NOT NULL DEFAULT 0,
  written INTEGER NOT NULL DEFAULT 0,
  plain INTEGER NOT NULL DEFAULT 0,
  acknowledged INTEGER NOT NULL DEFAULT 0,
  resumes INTEGER NOT NULL DEFAULT 0,
  UNIQUE(channel, session)
);
CREATE INDEX conversation_last ON conversation(last);
CREATE TABLE entry(
  id INTEGER PRIMARY KEY,
  conversation INTEGER NOT NULL,
  seq INTEGER,
  at INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  final INTEGER NOT NULL,
  turn INTEGER,
  message TEXT,
  request TEXT,
  digest TEXT,
  taken INTEGER,
  frame BLOB NOT NULL
);
CREATE UNIQUE INDEX entry_seq ON entry(conversation, seq);
CREATE INDEX entry_turn ON entry(conversation, turn, seq) WHERE turn IS NOT NULL;
CREATE TABLE growing(
  conversation INTEGER NOT NULL,
  message TEXT NOT NULL,
  frame BLOB NOT NULL,
  PRIMARY KEY(conversation, message)
) WITHOUT ROWID;
${answerTable}
${deletedTable}
CREATE TABLE removal(conversation INTEGER PRIMARY KEY);
CREATE VIEW entry_text(id, text) AS
  SELECT id, CASE WHEN json_valid(CAST(frame AS TEXT))
    THEN coalesce(CAST(json_extract(CAST(frame AS TEXT), '$.payload.content') AS TEXT), '')
    ELSE '' END
  FROM entry;
CREATE VIRTUAL TABLE words USING fts5(
  text, content='entry_text', content_rowid='id', tokenize='unicode61 remove_diacritics 2'
);
INSERT INTO words(words, rank) VALUES ('secure-delete', 1), ('automerge', 0), ('crisismerge', 64);
`;

/** Values of `entry.kind`. `quiet`: a lost question ends, which does not count as a use. */
export const kinds = { other: 0, user: 1, create: 2, update: 3, delete: 4, quiet: 5 } as const;
/** The kinds of entries, by the types of their frames. */
export const kindsByType: Readonly<Record<string, number>> = {
  "message.user": kinds.user,
  "message.create": kinds.create,
  "message.update": kinds.update,
  "message.delete": kinds.delete,
};

const header = "SQLite format 3\0";
/** Sizes of the first part of a database, and of the parts of its log:
 *  https://sqlite.org/fileformat2.html. */
const headerBytes = 100;
const logHeaderBytes = 32;
const frameHeaderBytes = 24;
const broken = storeErrors.STORE_BROKEN;

/** @returns The size of the store, or of a file next to it; undefined if there is no file. */
function sizeOfFile(store: string, suffix = ""): number | undefined {
  const path = store + suffix;
  const name = suffix === "" ? "it" : path;
  let found;
  try {
    found = lstatSync(path, { throwIfNoEntry: false }) && statSync(path);
  } catch (error) {
    throw broken(store, `${name} cannot be read: ${describeErrno(error)}`, { cause: error });
  }
  if (found && !found.isFile()) throw broken(store, `${name} is not a file`);
  return found?.size;
}

/**
 * Checks the files of the store before SQLite opens them. SQLite would wait for a FIFO, and take
 * any file of less than a page for a new database.
 *
 * @returns False if there is no file, or an empty one.
 * @throws STORE_BROKEN if the file, or one that SQLite keeps next to it, is unusable.
 */
export function assertStoreFile(path: string): boolean {
  const size = sizeOfFile(path);
  const [inLog = 0] = ["-wal", "-shm"].map((suffix) => sizeOfFile(path, suffix));
  // SQLite would delete the log.
  if (size === 0 && inLog > 0) throw broken(path, "it is empty, and its log has messages");
  if (size === undefined || size === 0) return false;
  const start = Buffer.alloc(headerBytes);
  const file = openSync(path, "r");
  try {
    readSync(file, start, 0, start.length, 0);
  } finally {
    closeSync(file);
  }
  if (start.toString("latin1", 0, header.length) !== header)
    throw broken(path, "it is not a SQLite database");
  assertWhole(path, start, size);
  return true;
}

/** @returns The pages that the log of a database has, and the pages of the database with them. */
function readLog(path: string): { readonly found: ReadonlySet<number>; readonly pages: number } {
  const found = new Set<number>();
  let pages = 0;
  const log = `${path}-wal`;
  const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
  if (size < logHeaderBytes) return { found, pages };
  const file = openSync(log, "r");
  try {
    const start = Buffer.alloc(logHeaderBytes);
    readSync(file, start, 0, logHeaderBytes, 0);
    const step = frameHeaderBytes + start.readUInt32BE(8);
    const frame = Buffer.alloc(frameHeaderBytes);
    for (let at = logHeaderBytes; at + step <= size; at += step) {
      readSync(file, frame, 0, frameHeaderBytes, at);
      // Older frames follow the newest one: they have other salts.
      if (frame.compare(start, 16, 24, 8, 16) !== 0) break;
      found.add(frame.readUInt32BE(0));
      pages = frame.readUInt32BE(4) || pages;
    }
  } finally {
    closeSync(file);
  }
  return { found, pages };
}

/** A copy that was cut off opens without an error until a missing page is read. */
function assertWhole(path: string, start: Buffer, size: number): void {
  const pageSize = start.readUInt16BE(16) === 1 ? 65_536 : start.readUInt16BE(16);
  const log = readLog(path);
  const isCounted = start.readUInt32BE(24) === start.readUInt32BE(92);
  const pages = log.pages || (isCounted ? start.readUInt32BE(28) : 0);
  for (let page = Math.floor(size / pageSize) + 1; page <= pages; page++)
    if (!log.found.has(page))
      throw broken(path, `${pages * pageSize} bytes are expected and the file is shorter`);
}

/** Reads what a start reads, so that nothing is written to a file that is damaged there. */
function assertReadable(connection: Connection): void {
  for (const sql of [
    "SELECT sum(last + aged + length(title)) FROM conversation",
    "SELECT count(*) FROM conversation WHERE last > 0",
    "SELECT max(id) FROM entry",
    "SELECT max(seq) FROM entry WHERE conversation = (SELECT max(id) FROM conversation)",
    "SELECT sum(length(value)) FROM meta",
    "SELECT count(*) FROM growing",
    "SELECT count(*) FROM removal",
    "SELECT count(*) FROM words WHERE words MATCH 'x' AND rowid < 0",
    "SELECT 1 FROM entry WHERE id > " +
      "coalesce((SELECT value FROM meta WHERE key = 'indexed'), 0) LIMIT 1",
  ])
    connection.get(sql);
  // A file of an earlier version has fewer tables. Those of FTS5 are read by the search above.
  const own = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'words*'";
  for (const { name } of connection.all(own))
    connection.get(`SELECT 1 FROM "${String(name)}" LIMIT 1`);
}

/** The tables inside `words` belong to FTS5, whose versions may describe them differently. */
const shapeOf = (connection: Connection): string =>
  JSON.stringify(
    connection.all(
      "SELECT type, name, tbl_name, sql FROM sqlite_schema " +
        "WHERE NOT (type = 'table' AND name GLOB 'words_*') ORDER BY type, name",
    ),
  );

/** A trigger, a view or a changed table would run or hide something unknown to this code. */
function assertOwnTables(driver: DatabaseClass, connection: Connection, path: string): void {
  const empty = new Connection(driver, ":memory:");
  empty.exec(tables);
  const isOwn = shapeOf(empty) === shapeOf(connection);
  empty.close();
  if (!isOwn) throw broken(path, "its tables were changed by another program");
}

/** Reads the version of a file. @returns 0 for a new file. */
export function versionOf(connection: Connection, path: string): number {
  const id = connection.number("PRAGMA application_id");
  const found = connection.number("PRAGMA user_version");
  const isEmpty = connection.number("SELECT count(*) FROM sqlite_schema") === 0;
  if (isEmpty && id === 0 && found === 0) return 0;
  if (id !== applicationId) throw broken(path, "it is a database of another program");
  if (found > version) throw storeErrors.STORE_NEWER(path, found, version);
  if (found < oldestVersion) throw storeErrors.STORE_OLD(path);
  return found;
}

/** Creates the tables in an empty database. */
function createTables(connection: Connection): void {
  connection.exec("PRAGMA auto_vacuum = INCREMENTAL");
  connection.transaction(() =>
    connection.exec(
      `${tables} PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${version}`,
    ),
  );
}

interface Addition {
  readonly path: string;
  /** The version of the file. */
  readonly found: number;
}

/** Adds the tables of later versions. A file of another program stays as it is. */
function addTables(driver: DatabaseClass, connection: Connection, { path, found }: Addition): void {
  connection.transaction(() => {
    for (let from = found; from < version; from += 1) connection.exec(additions[from]!);
    connection.exec(`PRAGMA user_version = ${version}`);
    assertOwnTables(driver, connection, path);
  });
}

/** Turns errors of SQLite during `run` into those of the store. */
export function explaining<T>(path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    // 1: the schema lacks a table or a column.
    if (isDamage(error) || resultCode(error) === 1)
      throw broken(path, describeError(error), { cause: error });
    if (resultCode(error) === 0) throw error;
    const fix = fixOf(error, path)?.replace(/\.$/, "");
    const reason = [describeError(error), fix].filter(Boolean).join(". ");
    throw storeErrors.store_unavailable(path, reason, { cause: error });
  }
}

interface OpenOptions {
  readonly path: string;
  /** Maximum size in pages of 4 KiB, for tests. */
  readonly maxPages?: number | undefined;
}

/**
 * Opens the database, or creates it. Nothing is written before all checks have passed.
 *
 * @throws STORE_BROKEN, STORE_NEWER, STORE_OLD, store_unavailable
 */
export function openDatabase(driver: DatabaseClass, { path, maxPages }: OpenOptions): Connection {
  let connection: Connection | undefined;
  try {
    return explaining(path, () => {
      const exists = assertStoreFile(path);
      connection = new Connection(driver, path);
      connection.exec("PRAGMA trusted_schema = OFF; PRAGMA busy_timeout = 2000");
      const found = exists ? versionOf(connection, path) : 0;
      if (found >= oldestVersion) assertReadable(connection);
      if (found === 0) createTables(connection);
      else if (found in additions) addTables(driver, connection, { path, found });
      assertOwnTables(driver, connection, path);
      configure(connection);
      if (maxPages !== undefined) connection.exec(`PRAGMA max_page_count = ${maxPages}`);
      // From now on, what has to wait for a lock is tried again later: the event loop never waits.
      connection.exec("PRAGMA busy_timeout = 0");
      return connection;
    });
  } catch (error) {
    connection?.close();
    throw error;
  }
}

function configure(connection: Connection): void {
  connection.get("PRAGMA journal_mode = WAL");
  // A checkpoint of 4,000 pages (16 MiB) syncs on this thread: once in some thousand messages.
  connection.exec(
    "PRAGMA trusted_schema = OFF; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON; " +
      "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384; " +
      "PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 33554432",
  );
}
