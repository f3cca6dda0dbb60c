// Starts whole servers over each form of a store: one server, or two nodes that share it.
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createKernel, type AnyPlugin } from "../../kernel/index.ts";
import { createCapturedLog } from "../../kernel/testing.ts";
import { application, channels, type Application } from "../../plugins/channels/index.ts";
import { conversations, sqlite } from "../../plugins/conversations/index.ts";
import { redis } from "../../plugins/redis/index.ts";
import { http } from "../../plugins/http/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import { memory, tokenStore } from "../../plugins/token-store/index.ts";
import { both } from "./extension-clients.ts";
import { connectClient, fetchJson, token, waitFor } from "./pico-server-harness.ts";
import { redisSecret } from "./redis-nodes.ts";
import { hasRedis, startRedis } from "./redis-server.ts";
import { createFolder } from "./sqlite-store.ts";

/** `another node`: the person who stops or deletes is at another node than the application. */
export type StoreForm = "memory" | "sqlite" | "redis" | "another node";

const sharedForms: readonly StoreForm[] = hasRedis ? ["redis", "another node"] : [];
export const durableForms: readonly StoreForm[] = ["sqlite", ...sharedForms];
export const storeForms: readonly StoreForm[] = ["memory", ...durableForms];

async function startNode(
  store: Parameters<typeof conversations>[0],
  app: AnyPlugin,
  plugins: readonly AnyPlugin[],
) {
  const { log, lines } = createCapturedLog();
  const kernel = createKernel(
    [
      tokenStore(memory({ pico: token })),
      conversations(store),
      channels(),
      http({ port: 0 }),
      picoServer(),
    ],
    {
      plugins: [app, ...plugins],
      log,
      config: { "channels.pico": { enabled: true, drain_timeout: 0, message_rate: 0 } },
    },
  );
  await kernel.start();
  onTestFinished(() => kernel.stop());
  const { services } = kernel;
  const port = Number(services.http.addresses("gateway")[0]!.port);
  return {
    services,
    lines,
    on: kernel.on.bind(kernel),
    stop: () => kernel.stop(),
    join: (session = "s") => connectClient(port, `/pico?session_id=${session}&pico_ext=1${both}`),
    post: async (path: string, body: unknown) =>
      (await fetchJson(port, path, { method: "POST", body })).body,
  };
}

export type StoreNode = Awaited<ReturnType<typeof startNode>>;

/** The plugin of a handler. */
export const app = (handler: Application): AnyPlugin =>
  application(handler) as unknown as AnyPlugin;

/** The files of the store, as a text with one character for each byte. */
const readFolder = (path: string): string =>
  readdirSync(path)
    .map((name) => readFileSync(join(path, name)).toString("latin1"))
    .join("\n");

export interface StoreServers {
  /** The node whose application receives the messages of the session `s` that it sends first. */
  readonly home: StoreNode;
  /** The node of the person who stops or deletes: the same, unless the form is `another node`. */
  readonly away: StoreNode;
  /** Stops all nodes, and returns the bytes of the store. */
  stop(): Promise<string>;
}

/**
 * Prepares a store of one server that is stopped and started again.
 *
 * @returns A function that starts the server with the same store.
 */
export async function createRestarts(
  form: Exclude<StoreForm, "another node">,
): Promise<(app: AnyPlugin) => Promise<StoreNode>> {
  if (form === "memory") return (app) => startNode({}, app, []);
  if (form === "sqlite") {
    const path = join(createFolder(), "conversations.db");
    return (app) => startNode({ store: sqlite({ path }) }, app, []);
  }
  const server = await startRedis();
  onTestFinished(() => server.stop());
  const options = { url: server.url, prefix: randomUUID(), secret: redisSecret };
  return (app) => startNode({ store: redis(options) }, app, []);
}

/** Starts a server, or two nodes with an application each. They are stopped after the test. */
export async function startStore(
  form: StoreForm,
  createApp: () => AnyPlugin,
  plugins: readonly AnyPlugin[] = [],
): Promise<StoreServers> {
  if (form === "memory" || form === "sqlite") {
    const path = createFolder();
    const store =
      form === "memory" ? {} : { store: sqlite({ path: join(path, "conversations.db") }) };
    const home = await startNode(store, createApp(), plugins);
    const stop = async (): Promise<string> => {
      await home.stop();
      return readFolder(path);
    };
    return { home, away: home, stop };
  }
  const server = await startRedis(["--rdbcompression", "no"]);
  onTestFinished(() => server.stop());
  const options = { url: server.url, prefix: randomUUID(), secret: redisSecret };
  const start = () => startNode({ store: redis(options) }, createApp(), plugins);
  const home = await start();
  const away = form === "redis" ? home : await start();
  return {
    home,
    away,
    async stop() {
      await server.ask("SAVE");
      const left = readFolder(server.folder);
      for (const node of new Set([home, away])) await node.stop();
      return left;
    },
  };
}

/** Resolves when the client has this many frames of the type. */
export const framesOf = (client: Awaited<ReturnType<StoreNode["join"]>>, type: string, count = 1) =>
  waitFor(() => {
    const found = client.frames.filter((frame) => frame.type === type);
    return found.length >= count && found;
  });
