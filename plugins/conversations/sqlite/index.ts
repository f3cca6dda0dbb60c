/**
 * The SQLite form of the conversations store: one file, written by one process.
 *
 * @module
 */
import { writeFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { codeOf, type DoorwardError } from "../../../kernel/index.ts";
import {
  createPrivateFolder,
  describeErrno,
  lockFile,
  restrictSecretFile,
  type FileLock,
} from "../../../lib/files/index.ts";
import type { BeforeUpgrade, OpenConversations, StoreScope } from "../contract.ts";
import { SqliteConversations } from "./conversations.ts";
import { loadDriver, type Connection, type DatabaseClass } from "./driver.ts";
import { storeErrors } from "./errors.ts";
import { readBootId, recover } from "./recovery.ts";
import { assertStoreFile, explaining, openDatabase, version } from "./schema.ts";
import { schemaOf } from "./snapshot.ts";
import { SqliteStore, type SqliteStoreOptions } from "./store.ts";

/** Options of {@link openSqliteStore}. */
export interface OpenSqliteOptions extends Omit<SqliteStoreOptions, "durability"> {
  /**
   * `process`: a committed batch survives the end of the process. `power`: also a power failure, at
   * the cost of one `fdatasync` per batch. @defaultValue `"process"`
   */
  readonly durability?: "process" | "power" | undefined;
  /** Milliseconds to wait for another process that closes the store. @defaultValue `11_000` */
  readonly lockWaitMs?: number | undefined;
  /** Runs before tables of a later version are added to a file. If it rejects, nothing is added. */
  readonly beforeUpgrade?: BeforeUpgrade | undefined;
  /** Id of the current start of the machine, for tests. */
  readonly boot?: string | undefined;
  /** Maximum size of the database in pages of 4 KiB, for tests. */
  readonly maxPages?: number | undefined;
  /** The class `DatabaseSync`, for tests. */
  readonly driver?: DatabaseClass | undefined;
}

/** An open store and the lock of its file. */
interface OpenedStore {
  readonly store: SqliteStore;
  /** Call it when the store is closed. */
  readonly release: () => Promise<void>;
}

/**
 * Opens a store in a SQLite file, or creates the file. One process can open it at a time.
 *
 * @throws STORE_PATH if the path is one of SQLite's own names, such as `:memory:`.
 * @throws STORE_IN_USE if another process has opened the file.
 * @throws STORE_BROKEN if the file is damaged or belongs to another program; it is not changed.
 * @throws STORE_NEWER if a newer version of Doorward has written it.
 * @throws STORE_OLD if a development version has written it; it is not changed.
 * @throws STORE_DRIVER_MISSING if this runtime has no SQLite and no package provides it.
 * @throws store_unavailable if the file cannot be created or written.
 */
export async function openSqliteStore(options: OpenSqliteOptions): Promise<OpenedStore> {
  const { durability = "process", clock, log, random, maxPages, lockWaitMs = 11_000 } = options;
  assertPath(options.path);
  const path = resolve(options.path);
  const driver = options.driver ?? loadDriver();
  if (!driver) throw storeErrors.STORE_DRIVER_MISSING(process.versions);
  // Before the lock, which creates the file.
  const wasEmpty = await stat(path).then(
    ({ size }) => size === 0,
    () => false, // the lock says why
  );
  const lock = await lockStore(path, lockWaitMs);
  let connection: Connection | undefined;
  try {
    const emptied = "the file of the conversations was empty at the start, so a new one was made";
    if (wasEmpty) log.warn({ path }, emptied);
    const exposed = await restrictSecretFile(path);
    if (exposed !== undefined) log.warn({ path }, exposed);
    const schema = options.beforeUpgrade ? explaining(path, () => schemaOf(path)) : 0;
    if (schema > 0 && schema < version)
      await options.beforeUpgrade?.({ from: schema, to: version, at: clock.now() });
    const boot = options.boot ?? (await readBootId(clock.now()));
    const opened = openDatabase(driver, { path, maxPages });
    connection = opened;
    const store = explaining(path, () => {
      const renewed = recover(opened, { path, boot, durability, random });
      const text = "conversations continue in new streams, because the end of some may be lost";
      if (renewed > 0) log.warn({ path, streams: renewed }, text);
      return new SqliteStore(opened, { ...options, path, durability, wasEmpty });
    });
    return { store, release: () => lock.release() };
  } catch (error) {
    connection?.close();
    await lock.release();
    throw error;
  }
}

/** @throws STORE_PATH if SQLite gives the path a meaning of its own. */
export function assertPath(path: string): void {
  if (/^(:memory:|file:.*|)$/s.test(path)) throw storeErrors.STORE_PATH(path);
}

/** Opens the conversations in a SQLite file, as {@link openSqliteStore} does. */
export async function openSqlite(
  options: Pick<OpenSqliteOptions, "path" | "durability" | "lockWaitMs" | "beforeUpgrade">,
  scope: StoreScope,
): Promise<OpenConversations> {
  const { clock, log, random } = scope;
  let conversations: SqliteConversations | undefined;
  const { store, release } = await openSqliteStore({
    ...options,
    clock,
    log,
    random,
    changed: scope.changed,
    limits: () => scope.limits(),
    overfull: (isRejected) => conversations?.overfull(isRejected),
  });
  return (conversations = new SqliteConversations(store, scope, release));
}

/** Creates the file if it is missing, and locks it. */
async function lockStore(path: string, waitMs: number): Promise<FileLock> {
  try {
    await createPrivateFolder(dirname(path));
    assertStoreFile(path);
    const lock = await lockFile(path, { waitMs });
    // SQLite gives the files next to it the same mode.
    writeFileSync(path, "", { flag: "a", mode: 0o600 });
    return lock;
  } catch (error) {
    if (codeOf(error) === "FILE_LOCKED") {
      const { pid } = (error as DoorwardError).details;
      const holder = pid === undefined ? "another machine or container" : `process ${String(pid)}`;
      throw storeErrors.STORE_IN_USE(path, holder, { cause: error });
    }
    if (codeOf(error) !== "internal") throw error;
    throw storeErrors.store_unavailable(path, describeErrno(error), { cause: error });
  }
}
