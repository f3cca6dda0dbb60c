// Opens stores. Loads the SQLite store when it is needed.
import { lstat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { codeOf } from "../../kernel/index.ts";
import type { StoreConfig } from "./config.ts";
import { conversationsErrors } from "./errors.ts";
import type {
  BeforeUpgrade,
  ConfiguredStore,
  ConversationStore,
  OpenConversations,
  StoreScope,
} from "./contract.ts";

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
 * @throws STORE_PATH if the path is one of SQLite's own names, such as `:memory:`.
 * @throws STORE_IN_USE if another process has opened the file.
 * @throws STORE_BROKEN if the file is damaged or belongs to another program; it is not changed.
 * @throws STORE_NEWER if a newer version of Doorward has written the file.
 * @throws STORE_OLD if a development version has written the file; it is not changed.
 * @throws STORE_DRIVER_MISSING if this runtime has no SQLite and the package is not installed.
 * @throws store_unavailable if the file cannot be created or written.
 * @example
 * import { conversations, sqlite } from "doorward/plugins/conversations";
 * const plugin = conversations({ store: sqlite({ path: "/var/lib/bot/conversations.db" }) });
 */
export const sqlite = (options: SqliteOptions): ConversationStore => ({
  async open(scope) {
    const { openSqlite } = await import("./sqlite/index.ts");
    return openSqlite(options, scope);
  },
});

interface StorePlace {
  /**
   * Folder of the launcher. A launcher works in memory, and logs that, if there is no SQLite or its
   * home is read-only.
   */
  readonly home: string | undefined;
  /** Milliseconds to wait for another process that closes the file. */
  readonly lockWaitMs: number;
  /** Runs before a file of an earlier version is changed. */
  readonly beforeUpgrade: BeforeUpgrade | undefined;
  /** Opens the kind `redis`. */
  readonly redis: ConfiguredStore | undefined;
}

interface Opened {
  readonly opened?: OpenConversations;
  readonly problem?: string;
}

const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/**
 * Opens the store that the section names.
 *
 * @returns The store, or why the conversations are in memory, if not by choice.
 */
export async function configuredStore(
  config: StoreConfig,
  { home, lockWaitMs, beforeUpgrade, redis }: StorePlace,
  scope: StoreScope,
): Promise<Opened> {
  const { kind, path, durability } = config;
  if (kind === "memory") return {};
  if (kind === "redis") {
    if (redis === undefined) throw conversationsErrors.STORE_KIND_MISSING();
    return { opened: await redis.open(config, scope) };
  }
  if (path === "" && home === undefined) throw conversationsErrors.STORE_PATH_MISSING();
  const file = path === "" ? join(home!, "state", "conversations.db") : resolve(home ?? "", path);
  const { assertPath, openSqlite } = await import("./sqlite/index.ts");
  if (path !== "") assertPath(path);
  try {
    const options = { path: file, durability, lockWaitMs, beforeUpgrade };
    return { opened: await openSqlite(options, scope) };
  } catch (error) {
    const code = codeOf(error);
    const isMissing = code === "STORE_DRIVER_MISSING";
    if (home === undefined || !(isMissing || code === "store_unavailable")) throw error;
    // A file that exists has conversations, so the start must not go on without them.
    if (!isMissing && (await exists(file))) throw error;
    const problem = `Conversations are kept in memory only. ${(error as Error).message}`;
    scope.log.warn({ code }, problem);
    return { problem };
  }
}
