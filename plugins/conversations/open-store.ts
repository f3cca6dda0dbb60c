// Opens the store that the section `store` names.
import { lstat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { codeOf } from "../../kernel/index.ts";
import type { StoreConfig } from "./config.ts";
import { conversationsErrors } from "./errors.ts";
import type { ConfiguredStore, OpenConversations, StoreScope } from "./contract.ts";

interface StorePlace {
  /**
   * Folder of the launcher. A launcher works in memory, and logs that, if there is no SQLite or its
   * home is read-only.
   */
  readonly home: string | undefined;
  /** Milliseconds to wait for another process that closes the file. */
  readonly lockWaitMs: number;
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
  { home, lockWaitMs, redis }: StorePlace,
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
  const { openSqlite } = await import("./sqlite/index.ts");
  try {
    return { opened: await openSqlite({ path: file, durability, lockWaitMs }, scope) };
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
