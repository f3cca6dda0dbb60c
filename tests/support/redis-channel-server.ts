// Starts whole servers with the pico channel that share one Redis server.
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { createKernel, type AnyPlugin, type Clock } from "../../kernel/index.ts";
import { createCapturedLog } from "../../kernel/testing.ts";
import { application, channels, type Application } from "../../plugins/channels/index.ts";
import { conversations } from "../../plugins/conversations/index.ts";
import { redis, type RedisOptions } from "../../plugins/redis/index.ts";
import { http } from "../../plugins/http/index.ts";
import { picoServer, type PicoServerEvents } from "../../plugins/pico-server/index.ts";
import { memory, tokenStore } from "../../plugins/token-store/index.ts";
import { connectClient, fetchJson, token } from "./pico-server-harness.ts";
import { redisSecret } from "./redis-nodes.ts";
import { startRedis, type RedisServer } from "./redis-server.ts";

interface ChannelNodeOptions extends Partial<RedisOptions> {
  readonly app?: Application;
  /** Frames that are kept for one session. */
  readonly window?: { readonly frames: number; readonly bytes: number };
  readonly token?: string;
  readonly plugins?: readonly AnyPlugin[];
  /** Tokens of further plugins. */
  readonly tokens?: Readonly<Record<string, string>>;
  /** Settings of further plugins. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly clock?: Clock;
  readonly pico?: Readonly<Record<string, unknown>>;
}

export async function startChannelNode(options: ChannelNodeOptions) {
  const {
    app = () => undefined,
    token: own = token,
    plugins = [],
    tokens = {},
    config = {},
    pico,
    clock,
    ...store
  } = options;
  const captured = createCapturedLog();
  const kernel = createKernel(
    [
      tokenStore(memory({ pico: own, ...tokens })),
      conversations({ store: redis({ secret: redisSecret, ...store }) }),
      channels(),
      http({ port: 0 }),
      picoServer(),
    ],
    {
      plugins: [application(app), ...plugins],
      log: captured.log,
      ...(clock && { clock }),
      config: { "channels.pico": { enabled: true, drain_timeout: 0, ...pico }, ...config },
    },
  );
  const closed: PicoServerEvents["pico-server:disconnected"][] = [];
  kernel.on("pico-server:disconnected", (event) => void closed.push(event));
  await kernel.start();
  const { services } = kernel;
  const port = Number(services.http.addresses("gateway")[0]!.port);
  return {
    kernel,
    services,
    port,
    lines: captured.lines,
    closed,
    say: (content: string, session = "s") =>
      services.channels.send({ channel: "pico", session }, { content }),
    connect: (path: string) => connectClient(port, path, { token: own }),
    fetch: (path: string, body?: unknown) =>
      fetchJson(port, path, { ...(body !== undefined && { method: "POST", body }) }),
    stop: () => kernel.stop(),
  };
}

export type ChannelNode = Awaited<ReturnType<typeof startChannelNode>>;

/** Starts a Redis server for the tests of a file. The returned function starts a node for one test. */
export function useChannelNodes(): {
  readonly server: () => RedisServer;
  readonly start: (options: ChannelNodeOptions) => Promise<ChannelNode>;
} {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());
  return {
    server: () => server,
    start: async (options) => {
      const node = await startChannelNode({ url: server.url, ...options });
      onTestFinished(() => node.stop());
      return node;
    },
  };
}
