import { once } from "node:events";
import { request, type IncomingHttpHeaders } from "node:http";
import { connect, type Socket } from "node:net";
import { SimulatedClock } from "xstate";
import { WebSocket, type ClientOptions } from "ws";
import {
  createKernel,
  type AnyPlugin,
  type Clock,
  type Configuration,
  type Plugin,
} from "../../kernel/index.ts";
import { createCapturedLog } from "../../kernel/testing.ts";
import {
  application,
  channels,
  type Application,
  type Channels,
} from "../../plugins/channels/index.ts";
import { gateway, http, type Http } from "../../plugins/http/index.ts";
import { picoServer, type PicoServerEvents } from "../../plugins/pico-server/index.ts";
import {
  memory,
  tokenStore,
  type Tokens,
  type TokenStoreShape,
} from "../../plugins/token-store/index.ts";

export const token = "correct-horse-battery-staple-correct-horse-battery-staple";
export const bearer = `Authorization: Bearer ${token}`;
export const wsLines = [
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

export interface PicoTestServerOptions {
  readonly token?: string;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly app?: Application | null;
  /** Started before `channels`. */
  readonly first?: AnyPlugin;
  /** Further sections of the configuration. */
  readonly section?: Readonly<Record<string, object>>;
  /** Started last. */
  readonly plugins?: readonly AnyPlugin[];
  readonly random?: (bytes: number) => Uint8Array;
  readonly gateway?: boolean;
  readonly verify?: (ask: Tokens["verify"]) => Tokens["verify"];
}

/** The real token store. Tests can remove its channel token as a file edit would. */
function store(pico: string | undefined, verify: PicoTestServerOptions["verify"]) {
  const inner = tokenStore(memory(pico === undefined ? {} : { pico }));
  let removed = false;
  let announce = (): void => undefined;
  const plugin: Plugin<TokenStoreShape> = {
    ...inner,
    async start(scope) {
      const offered = await inner.start(scope);
      announce = () => scope.emit("token-store:removed", { name: "pico" });
      const ask = (verify ?? ((same) => same))(offered.tokens.verify);
      const tokens: Tokens = {
        ...offered.tokens,
        info: (name) =>
          removed ? { version: 0, source: "none", managedByEnv: false } : offered.tokens.info(name),
        verify: ask,
        match: async (name, value) => {
          const version = await ask(name, value);
          return version !== false && { version };
        },
      };
      return { ...offered, tokens };
    },
  };
  return {
    plugin,
    remove: () => {
      removed = true;
      announce();
    },
  };
}

export type BusEvent = {
  [K in keyof PicoServerEvents]: { type: K } & PicoServerEvents[K];
}[keyof PicoServerEvents];

export async function startPicoServer(options: PicoTestServerOptions = {}) {
  const clock = new SimulatedClock();
  clock.set(1_700_000_000_000);
  let behind = 0;
  const wall: Clock = {
    now: () => clock.now() - behind,
    monotonic: () => clock.now(),
    setTimeout: (run, ms) => clock.setTimeout(run, ms),
    clearTimeout: (id) => clock.clearTimeout(id as number),
  };
  const { log, lines } = createCapturedLog();
  const tokens = store("token" in options ? options.token : token, options.verify);
  let configuration: Configuration | undefined;
  const editor: Plugin<{ configures: true }> = {
    name: "editor",
    api: 1,
    configures: true,
    start: (scope) => void (configuration = scope.configuration),
  };
  const silent: Application = () => undefined;
  const pico = { enabled: true, drain_timeout: 0, ...options.config };
  const nothing: Plugin = { name: "nothing", api: 1, start: () => undefined };
  const first = (options.first ?? nothing) as Plugin;
  const kernel = createKernel(
    [tokens.plugin, editor, first, channels(), http({ port: 0 }), gateway(), picoServer()],
    {
      plugins: [
        ...(options.app === null ? [] : [application(options.app ?? silent)]),
        ...(options.plugins ?? []),
      ],
      clock: wall,
      log,
      config: {
        ...options.section,
        "channels.pico": pico,
        ...(options.gateway && { gateway: { port: 0 } }),
      },
      ...(options.random && { random: options.random }),
    },
  );
  const facts: BusEvent[] = [];
  for (const type of ["connected", "disconnected", "refused"] as const) {
    kernel.on(
      `pico-server:${type}`,
      (fact) => void facts.push({ type: `pico-server:${type}`, ...fact } as BusEvent),
    );
  }
  await kernel.start();
  const { services } = kernel;
  const port = Number(services.http.addresses("gateway")[0]!.port);

  return {
    kernel,
    clock,
    lines,
    facts,
    port,
    /** Moves the clock back by this many milliseconds. Timers do not change. */
    setBack: (ms: number) => void (behind += ms),
    services: services as { http: Http; channels: Channels } & typeof services,
    dashboardPort: Number(services.http.addresses()[0]!.port),
    removeToken: tokens.remove,
    configure: (changes: object) => configuration!.apply("channels.pico", { ...pico, ...changes }),
    say: (session: string, content: string) =>
      services.channels.send({ channel: "pico", session }, { content }),
    /**
     * Sends messages to a client that does not read until this many bytes are queued in this process
     * and the system accepts no more.
     *
     * @returns The number of messages.
     */
    async fill(session: string, bytes: number, size = 100_000): Promise<number> {
      const waiting = (): number =>
        services.picoServer.connections()[0]?.queuedBytes ?? Number.POSITIVE_INFINITY;
      let said = 0;
      for (let still = 0; still < 5;) {
        while (waiting() < bytes) {
          await services.channels.send({ channel: "pico", session }, { content: "x".repeat(size) });
          said += 1;
          await new Promise((resolve) => setImmediate(resolve));
        }
        const before = waiting();
        await fetchJson(port, "/pico"); // by now, the system has delivered all earlier bytes
        still = waiting() === before ? still + 1 : 0;
      }
      return said;
    },
    connect: (path = "/pico", o: ConnectOptions = {}) => connectClient(port, path, o),
    sendRaw: (path: string, o: RawRequestOptions = {}) => sendRaw(port, path, o),
    /** Advances the clock second by second. */
    pass: async (seconds: number, each: () => unknown = () => undefined) => {
      for (let second = 0; second < seconds; second++) {
        clock.increment(1_000);
        await each();
      }
    },
    fact: <K extends BusEvent["type"]>(type: K) =>
      waitFor(() => facts.find((fact) => fact.type === type) as Extract<BusEvent, { type: K }>),
    [Symbol.asyncDispose]: () => kernel.stop(),
  };
}
export type PicoTestServer = Awaited<ReturnType<typeof startPicoServer>>;

/** Waits until `read` returns a value. */
export async function waitFor<T>(find: () => T | undefined | false): Promise<T> {
  for (;;) {
    const found = find();
    if (found !== undefined && found !== false) return found;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

export interface RawRequestOptions {
  readonly method?: string;
  /** Headers. Default: a WebSocket handshake with the correct token. */
  readonly lines?: readonly string[];
  readonly from?: string;
}
export interface RawResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { error?: string; message?: string; retryAfterSeconds?: number };
}

/** Expected properties of a response. */
export const rejection = (status: number, error: string, headers: object = {}): object => ({
  status,
  body: { error },
  headers,
});

/** Sends bytes over a plain socket. Reads the whole response, or the head if the status is 101. */
export async function sendRaw(
  port: number,
  path: string,
  o: RawRequestOptions = {},
): Promise<RawResponse> {
  const { method = "GET", lines = [...wsLines, bearer], from = "127.0.0.1" } = o;
  const socket: Socket = connect({ port, host: "127.0.0.1", localAddress: from });
  const host = lines.some((line) => /^host:/i.test(line)) ? [] : [`Host: localhost:${port}`];
  socket.write(
    Buffer.from([`${method} ${path} HTTP/1.1`, ...host, ...lines, "", ""].join("\r\n"), "latin1"),
  );
  let text = "";
  socket.setEncoding("latin1");
  for await (const chunk of socket) {
    text += chunk as string;
    const end = text.indexOf("\r\n\r\n");
    const length = Number(/^content-length: (\d+)/im.exec(text)?.[1] ?? 0);
    if (end !== -1 && text.length >= end + 4 + (method === "HEAD" ? 0 : length)) break;
  }
  socket.destroy();
  const [head = "", rest = ""] = text.split("\r\n\r\n");
  const [start = "", ...fields] = head.split("\r\n");
  const headers = Object.fromEntries(
    fields.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const body = rest.startsWith("{") ? Buffer.from(rest, "latin1").toString() : "{}";
  return {
    status: Number(start.split(" ")[1]),
    headers,
    body: JSON.parse(body) as RawResponse["body"],
  };
}

export interface ConnectOptions extends ClientOptions {
  readonly protocols?: string | string[];
  readonly token?: string | null;
}
export interface Frame {
  readonly type: string;
  readonly id?: string;
  readonly session_id?: string;
  readonly timestamp?: number;
  readonly payload?: Record<string, unknown>;
}

export async function connectClient(port: number, path: string, options: ConnectOptions = {}) {
  const { protocols = [], token: own = token, ...o } = options;
  const headers = { ...o.headers, ...(own === null ? {} : { authorization: `Bearer ${own}` }) };
  const ws = new WebSocket(`ws://127.0.0.1:${port}${path}`, protocols, { ...o, headers });
  const frames: Frame[] = [];
  let pings = 0;
  ws.on("message", (data) => void frames.push(JSON.parse((data as Buffer).toString()) as Frame));
  ws.on("ping", () => void (pings += 1));
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    ws.on("close", (code, reason) => resolve({ code, reason: reason.toString() }));
  });
  await once(ws, "open");
  ws.on("error", () => undefined);
  let count = 0;
  const peer = {
    ws,
    closed,
    frames,
    pings: () => pings,
    send: (frame: unknown) => ws.send(typeof frame === "string" ? frame : JSON.stringify(frame)),
    /** Frames as they came, one each time. */
    next: () => waitFor(() => frames.shift()),
    /** Comes back when everything sent before has been read. */
    async settled() {
      const id = `settled-${(count += 1)}`;
      peer.send({ type: "ping", id });
      await waitFor(() => frames.some((frame) => frame.id === id));
      frames.splice(
        frames.findIndex((frame) => frame.id === id),
        1,
      );
    },
  };
  return peer;
}
export type Client = Awaited<ReturnType<typeof connectClient>>;

export interface JsonResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
}

export interface FetchOptions {
  readonly method?: string;
  /** Default: the right token in Authorization; `""` leaves it out. */
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

export function fetchJson(port: number, path: string, o: FetchOptions = {}): Promise<JsonResponse> {
  return new Promise((resolve, reject) => {
    const json = o.body === undefined ? {} : { "content-type": "application/json" };
    const headers = { authorization: `Bearer ${token}`, ...json, ...o.headers };
    if (headers.authorization === "") delete (headers as { authorization?: string }).authorization;
    const q = request(
      { port, host: "127.0.0.1", path, method: o.method ?? "GET", headers },
      (r) => {
        let text = "";
        r.setEncoding("utf8").on("data", (chunk: string) => void (text += chunk));
        r.on("end", () => {
          const body = (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
          resolve({ status: r.statusCode!, headers: r.headers, body });
        });
      },
    );
    q.on("error", reject);
    q.end(o.body === undefined || typeof o.body === "string" ? o.body : JSON.stringify(o.body));
  });
}
