// Opens the store that the section `store` names.
import { access } from "node:fs/promises";
import { join, resolve } from "node:path";
import { codeOf } from "../../kernel/index.ts";
import type { StoreConfig } from "./config.ts";
import { conversationsErrors } from "./errors.ts";
import type { RedisInspection } from "./stores/redis/inspect.ts";
import type { SharedConversationStore } from "./stores/redis/shared.ts";
import type { ConversationStorage, StorageContext } from "./stores/storage.ts";

interface StorePlace {
  /**
   * Folder of the launcher. A launcher works in memory, and logs that, if there is no SQLite or its
   * home is read-only.
   */
  readonly home: string | undefined;
  /** Milliseconds to wait for another process that closes the file. */
  readonly lockWaitMs: number;
}

interface OpenedStore {
  readonly storage?: ConversationStorage;
  readonly problem?: string;
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/**
 * Opens the configured store.
 *
 * @returns The store, or why the conversations are in memory, if not by choice.
 */
export async function openStore(
  { kind, path, durability }: StoreConfig,
  { home, lockWaitMs }: StorePlace,
  context: StorageContext,
): Promise<OpenedStore> {
  if (kind !== "sqlite") return {};
  if (path === "" && home === undefined) throw conversationsErrors.STORE_PATH_MISSING();
  const file = path === "" ? join(home!, "state", "conversations.db") : resolve(home ?? "", path);
  const { openSqliteStorage } = await import("./stores/sqlite/index.ts");
  try {
    const storage = await openSqliteStorage({ path: file, durability, ...context, lockWaitMs });
    return { storage };
  } catch (error) {
    const code = codeOf(error);
    const isMissing = code === "STORE_DRIVER_MISSING";
    if (home === undefined || !(isMissing || code === "store_unavailable")) throw error;
    // A file that exists has conversations, so the start must not go on without them.
    if (!isMissing && (await exists(file))) throw error;
    const problem = `Conversations are kept in memory only. ${(error as Error).message}`;
    context.log.warn({ code }, problem);
    return { problem };
  }
}

/** Secrets of the kind `redis`. */
export interface StoreSecrets {
  /** At least 32 random characters, the same on all nodes. */
  readonly secret?: string | undefined;
  /** Password of the Redis server. */
  readonly password?: string | undefined;
  /** Environment variable that can set the secret, for messages. */
  readonly variable?: string | undefined;
}

/** Creates the Redis store of the section `store`. */
export async function openConfiguredRedis(
  { url, sentinels, name, prefix, node, patience, replicas, keep_hours }: StoreConfig,
  { secret = "", password, variable }: StoreSecrets,
): Promise<SharedConversationStore> {
  const { openRedis } = await import("./stores/redis/index.ts");
  const options = {
    ...{ url, sentinels, name, prefix, node, patience, replicas, secret },
    keepHours: keep_hours,
    ...(password !== undefined && { password }),
    ...(variable !== undefined && { secretVariable: variable }),
  };
  return { open: (scope) => openRedis(options, scope) };
}

/**
 * Looks at the Redis server of the section `store`, without writing to it.
 *
 * @throws The error for which a start would be rejected.
 */
export async function inspectStoreServer(
  config: Pick<StoreConfig, "url" | "sentinels" | "name" | "prefix" | "replicas">,
  secrets: StoreSecrets,
): Promise<RedisInspection> {
  const { inspectRedis } = await import("./stores/redis/inspect.ts");
  return inspectRedis(config, secrets);
}
