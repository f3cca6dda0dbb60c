// The factory of the Redis form for hosts. Loads it when the plugin starts.
import type { ConversationStore } from "../conversations/contract.ts";

/** Options of {@link redis}. */
export interface RedisOptions {
  /** `redis://` or `rediss://` URL of a single server. It may contain a password. */
  readonly url?: string;
  /** `HOST:PORT` of each Sentinel, instead of `url`. */
  readonly sentinels?: readonly string[];
  /** Name of the master in Sentinel. */
  readonly name?: string;
  /** Password of the server, if it is not part of `url`. */
  readonly password?: string;
  /** At least 32 random characters, the same on all nodes. A secret. */
  readonly secret: string;
  /** Begins the names of all keys. @defaultValue `"doorward"` */
  readonly prefix?: string;
  /** Name of this node for people. @defaultValue the id of the node */
  readonly node?: string;
  /** Seconds that a message waits while Redis is away. @defaultValue `10` */
  readonly patience?: number;
  /** Replicas that must have a message before any client receives it. @defaultValue `0` */
  readonly replicas?: number;
  /** Hours that a conversation is kept after its last use. @defaultValue `24` */
  readonly keepHours?: number;
}

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
 * import { conversations, redis } from "doorward/plugins/conversations";
 * const secret = process.env["STORE_SECRET"]!; // the same 32 random bytes or more on all nodes
 * const plugin = conversations({ store: redis({ url: "redis://127.0.0.1:6379", secret }) });
 */
export function redis(options: RedisOptions): ConversationStore {
  return {
    async open(scope) {
      const { openRedis } = await import("./index.ts");
      return openRedis(options, scope);
    },
  };
}
