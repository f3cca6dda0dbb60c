/** The shared store on Redis or Valkey. Its code is loaded when it is used. */
import type { Awaitable } from "../../kernel/index.ts";
import type { StoreConfig } from "../conversations/config.ts";
import type { ConfiguredStore, ConversationStore } from "../conversations/contract.ts";
import type { RedisInspection } from "./inspect.ts";
import type { RedisOptions, StoreSecrets } from "./options.ts";

export type { RedisInspection } from "./inspect.ts";
export type { RedisOptions, StoreSecrets } from "./options.ts";

/**
 * Keeps conversations in Redis 7 or newer, or Valkey, shared by several nodes. Needs the package
 * `ioredis`. The start of the plugin rejects as listed.
 *
 * @throws REDIS_DRIVER_MISSING if the package `ioredis` is not installed.
 * @throws REDIS_SECRET_MISSING if `secret` has fewer than 32 characters.
 * @throws REDIS_ADDRESS_MISSING if there is neither a URL nor a list of Sentinels.
 * @throws REDIS_ADDRESS_INVALID if an address is malformed.
 * @throws REDIS_UNREACHABLE if the server does not answer.
 * @throws REDIS_TOO_OLD, REDIS_EVICTS or REDIS_CLUSTER if the server cannot be used.
 * @throws REDIS_OTHER_SECRET if other nodes use another secret with this prefix.
 * @example
 * import { conversations } from "doorward/plugins/conversations";
 * import { redis } from "doorward/plugins/redis";
 * const secret = process.env["STORE_SECRET"]!; // the same 32 random bytes or more on all nodes
 * const plugin = conversations({ store: redis({ url: "redis://127.0.0.1:6379", secret }) });
 */
export function redis(options: RedisOptions): ConversationStore {
  return {
    async open(scope) {
      const { openRedis } = await import("./open.ts");
      return openRedis(options, scope);
    },
  };
}

/**
 * Opens the store of the section `store`, if its `kind` is `redis`. The start of the plugin rejects
 * as `redis()` lists.
 *
 * @param secrets - Reads the secrets at the start.
 * @example
 * import { conversations } from "doorward/plugins/conversations";
 * import { configuredRedis } from "doorward/plugins/redis";
 * const secrets = () => ({ secret: process.env["STORE_SECRET"] });
 * const plugin = conversations({ redis: configuredRedis(secrets) });
 */
export function configuredRedis(secrets: () => Awaitable<StoreSecrets>): ConfiguredStore {
  return {
    async open({ url, sentinels, name, prefix, node, patience, replicas, keep_hours }, scope) {
      const { secret = "", password, variable } = await secrets();
      const { openRedis } = await import("./open.ts");
      const options = {
        ...{ url, sentinels, name, prefix, node, patience, replicas, secret },
        keepHours: keep_hours,
        ...(password !== undefined && { password }),
        ...(variable !== undefined && { secretVariable: variable }),
      };
      return openRedis(options, scope);
    },
  };
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
  const { inspectRedis } = await import("./inspect.ts");
  return inspectRedis(config, secrets);
}
