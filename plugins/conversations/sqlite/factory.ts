// The factory of the SQLite store for the plugin. Loads the store when the plugin starts.
import type { ConversationStore } from "../contract.ts";

/** Options of {@link sqlite}. */
export interface SqliteOptions {
  /** The database file. Doorward creates it with mode 0600, and its folder with mode 0700. */
  readonly path: string;
  /**
   * `process`: stored messages survive the end of the process. `power`: also a power failure, at
   * the cost of one `fdatasync` per batch.
   *
   * @defaultValue `"process"`
   */
  readonly durability?: "process" | "power";
}

/**
 * Keeps conversations in one SQLite file. Needs Node 22.13, Deno 2.7 or Bun 1.4, or
 * in Node 20 the package `@photostructure/sqlite`. The start of the plugin rejects as listed.
 *
 * @throws STORE_IN_USE if another process has opened the file.
 * @throws STORE_BROKEN if the file is damaged or belongs to another program; it is not changed.
 * @throws STORE_NEWER if a newer version of Doorward has written the file.
 * @throws STORE_UNFINISHED if an earlier version has written the file, and not all of it.
 * @throws STORE_DRIVER_MISSING if this runtime has no SQLite and the package is not installed.
 * @throws store_unavailable if the file cannot be created or written.
 * @example
 * import { conversations, sqlite } from "doorward/plugins/conversations";
 * const plugin = conversations({ store: sqlite({ path: "/var/lib/bot/conversations.db" }) });
 */
export const sqlite = (options: SqliteOptions): ConversationStore => ({
  async open(scope) {
    const { openSqlite } = await import("./index.ts");
    return openSqlite(options, scope);
  },
});
