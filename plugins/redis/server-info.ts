// Reads the reply of INFO, and decides whether a server can be used.
import { redisErrors } from "./errors.ts";

type Info = Readonly<Record<string, string>>;

export function parseInfo(text: unknown): Info {
  const lines = Buffer.isBuffer(text) ? text.toString() : String(text);
  return Object.fromEntries(
    lines.split(/\r?\n/).flatMap((line) => {
      const at = line.indexOf(":");
      return at > 0 ? [[line.slice(0, at), line.slice(at + 1)] as const] : [];
    }),
  );
}

/** @returns Name and version. In Valkey, `redis_version` names the compatible Redis. */
export function nameOf({ redis_version = "", valkey_version }: Info): string {
  return valkey_version === undefined ? `Redis ${redis_version}` : `Valkey ${valkey_version}`;
}

/** @throws REDIS_TOO_OLD, REDIS_CLUSTER or REDIS_EVICTS if the server cannot be used. */
export function assertServer(info: Info): void {
  const { redis_version = "0", redis_mode, server_mode = redis_mode, maxmemory_policy } = info;
  if (Number.parseInt(redis_version, 10) < 7) throw redisErrors.REDIS_TOO_OLD(redis_version);
  if (server_mode === "cluster") throw redisErrors.REDIS_CLUSTER();
  if (maxmemory_policy !== undefined && maxmemory_policy !== "noeviction")
    throw redisErrors.REDIS_EVICTS(maxmemory_policy);
}

/** @returns A warning about the settings of the server, or undefined. */
export function warningFor({ aof_enabled }: Info, replicas: number): string | undefined {
  if (aof_enabled !== "0" || replicas > 0) return undefined;
  return "Redis writes no append-only file: a restart of the server may lose messages";
}
