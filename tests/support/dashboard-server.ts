import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request as ask, type IncomingMessage, type RequestOptions } from "node:http";
import { Agent as TlsAgent, request as askByTls } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { SimulatedClock } from "xstate";
import { createKernel, type AnyPlugin, type Clock } from "../../kernel/index.ts";
import { createCapturedLog, type LogEntry } from "../../kernel/testing.ts";
import { load } from "../../config/load/index.ts";
import { dashboard, type DashboardOptions } from "../../plugins/dashboard/index.ts";
import { http } from "../../plugins/http/index.ts";
import { settings } from "../../plugins/settings/index.ts";
import { files, memory, tokenStore, type TokenBackend } from "../../plugins/token-store/index.ts";

/** Token of 43 characters, the length of generated tokens. */
export const TOKEN = "correct-horse-battery-staple-0123456789-abc";
export const START_TIME = 1_700_000_000_000;
export const DAY = 86_400_000;

export interface DashboardServerOptions {
  /** Time of day at the start. @defaultValue `START_TIME` */
  readonly now?: number;
  /** Default: a memory store that holds `TOKEN`. */
  readonly form?: TokenBackend;
  readonly launcher?: Record<string, unknown>;
  readonly dashboard?: DashboardOptions;
  readonly host?: string;
  readonly basePath?: string;
  /** Tokens and settings in real files of this folder. */
  readonly home?: string;
  readonly env?: Record<string, string>;
  /** Started before the dashboard, their sections read from the home as well. */
  readonly before?: readonly AnyPlugin[];
  /** Started after it. */
  readonly plugins?: readonly AnyPlugin[];
}

/** Headers to send. A list sends several lines; `null` omits a default header. */
export type HeaderLines = Readonly<Record<string, string | readonly string[] | null>>;
export interface Sent {
  readonly method?: string;
  readonly headers?: HeaderLines;
  readonly body?: string;
  /** The client's own address, one of 127.0.0.0/8. */
  readonly from?: string;
}

/** Headers of a browser that opens a URL. */
export const opened: HeaderLines = {
  accept: "text/html,application/xhtml+xml,*/*;q=0.8",
  "sec-fetch-mode": "navigate",
  "sec-fetch-dest": "document",
  "sec-fetch-site": "none",
};

/** A clock whose timers follow elapsed time, as in Node. Tests can set the time of day. */
function createClock(now = START_TIME) {
  const elapsed = new SimulatedClock();
  elapsed.set(START_TIME);
  let shift = now - START_TIME;
  const clock: Clock = {
    now: () => elapsed.now() + shift,
    monotonic: () => elapsed.now(),
    setTimeout: (run, ms) => elapsed.setTimeout(run, ms),
    clearTimeout: (id) => elapsed.clearTimeout(id as number),
  };
  return {
    ...clock,
    increment: (ms: number) => elapsed.increment(ms),
    /** Sets the time of day, also back, without any time passing. */
    setTimeOfDay: (now: number) => {
      shift = now - elapsed.now();
    },
  };
}

/** Plugins that every dashboard needs. */
type Board = readonly [
  ReturnType<typeof tokenStore>,
  ReturnType<typeof http>,
  ReturnType<typeof dashboard>,
];

/** Starts a dashboard on a free port with a stopped clock. */
export async function startDashboard(options: DashboardServerOptions = {}) {
  const clock = createClock(options.now);
  const { log, lines } = createCapturedLog();
  const { home, env = {}, host, basePath, before = [], plugins = [] } = options;
  const listener = http({ port: 0, ...(host ? { host } : {}), ...(basePath ? { basePath } : {}) });
  const board = dashboard(options.dashboard);
  const loaded = home
    ? await load([listener, ...before, board, ...plugins], { home, env })
    : undefined;
  const form = options.form ?? (home ? files({ home, env }) : memory({ launcher: TOKEN }));
  const config = {
    ...loaded?.config,
    launcher: { ...loaded?.config["launcher"], ...options.launcher },
  };
  const list = [
    tokenStore(form),
    ...(loaded ? [settings(loaded.sources)] : []),
    listener,
    ...before,
    board,
  ];
  const kernel = createKernel<Board>(list as unknown as Board, { clock, log, config, plugins });
  const facts: { type: string; fact: Record<string, unknown> }[] = [];
  for (const type of [
    "dashboard:signed-in",
    "dashboard:signed-out",
    "dashboard:sign-in-refused",
  ] as const) {
    kernel.on(type, (fact) => void facts.push({ type, fact }));
  }
  await kernel.start();
  const base = kernel.services.http.addresses()[0]!;
  const pool = { keepAlive: true, maxSockets: 60, rejectUnauthorized: false };
  const agent = base.protocol === "https:" ? new TlsAgent(pool) : new Agent(pool);
  const request = (path: string, sent: Sent = {}): Promise<Response> =>
    send(agent, base, path, sent);
  const typed = (type: string, body: string, headers: HeaderLines, from?: string): Sent => ({
    method: "POST",
    headers: { "content-type": type, ...headers },
    body,
    ...(from ? { from } : {}),
  });
  return {
    kernel,
    clock,
    facts,
    base,
    request,
    port: Number(base.port),
    origin: base.origin,
    lines: lines as readonly LogEntry[],
    /** Everything that was logged, errors and their causes included. */
    logged: () => inspect(lines, { depth: 12, maxStringLength: null, maxArrayLength: null }),
    /** Sends a request like a browser that opens a URL. */
    open: (path: string, headers: HeaderLines = {}) =>
      request(path, { headers: { ...opened, ...headers } }),
    /** Sends a request like a program. */
    get: (path: string, headers: HeaderLines = {}, from?: string) =>
      request(path, { headers, ...(from ? { from } : {}) }),
    /** JSON; `undefined` sends no body. */
    post: (path: string, body: unknown, headers: HeaderLines = {}, from?: string) =>
      body === undefined
        ? request(path, { method: "POST", headers, ...(from ? { from } : {}) })
        : request(path, typed("application/json", JSON.stringify(body), headers, from)),
    form: (
      path: string,
      fields: Record<string, string> | string,
      headers: HeaderLines = {},
      from?: string,
    ) =>
      request(
        path,
        typed(
          "application/x-www-form-urlencoded",
          new URLSearchParams(fields).toString(),
          headers,
          from,
        ),
      ),
    [Symbol.asyncDispose]: async () => {
      agent.destroy();
      await kernel.stop();
    },
  };
}
export type DashboardServer = Awaited<ReturnType<typeof startDashboard>>;

