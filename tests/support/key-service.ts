// Starts a service with keys, all protocols, files and a store.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Key, KeyInput } from "../../plugins/keys/index.ts";
import { connectClient, type Client, type ConnectOptions } from "./pico-server-harness.ts";
import { startProtocols, type ServiceOptions } from "./protocol-service.ts";

/** A request and the parts of its response that tests look at. */
export interface Answered {
  readonly status: number;
  readonly text: string;
  readonly body: any;
}

export interface KeyAsk {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON, or bytes as they are. */
  readonly body?: unknown;
}

export interface KeyClient {
  readonly key: Key;
  readonly secret: string;
  ask(path: string, asked?: KeyAsk): Promise<Answered>;
  connect(path?: string, options?: ConnectOptions): Promise<Client>;
}

/** Sends a request with a bearer. */
export async function askWith(
  origin: string,
  bearer: string | undefined,
  path: string,
  { method, headers, body }: KeyAsk = {},
): Promise<Answered> {
  const isRaw = body instanceof Uint8Array || body instanceof FormData;
  const response = await fetch(origin + path, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    redirect: "manual",
    headers: {
      ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      ...(body !== undefined && !isRaw && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: (isRaw ? body : JSON.stringify(body)) as BodyInit }),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.includes("json") === true;
  return { status: response.status, text, body: isJson && text !== "" ? JSON.parse(text) : {} };
}

/** A service on a free port, whose clients have keys. */
export async function startKeys(options: ServiceOptions = {}) {
  const home = await mkdtemp(join(tmpdir(), "doorward-keys-"));
  const service = await startProtocols({ home, media: {}, ...options });
  const { origin, kernel } = service;
  const port = Number(new URL(origin).port);
  const toClient = (key: Key, secret: string): KeyClient => ({
    key,
    secret,
    ask: (path, asked) => askWith(origin, secret, path, asked),
    connect: (path = "/keys", o = {}) => connectClient(port, path, { token: secret, ...o }),
  });
  return {
    ...service,
    port,
    keys: kernel.services.keys,
    async client(input: KeyInput): Promise<KeyClient> {
      const { key, secret } = await kernel.services.keys.create(input);
      return toClient(key, secret);
    },
    toClient,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await rm(home, { recursive: true, force: true });
    },
  };
}
export type KeyService = Awaited<ReturnType<typeof startKeys>>;
