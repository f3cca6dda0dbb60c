// Opens the Redis form: checks the options, connects, and checks the server.
import { RedisConversations } from "./conversations.ts";
import { loadRedisDriver } from "./driver.ts";
import { redisErrors } from "./errors.ts";
import type { RedisOptions } from "./options.ts";
import type { StoreScope } from "../conversations/contract.ts";

const minSecretLength = 32;
const hourMs = 3_600_000;

export interface OpenRedisOptions extends RedisOptions {
  /** Variable that can set the secret, for the message. */
  readonly secretVariable?: string;
  readonly window?: { readonly frames: number; readonly bytes: number };
}

/**
 * Opens the store.
 *
 * @throws The errors that `redis()` lists.
 */
export async function openRedis(
  options: OpenRedisOptions,
  scope: StoreScope,
): Promise<RedisConversations> {
  const { secret, secretVariable = "SERVICE_STORE_SECRET", prefix = "doorward" } = options;
  const { node = "", patience = 10, replicas = 0, keepHours = 24, window } = options;
  if (secret.length < minSecretLength) throw redisErrors.REDIS_SECRET_MISSING(secretVariable);
  const create = loadRedisDriver(options);
  const settings = {
    prefix,
    secret,
    node: node === "" ? Buffer.from(scope.random(4)).toString("hex") : node,
    patienceMs: patience * 1_000,
    replicas,
    keepMs: keepHours * hourMs,
    ...(window && { window }),
  };
  const conversations = new RedisConversations(create, settings, scope);
  await conversations.start();
  return conversations;
}
