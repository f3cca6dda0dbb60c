// Loads ioredis, which is installed only where conversations are kept in Redis.
import { createRequire } from "node:module";
import type { Duplex } from "node:stream";
import { redisErrors } from "./errors.ts";

const driver = "ioredis";

/** A reply of the server. Texts are buffers. */
export type Reply = null | number | Buffer | Error | readonly Reply[];

/** The part of a pipeline of ioredis that the store uses. */
export interface RedisPipeline {
  callBuffer(command: string, ...values: (string | number | Buffer)[]): unknown;
  exec(): Promise<[error: Error | null, reply: unknown][] | null>;
}

/** The part of a client of ioredis that the store uses. */
export interface RedisClient {
  readonly status: string;
  /** Undefined before the first connection. */
  readonly stream?: Duplex;
  connect(): Promise<void>;
  disconnect(reconnect?: boolean): void;
  pipeline(): RedisPipeline;
  call(command: string, ...values: (string | number)[]): Promise<unknown>;
  ssubscribe(...channels: string[]): Promise<unknown>;
  sunsubscribe(...channels: string[]): Promise<unknown>;
  on(event: "connect" | "ready" | "close" | "end", run: () => void): unknown;
  on(event: "error", run: (error: Error) => void): unknown;
  on(event: "smessageBuffer", run: (channel: Buffer, message: Buffer) => void): unknown;
}

/** Address and credentials of the server. */
interface RedisAddress {
  /** `redis://` or `rediss://` URL. May contain a password, so it is a secret. */
  readonly url?: string;
  /** `HOST:PORT` of each Sentinel. */
  readonly sentinels?: readonly string[];
  /** Name of the master in Sentinel. */
  readonly name?: string;
  /** Overrides the password of the URL. */
  readonly password?: string;
}

type ClientClass = new (options: Record<string, unknown>) => RedisClient;

/** Milliseconds between two attempts to connect. */
const retryDelayMs = 250;

function serverOf(address: RedisAddress): Record<string, unknown> {
  const { url = "", sentinels = [], name = "", password = "" } = address;
  const secret = password === "" ? {} : { password };
  if (sentinels.length > 0 && name !== "") {
    const hosts = sentinels.map((text) => {
      const [, host, port] = /^\[?([^\]\s]+?)\]?:(\d{1,5})$/.exec(text) ?? [];
      if (host === undefined) throw redisErrors.REDIS_ADDRESS_INVALID();
      return { host, port: Number(port) };
    });
    const sentinelRetryStrategy = (): number => retryDelayMs;
    return { sentinels: hosts, name, sentinelRetryStrategy, failoverDetector: true, ...secret };
  }
  if (url === "") throw redisErrors.REDIS_ADDRESS_MISSING();
  if (!URL.canParse(url)) throw redisErrors.REDIS_ADDRESS_INVALID();
  const { protocol, hostname, port, username, password: ownPassword, pathname } = new URL(url);
  if (protocol !== "redis:" && protocol !== "rediss:") throw redisErrors.REDIS_ADDRESS_INVALID();
  return {
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: port === "" ? 6_379 : Number(port),
    ...(username !== "" && { username: decodeURIComponent(username) }),
    ...(ownPassword !== "" && { password: decodeURIComponent(ownPassword) }),
    ...(pathname.length > 1 && { db: Number(pathname.slice(1)) }),
    ...(protocol === "rediss:" && { tls: {} }),
    ...secret,
  };
}

/**
 * Loads ioredis.
 *
 * @returns A function that creates clients, which connect on the first call of `connect` and
 *   again whenever the connection was lost.
 * @throws REDIS_DRIVER_MISSING if the package is not installed.
 */
export function loadRedisDriver(address: RedisAddress): () => RedisClient {
  const server = serverOf(address);
  let Client: ClientClass;
  try {
    const loaded = createRequire(import.meta.url)(driver) as { readonly Redis: ClientClass };
    Client = loaded.Redis;
  } catch (error) {
    throw redisErrors.REDIS_DRIVER_MISSING({ cause: error });
  }
  return () =>
    new Client({
      ...server,
      lazyConnect: true,
      protocol: 2,
      enableOfflineQueue: false,
      autoResubscribe: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      connectTimeout: 2_000,
      retryStrategy: () => retryDelayMs,
      // A server that was demoted answers this until the client finds the new master.
      reconnectOnError: ({ message }: Error) => message.startsWith("READONLY"),
    });
}
