/** Copies of databases for backups, while other processes use them. */
import { statSync, writeFileSync } from "node:fs";
import { Connection, loadDriver } from "./driver.ts";
import { storeErrors } from "./errors.ts";
import { assertStoreFile, explaining, versionOf } from "./schema.ts";

/** The content of a file of conversations. */
export interface StoreContent {
  /** Version of the tables. */
  readonly schema: number;
  /** Conversations with messages. */
  readonly conversations: number;
  /** Stored frames of messages. */
  readonly entries: number;
}

/** Milliseconds to wait for a writer that keeps the file locked. */
const busyMs = 10_000;

/** Opens a database for reading. Closing it neither writes nor removes a file next to it. */
function openReadOnly(path: string): Connection {
  const driver = loadDriver();
  if (!driver) throw storeErrors.STORE_DRIVER_MISSING(process.versions);
  const connection = new Connection(driver, path, { readOnly: true });
  connection.exec(`PRAGMA trusted_schema = OFF; PRAGMA busy_timeout = ${busyMs}`);
  return connection;
}

function reading<T>(path: string, read: (connection: Connection) => T): T {
  return explaining(path, () => {
    const connection = openReadOnly(path);
    try {
      return read(connection);
    } finally {
      connection.close();
    }
  });
}

/**
 * Copies a SQLite database as it is at this moment, also while another process writes to it. It
 * blocks the event loop until the copy is complete.
 *
 * @param path - The database.
 * @param target - A file that does not exist.
 * @throws STORE_BROKEN, store_unavailable or STORE_DRIVER_MISSING, as {@link sqlite} does.
 * @example
 * import { copyDatabase } from "doorward/plugins/conversations";
 * copyDatabase("state/conversations.db", "/backup/conversations.db");
 */
export function copyDatabase(path: string, target: string): void {
  // SQLite would create the file.
  if (statSync(path, { throwIfNoEntry: false }) === undefined)
    throw storeErrors.store_unavailable(path, "it does not exist");
  // SQLite fills an empty file, whose rights it keeps: it would create one that others can read.
  writeFileSync(target, "", { flag: "a", mode: 0o600 });
  // A prepared statement would keep the connection open until it is collected.
  const sql = `VACUUM INTO '${target.replaceAll("'", "''")}'`;
  reading(path, (connection) => connection.exec(sql));
}

/**
 * Reads the version of the tables in a file of conversations, without changing it.
 *
 * @returns 0 for a new file.
 */
export const schemaOf = (path: string): number =>
  assertStoreFile(path) ? reading(path, (connection) => versionOf(connection, path)) : 0;

/**
 * Reads every page of a file of conversations that no process writes to, and counts its content.
 *
 * @throws STORE_BROKEN if it is damaged, or is not a file of conversations.
 * @throws STORE_NEWER or STORE_OLD if this version of Doorward cannot use it.
 * @example
 * import { inspectStore } from "doorward/plugins/conversations";
 * console.log(inspectStore("/backup/conversations.db").conversations);
 */
export function inspectStore(path: string): StoreContent {
  if (!assertStoreFile(path)) throw storeErrors.STORE_BROKEN(path, "it is empty");
  return reading(path, (connection) => {
    const schema = versionOf(connection, path);
    const [{ integrity_check: result } = {}] = connection.all("PRAGMA integrity_check(1)");
    if (result !== "ok") throw storeErrors.STORE_BROKEN(path, String(result));
    return {
      schema,
      conversations: connection.number("SELECT count(DISTINCT conversation) FROM entry"),
      entries: connection.number("SELECT count(*) FROM entry"),
    };
  });
}
