// Options and secrets of the shared store.

/** Options of `redis()`. */
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

/** Secrets of the store, which are not settings. */
export interface StoreSecrets {
  /** At least 32 random characters, the same on all nodes. */
  readonly secret?: string | undefined;
  /** Password of the Redis server. */
  readonly password?: string | undefined;
  /** Environment variable that can set the secret, for messages. */
  readonly variable?: string | undefined;
}