/** Sends one request with exactly these header lines, which `fetch` cannot do. */
async function send(
  agent: Agent,
  base: URL,
  path: string,
  { method = "GET", headers = {}, body, from }: Sent,
): Promise<Response> {
  const hasBody = body !== undefined || method === "POST" || method === "PUT";
  const length = hasBody ? { "content-length": String(Buffer.byteLength(body ?? "")) } : {};
  const all: HeaderLines = { host: base.host, ...length, ...headers };
  const lines = Object.entries(all).flatMap(([name, value]) =>
    (value === null ? [] : typeof value === "string" ? [value] : value).flatMap((each) => [
      name,
      each,
    ]),
  );
  const host = base.hostname === "localhost" ? "localhost" : "127.0.0.1";
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const q = (base.protocol === "https:" ? askByTls : ask)(
      {
        agent,
        method,
        path,
        host,
        port: base.port,
        headers: lines,
        setHost: false,
        ...(from ? { localAddress: from } : {}),
      } as unknown as RequestOptions,
      resolve,
    );
    q.on("error", reject);
    q.end(body);
  });
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  const got = new Headers();
  const { rawHeaders } = answer;
  for (let at = 0; at < rawHeaders.length; at += 2)
    got.append(rawHeaders[at]!, rawHeaders[at + 1]!);
  return new Response(chunks.length > 0 ? Buffer.concat(chunks) : null, {
    status: answer.statusCode!,
    headers: got,
  });
}

/** The `Set-Cookie` line of a kind. */
export function setCookieOf(response: Response, kind = "session"): string | undefined {
  return response.headers.getSetCookie().find((line) => line.includes(`_${kind}_`));
}
/** `name=value` of the first cookie whose name contains `kind`, as a browser would send it back. */
export function cookieFrom(response: Response, kind = "session"): string {
  const set = setCookieOf(response, kind);
  if (!set) throw new Error(`no ${kind} cookie was set`);
  return set.split(";", 1)[0]!;
}

export async function signIn(server: DashboardServer, token = TOKEN): Promise<{ cookie: string }> {
  return { cookie: cookieFrom(await server.post("/login", { token })) };
}
/** Whether these headers open what needs a sign-in. */
export async function isSignedIn(server: DashboardServer, headers: HeaderLines): Promise<boolean> {
  const { status } = await server.get("/api/status", headers);
  return status === 200;
}

/** Creates a sign-in link and returns its secret part. */
export function createLoginLink(server: DashboardServer): string {
  return new URL(server.kernel.services.signInLinks.mint().path, server.base).searchParams.get(
    "token",
  )!;
}

/** Returns different short, wrong tokens. */
export const wrongToken = (n: number): string => `wrong-token-number-${n}`;
/** Uses up the ten attempts of an address. */
export async function block(server: DashboardServer, from?: string): Promise<void> {
  for (let n = 0; n < 10; n += 1)
    await server.post("/login", { token: wrongToken(1_000 + n) }, {}, from);
}

/** Checks the error code of a response and returns its JSON body. */
export async function rejection(
  response: Response,
  status: number,
  error: string,
): Promise<Record<string, unknown>> {
  const text = await response.text();
  const body = (text.startsWith("{") ? JSON.parse(text) : { text }) as Record<string, unknown>;
  if (response.status !== status || body["error"] !== error) {
    throw new Error(`expected ${status} ${error}, got ${response.status} ${text.slice(0, 300)}`);
  }
  return body;
}

/** Creates a temporary directory and removes it at the end of the scope. */
export async function tempHome(): Promise<{ home: string } & AsyncDisposable> {
  const home = await mkdtemp(join(tmpdir(), "doorward-"));
  return { home, [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true }) };
}

/** Tokens in memory with a generated launcher token before setup. */
export function setupBackend(code = TOKEN): TokenBackend {
  const store = memory();
  void store.write("launcher", code, { setupPending: true });
  return store;
}
