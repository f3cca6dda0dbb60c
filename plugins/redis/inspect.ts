// Looks at a Redis server for the doctor, without writing to it.
import type { StoreConfig } from "../conversations/config.ts";
import type { StoreSecrets } from "./options.ts";
import { loadRedisDriver } from "./driver.ts";
import { redisErrors } from "./errors.ts";
import { KeySpace } from "./keys.ts";
import { assertServer, nameOf, parseInfo, warningFor } from "./server-info.ts";

const timeoutMs = 3_000;

/** The state of a server that a node can use. */
export interface RedisInspection {
  /** Name and version, for example `Redis 7.0.15` or `Valkey 8.1.1`. */
  readonly server: string;
  /** Number of connected replicas. */
  readonly replicas: number;
  /** Why messages may get lost; absent if all is well. */
  readonly warning?: string;
}

/** Rejects with the error for which a start would be rejected. */
export async function inspectRedis(
  config: Pick<StoreConfig, "url" | "sentinels" | "name" | "prefix" | "replicas">,
  { secret = "", password, variable = "SERVICE_STORE_SECRET" }: StoreSecrets,
): Promise<RedisInspection> {
  const { prefix, replicas, ...address } = config;
  if (secret.length < 32) throw redisErrors.REDIS_SECRET_MISSING(variable);
  const client = loadRedisDriver({ ...address, ...(password !== undefined && { password }) })();
  let reason = `no reply in ${timeoutMs / 1_000} s`;
  client.on("error", ({ message }) => void (reason = message));
  const timer = setTimeout(() => client.disconnect(), timeoutMs);
  try {
    await client.connect();
    const info = parseInfo(await client.call("INFO"));
    assertServer(info);
    const space = new KeySpace(prefix, secret);
    const known = await client.call("GET", space.fingerprintKey);
    if (known !== null && String(known) !== space.fingerprint())
      throw redisErrors.REDIS_OTHER_SECRET();
    const warning = warningFor(info, replicas);
    return {
      server: nameOf(info),
      replicas: Number(info.connected_slaves ?? 0),
      ...(warning !== undefined && { warning }),
    };
  } catch (error) {
    if ((error as Error).name === "DoorwardError") throw error;
    throw redisErrors.REDIS_UNREACHABLE(reason);
  } finally {
    clearTimeout(timer);
    client.disconnect();
  }
}
