// Opens the store that the section `store` names.
import { access } from "node:fs/promises";
import { join, resolve } from "node:path";
import { codeOf, type Awaitable } from "../../kernel/index.ts";
import type { StoreConfig } from "./config.ts";
import { conversationsErrors } from "./errors.ts";
import type { OpenConversations, StoreScope } from "./contract.ts";
import type { RedisInspection } from "../redis/inspect.ts";

interface StorePlace {
  /**
   * Folder of the launcher. A launcher works in memory, and logs that, if there is no SQLite or its
   * home is read-only.
   */
  readonly home: string | undefined;
  /** Milliseconds to wait for another process that closes the file. */
  readonly lockWaitMs: number;
  /** Reads the secrets of the kind `redis`. */
  readonly secrets: () => Awaitable<StoreSecrets>;
}

interface ConfiguredStore {
  readonly opened?: OpenConversations;
  readonly problem?: string;
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
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
  { home, lockWaitMs, secrets }: StorePlace,
  scope: StoreScope,
): Promise<ConfiguredStore> {
  const { kind, path, durability } = config;
  if (kind === "memory") return {};
  if (kind === "redis")
    return { opened: await openConfiguredRedis(config, await secrets(), scope) };
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

/** Secrets of the kind `redis`. */
export interface StoreSecrets {
  /** At least 32 random characters, the same on all nodes. */
  readonly secret?: string | undefined;
  /** Password of the Redis server. */
  readonly password?: string | undefined;
  /** Environment variable that can set the secret, for messages. */
  readonly variable?: string | undefined;
}

/** Connects to the Redis store of the section `store`. */
async function openConfiguredRedis(
  { url, sentinels, name, prefix, node, patience, replicas, keep_hours }: StoreConfig,
  { secret = "", password, variable }: StoreSecrets,
  scope: StoreScope,
): Promise<OpenConversations> {
  const { openRedis } = await import("../redis/index.ts");
  const options = {
    ...{ url, sentinels, name, prefix, node, patience, replicas, secret },
    keepHours: keep_hours,
    ...(password !== undefined && { password }),
    ...(variable !== undefined && { secretVariable: variable }),
  };
  return openRedis(options, scope);
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
  const { inspectRedis } = await import("../redis/inspect.ts");
  return inspectRedis(config, secrets);
}
