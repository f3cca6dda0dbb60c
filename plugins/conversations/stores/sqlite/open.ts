// Opens a database file: checks that it is a conversation store, and brings its schema up to date.
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { Connection } from "./connection.ts";
import type { DatabaseClass } from "./driver.ts";
import { describeError, isDamage, resultCode, StoreFailure } from "./failure.ts";
import type { OpenRequest } from "./protocol.ts";
import { applicationId, migrate, migrations } from "./schema.ts";

const header = "SQLite format 3\0";
const quote = (path: string): string => `'${path.replaceAll("'", "'\\''")}'`;

/** The command that moves a file aside, together with the files that SQLite keeps next to it. */
const moveAside = (path: string): string => {
  const folder = quote(`${dirname(path)}/broken`);
  return `mkdir -p ${folder} && mv ${quote(path)}* ${folder}`;
};

const broken = (path: string, problem: string, cause?: unknown): StoreFailure =>
  new StoreFailure("STORE_BROKEN", [path, problem, moveAside(path)], cause);

/** Reads the first bytes, because SQLite would take any file of less than a page for a new one. */
function assertDatabase(path: string): void {
  const size = statSync(path).size;
  if (size === 0) return;
  const start = Buffer.alloc(header.length);
  const file = openSync(path, "r");
  try {
    readSync(file, start, 0, start.length, 0);
  } finally {
    closeSync(file);
  }
  if (start.toString("latin1") !== header) throw broken(path, "it is not a SQLite database");
}

function assertOwn(connection: Connection, path: string): void {
  const id = connection.number("PRAGMA application_id");
  const version = connection.number("PRAGMA user_version");
  const tables = connection.number("SELECT count(*) FROM sqlite_schema");
  if (id !== applicationId && (tables > 0 || id !== 0 || version !== 0))
    throw broken(path, "it is a database of another program");
  if (version > migrations.length)
    throw new StoreFailure("STORE_NEWER", [path, String(version), String(migrations.length)]);
}

/** A copy that was cut off opens without an error until a missing page is read. */
function assertComplete(connection: Connection, path: string): void {
  connection.truncateLog();
  const expected = connection.number("PRAGMA page_count") * connection.number("PRAGMA page_size");
  if (statSync(path).size < expected)
    throw broken(path, `${expected} bytes are expected and the file is shorter`);
  for (const table of ["meta", "conversation", "entry", "taken", "journal", "removal", "words"])
    connection.get(`SELECT * FROM ${table} LIMIT 1`);
}

/**
 * Opens the database, which may be an empty file.
 *
 * @throws StoreFailure STORE_BROKEN, STORE_NEWER or store_unavailable.
 */
export function openDatabase(
  driver: DatabaseClass,
  { path, durability, maxPages }: Pick<OpenRequest, "path" | "durability" | "maxPages">,
): Connection {
  let connection: Connection | undefined;
  try {
    assertDatabase(path);
    connection = new Connection(driver, path);
    connection.exec("PRAGMA busy_timeout = 2000");
    assertOwn(connection, path);
    connection.exec("PRAGMA auto_vacuum = INCREMENTAL");
    connection.get("PRAGMA journal_mode = WAL");
    // 4,000 pages: one write of a page then serves more batches, a quarter less time than 1,000.
    connection.exec(
      "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY; " +
        "PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 4000; " +
        "PRAGMA journal_size_limit = 33554432",
    );
    migrate(connection);
    assertComplete(connection, path);
    if (durability === "process") connection.exec("PRAGMA synchronous = NORMAL");
    if (maxPages !== undefined) connection.exec(`PRAGMA max_page_count = ${maxPages}`);
    return connection;
  } catch (error) {
    closeQuietly(connection);
    if (error instanceof StoreFailure) throw error;
    // 1: the schema lacks a table or a column.
    if (isDamage(error) || resultCode(error) === 1) throw broken(path, describeError(error), error);
    throw new StoreFailure("store_unavailable", [path, describeError(error)], error);
  }
}

function closeQuietly(connection: Connection | undefined): void {
  try {
    connection?.close();
  } catch {
    // The first error says more.
  }
}

/** Identifies a file: a copy has another number or another time of creation. */
function fileId(path: string): string {
  const { ino, birthtimeMs } = statSync(path);
  return `${ino}-${Math.round(birthtimeMs)}`;
}

/**
 * Checks that the file is the one that this process has opened before. Its streams are in memory.
 *
 * @throws StoreFailure store_unavailable.
 */
export function assertSame(connection: Connection, path: string, key: string): void {
  const meta = (name: string) =>
    connection.get("SELECT value FROM meta WHERE key = ?", name)?.value;
  if (meta("log") === key && meta("file") === fileId(path)) return;
  const problem = "another file has taken its place; restart Doorward to use that one";
  throw new StoreFailure("store_unavailable", [path, problem]);
}

interface RecoverOptions extends Pick<OpenRequest, "path" | "boot" | "durability"> {
  /** The log has batches that do not follow this database, so it is an older one. */
  readonly hasOthers: boolean;
}

/**
 * Gives all streams a new epoch if clients may have received numbers that the file lacks: the file
 * is a copy, or the last process did not close the store, the machine was started since, and
 * `durability` was `process`. The log must have been read before.
 *
 * @returns The number of streams with a new epoch.
 */
export function recover(
  connection: Connection,
  { path, boot, durability, hasOthers }: RecoverOptions,
  newId: () => string,
): number {
  const meta = (key: string) => connection.get("SELECT value FROM meta WHERE key = ?", key)?.value;
  const set = (key: string, value: string | number) =>
    connection.run("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, value);
  const file = fileId(path);
  const isMoved = ![file, "", undefined].includes(meta("file") as string | undefined);
  const isCopy = isMoved || hasOthers;
  // A power failure that loses batches must not lose this, too.
  connection.exec("PRAGMA synchronous = FULL");
  const isComplete = meta("clean") === 1 || meta("boot") === boot || meta("durability") === "power";
  const renewed = connection.transaction(() => {
    set("clean", 0);
    set("boot", boot);
    set("durability", durability);
    set("file", file);
    // The log of the original does not follow a copy that continues without it.
    if (isCopy || meta("log") === "") set("log", newId().slice(0, 32));
    if (isComplete && !isCopy) return 0;
    const ids = connection.all("SELECT id FROM conversation");
    for (const { id } of ids)
      connection.run("UPDATE conversation SET epoch = ? WHERE id = ?", newId().slice(0, 16), id!);
    return ids.length;
  });
  if (durability === "process") connection.exec("PRAGMA synchronous = NORMAL");
  return renewed;
}

/** Records that nothing is lost, and closes the database. */
export function closeDatabase(connection: Connection): void {
  try {
    connection.exec("PRAGMA synchronous = FULL");
    connection.run("UPDATE meta SET value = 1 WHERE key = 'clean'");
    connection.truncateLog();
  } finally {
    connection.close();
  }
}
