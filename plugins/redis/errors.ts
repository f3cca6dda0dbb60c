// Errors of the Redis form.
import { errorTable } from "../../kernel/index.ts";

export const redisErrors = errorTable({
  REDIS_DRIVER_MISSING:
    'The setting "store.kind" is "redis", and the package ioredis is not installed. Run: npm ' +
    "install ioredis@6",
  REDIS_ADDRESS_MISSING:
    'The setting "store.kind" is "redis", and neither "store.url" nor "store.sentinels" with ' +
    '"store.name" is set. Set one of them.',
  REDIS_ADDRESS_INVALID:
    'The setting "store.url" is not a redis:// or rediss:// URL, or an item of "store.sentinels" ' +
    "is not HOST:PORT. Correct it.",
  REDIS_SECRET_MISSING: (variable: string) =>
    'The setting "store.secret" is missing or has fewer than 32 characters. Set ' +
    `${variable} to the same random value on all nodes: openssl rand -hex 32`,
  REDIS_UNREACHABLE: (reason: string) =>
    `Redis cannot be reached: ${reason}. Check "store.url" and that the server runs.`,
  REDIS_TOO_OLD: (version: string) =>
    `The Redis server has version ${version}. Use Redis 7.0 or newer, or Valkey.`,
  REDIS_EVICTS: (policy: string) =>
    `The Redis server deletes keys when its memory is full (maxmemory-policy ${policy}). Set ` +
    "maxmemory-policy to noeviction.",
  REDIS_CLUSTER: "Redis Cluster is not supported. Use a single server, or Sentinel.",
  REDIS_OTHER_SECRET:
    'The setting "store.secret" is not the one of the other nodes of this Redis. Set the same ' +
    'secret, or another "store.prefix".',
});
