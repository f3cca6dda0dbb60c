/**
 * The SQLite form of the conversations store: one file, written by one worker thread.
 *
 * @module
 */
import { open } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { codeOf, type Clock, type DoorwardError, type Log } from "../../../../kernel/index.ts";
import {
  createPrivateFolder,
  lockFile,
  restrictSecretFile,
  type FileLock,
} from "../../../../lib/files/index.ts";
import type { ConversationStorage } from "../storage.ts";
import { readBootId } from "./boot.ts";
import { readCloseRecord } from "./close-record.ts";
import { storeErrors } from "./errors.ts";
import { SqliteStorage } from "./sqlite-storage.ts";
import { readWorkerCode, startWorker } from "./worker-client.ts";

/** Options of `openSqliteStorage`. */
export interface SqliteStorageOptions {
  /** The database. Its folder is created with mode 0700 and the file with mode 0600. */
  readonly path: string;
  /**
   * `process`: a committed batch survives the end of the process. `power`: also a power failure, at
   * the cost of one `fdatasync` per batch. @defaultValue `"process"`
   */
  readonly durability?: "process" | "power";
  readonly clock: Clock;
  readonly log: Log;
  /** Random bytes, for new epochs and ids of conversations. */
  readonly random: (bytes: number) => Uint8Array;
  /** Milliseconds to wait for another process that closes the store. @defaultValue `11_000` */
  readonly lockWaitMs?: number;
  /** Id of the current start of the machine, for tests. */
  readonly boot?: string;
  /** Maximum size of the database in pages of 4 KiB, for tests. */
  readonly maxPages?: number;
}

/**
 * Opens a durable store in a SQLite file, or creates the file. One process can open it at a time.
 *
 * @throws STORE_IN_USE if another process has opened the file.
 * @throws STORE_BROKEN if the file is damaged or belongs to another program; it is not changed.
 * @throws STORE_NEWER if a newer version of Doorward has written it.
 * @throws STORE_DRIVER_MISSING if this Node has no SQLite and no package provides it.
 * @throws store_unavailable if the file cannot be created or written.
 */
export async function openSqliteStorage(
  options: SqliteStorageOptions,
): Promise<ConversationStorage> {
  const { durability = "process", clock, log, random, maxPages, lockWaitMs = 11_000 } = options;
  const path = resolve(options.path);
  readWorkerCode();
  // First, because it takes most of the time.
  const thread = readCloseRecord(path) ? undefined : startWorker();
  const lock = await lockStore(path, lockWaitMs).catch(async (error: unknown) => {
    await thread?.terminate();
    throw error;
  });
  try {
    const exposed = await restrictSecretFile(path);
    if (exposed !== undefined) log.warn({ path }, exposed);
    const seed = Buffer.from(random(32)).toString("hex");
    const boot = options.boot ?? (await readBootId(clock.now()));
    const storage = new SqliteStorage({
      open: { path, durability, boot, seed, maxPages },
      thread,
      closed: thread ? undefined : readCloseRecord(path),
      clock,
      log,
      release: () => lock.release(),
    });
    await storage.open();
    return storage;
  } catch (error) {
    await thread?.terminate();
    await lock.release();
    throw error;
  }
}

/** Creates the file if it is missing, and locks it. */
async function lockStore(path: string, waitMs: number): Promise<FileLock> {
  try {
    await createPrivateFolder(dirname(path));
    const lock = await lockFile(path, { waitMs });
    // SQLite gives the files next to it the same mode.
    await (await open(path, "a", 0o600)).close();
    return lock;
  } catch (error) {
    if (codeOf(error) === "FILE_LOCKED") {
      const { pid } = (error as DoorwardError).details;
      const holder = pid === undefined ? "another machine or container" : `process ${String(pid)}`;
      throw storeErrors.STORE_IN_USE(path, holder, { cause: error });
    }
    if (codeOf(error) !== "internal") throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw storeErrors.store_unavailable(path, reason, { cause: error });
  }
}
