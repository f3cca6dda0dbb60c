// Serves every page of the dashboard with sample data.
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { distFolder, loadAssets } from "../../plugins/dashboard/server/assets.ts";
import type { TokenWay } from "../../plugins/dashboard/index.ts";
import {
  renderDoorway,
  renderPage,
  type DoorwayData,
  type PageData,
} from "../../plugins/dashboard/pages/render.tsx";
import type { ConnectionsView, StatusView } from "../../plugins/dashboard/shared/views.ts";
import { figures, firstVisit, fresh, program, running } from "./sample.ts";
import { channelProblemOf } from "../../plugins/dashboard/shared/channel-problem.ts";
import { sampleChannel, type SampleChannel } from "./sample-channel.ts";
import { idOf } from "../../plugins/dashboard/pages/activity/lines.ts";
import {
  connection,
  conversationList,
  lines,
  sampleAnswers,
  sections,
  sessions,
  tokens,
} from "./sample-api.ts";

const policy = [
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:",
  "media-src 'self'; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'",
  "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
].join("; ");

const limited = (seconds: number) =>
  ({ error: { code: "rate_limited", retryAfterSeconds: seconds } }) as const;

export interface Site {
  /** Adds the base path. */
  readonly url: (path: string) => string;
  /** Path of the assets, for example `/assets/1f2e3d4c5b6a`. */
  readonly assets: string;
  /** Scripts of each page, as `loadAssets` names them. */
  readonly preloads?: Readonly<Record<string, readonly string[]>>;
}

const titles = {
  "sign-in": "Sign in",
  setup: "Choose the token for this dashboard",
  message: "Unknown host name",
} as const;

/** Renders a page that needs no sign-in. */
export const doorway =
  <K extends keyof DoorwayData>(page: K, data: DoorwayData[K]) =>
  ({ url, assets }: Site): string => {
    const addresses = { base: url("/").slice(0, -1), assets: url(`${assets}/console`) };
    const facts = { theme: "system", host: "door.local", title: titles[page] } as const;
    return renderDoorway(page, { ...addresses, ...facts }, data);
  };

/** Kept out of `pages`, since it differs from another page only by its time. */
const soon = doorway("sign-in", { ways: [], ...limited(1) });

const ways: readonly TokenWay[] = ["file", "console", "log", "command"];
const csrf = "c5rf";
const version = "0.1.0";

/** Renders a page of the console with sample data. `route`: its entry in the navigation. */
function consolePage<K extends keyof PageData>(
  page: K,
  { title, route, data }: { title: string; route: string; data: PageData[K] },
): (site: Site) => string {
  return ({ url, assets, preloads }) => {
    const addresses = { base: url("/").slice(0, -1), assets: url(`${assets}/console`) };
    const facts = { version, host: "door.local", theme: "system", csrf, title, route } as const;
    const site = { ...addresses, ...facts };
    return renderPage({ page, site, now: running.now, data, preloads: preloads?.[page] });
  };
}

const { channel: _, ...withoutChannel } = running;
const newest = { total: 3, connections: [3, 2, 1].map(connection) };

/** Renders the overview with a status. */
export const overview = (
  status: StatusView,
  connections: ConnectionsView = newest,
  questions?: PageData["overview"]["questions"],
): ((site: Site) => string) =>
  consolePage("overview", {
    title: "Overview",
    route: "/overview",
    data: {
      status,
      figures,
      connections: status.channel && connections,
      ...(questions && { questions }),
    },
  });

const readDocs = <T>(name: string): T =>
  JSON.parse(readFileSync(new URL(`${name}.json`, distFolder("docs")), "utf8")) as T;

/** Renders a page of the documentation from the build. */
const docsPage = (id: string): ((site: Site) => string) => {
  const contents = readDocs<PageData["docs"]["contents"]>("contents");
  const page = readDocs<Omit<PageData["docs"], "id" | "contents">>(id);
  const data = { ...page, id, contents };
  return consolePage("docs", { title: page.title, route: "/docs", data });
};

/** Names of the documentation pages. */
export const docsNames: readonly string[] = [
  "index",
  ...readDocs<PageData["docs"]["contents"]>("contents").flatMap(({ pages }) =>
    pages.map(({ id }) => id),
  ),
];

const chat = ({ channel }: StatusView): ((site: Site) => string) => {
  const channelProblem = channelProblemOf(channel);
  const data = { name: "home-agent", list: conversationList() };
  return consolePage("chat", {
    title: "Chat",
    route: "/chat",
    data: { ...data, ...(channelProblem && { channelProblem }) },
  });
};
const protocols = [
  {
    name: "openai",
    title: "OpenAI API",
    clients: "OpenAI clients",
    purpose: "OpenAI libraries can use the application as a language model.",
    enabled: true,
    url: "http://127.0.0.1:18800/v1",
    model: "doorward",
    etag: '"o1"',
  },
] as const;
const clientsPage = (data: PageData["clients"]): ((site: Site) => string) =>
  consolePage("clients", { title: "Clients", route: "/clients", data });

/** Every page in each of its states, by its path on the test site. */
export const pages: Readonly<Record<string, (site: Site) => string>> = {
  "/sign-in": doorway("sign-in", { ways, next: "/?a=1&b=2" }),
  "/sign-in-wrong": doorway("sign-in", { ways, error: { code: "invalid_token" } }),
  "/sign-in-limited": doorway("sign-in", { ways: ["env"], ...limited(42) }),
  "/sign-in-link": doorway("sign-in", { ways, link: "ott_abc" }),
  "/setup-page": doorway("setup", { ways, hasCookie: false }),
  "/setup-cookie": doorway("setup", { ways, hasCookie: true }),
  "/setup-weak": doorway("setup", { ways, hasCookie: false, error: { code: "weak_token" } }),
  "/overview-on": overview(running),
  "/overview-off": overview(fresh, { total: 0, connections: [] }),
  "/overview-program": overview({ ...fresh, program }),
  "/overview-guide": overview(firstVisit, { total: 0, connections: [] }),
  "/overview-without-channel": overview(withoutChannel),
  "/chat": chat(running),
  "/chat-memory": consolePage("chat", {
    title: "Chat",
    route: "/chat",
    data: { name: "home-agent", suggestions: ["What is <b>on</b> today?", "Is it warm?"] },
  }),
  "/clients": clientsPage({ channel: running.channel!, protocols }),
  "/clients-off": clientsPage({ channel: fresh.channel!, protocols: [] }),
  "/clients/connections": consolePage("connections", {
    title: "Clients",
    route: "/clients",
    data: { count: 3, max: 10_000 },
  }),
  "/security": consolePage("security", {
    title: "Security",
    route: "/security",
    data: { tokens: { tokens }, sessions: { sessions }, status: running },
  }),
  "/settings": consolePage("settings", {
    title: "Settings",
    route: "/settings",
    data: { settings: { sections } },
  }),
  "/activity": consolePage("activity", { title: "Activity", route: "/activity", data: {} }),
  "/activity-line": consolePage("activity", {
    title: "Activity",
    route: "/activity",
    data: { line: idOf(lines.at(-3)!), q: "connection" },
  }),
  "/doctor": consolePage("doctor", { title: "Doctor", route: "/doctor", data: {} }),
  "/docs": docsPage("index"),
  "/docs/client": docsPage("client"),
  "/message": doorway("message", {
    text: "This dashboard is not served as doors.example.",
    hint: 'Add "doors.example" to "allowed_hosts" in launcher-config.json.',
  }),
};

/** Pages with many addresses, and those of the present status. */
function pageAt(path: string, status?: StatusView): ((site: Site) => string) | undefined {
  if (path === "/overview") return overview(status ?? running);
  if (path === "/overview-asked") return overview(status ?? running, newest, { questions: [] });
  if (path.startsWith("/chat/")) return chat(status ?? running);
  if (path.startsWith("/settings/")) return pages["/settings"];
  const name = path.slice("/docs/".length);
  return path.startsWith("/docs/") && docsNames.includes(name) ? docsPage(name) : undefined;
}

export interface SentRequest {
  readonly method: string;
  readonly path: string;
  /** The query with its question mark; empty without one. */
  readonly search: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export interface TestSite extends AsyncDisposable {
  /** Ends with the base path, without a trailing slash. */
  readonly origin: string;
  readonly base: string;
  /** Requests from the pages, except for pages and assets. */
  readonly sent: SentRequest[];
  /** Response of `GET /api/status`. Undefined returns 503. */
  status: StatusView | undefined;
  /** Returns status and JSON body for other requests. */
  answer: (request: SentRequest) => [status: number, body: object];
  /** Responses that override `answer`, for example for `GET /api/tokens`. */
  readonly views: Map<string, object>;
  /** Scripts that replace assets of the build, for example `console/overview.js`. */
  readonly scripts: Map<string, string>;
  /** Sends an event to every open stream. */
  emit(event: string, data: object): void;
  /** True if the site offers event streams. Otherwise pages poll every 2 s. */
  streams: boolean;
  /** Returns the number of open streams. */
  readonly listening: number;
  /** Queries of all streams opened so far. */
  readonly opened: string[];
  /** Delay between two halves of a page in milliseconds. 0 sends the page in one piece. */
  pauseMs: number;
  /** Channel of the chat page. */
  readonly channel: SampleChannel;
}

/** Serves the pages under a base path with the real content policy, and records their requests. */
export async function startSite(base = "/door"): Promise<TestSite> {
  const assets = loadAssets();
  const sent: SentRequest[] = [];
  const listeners = new Set<ServerResponse>();
  const listen = (response: ServerResponse, search: string): void => {
    site.opened.push(search);
    listeners.add(response);
    response.on("close", () => listeners.delete(response));
    response.writeHead(200, { "content-type": "text/event-stream" });
    write(response, "hello", { resumed: false, state: "running", now: running.now });
  };
  let id = 0;
  const write = (response: ServerResponse, event: string, data: object): void =>
    void response.write(`id: ${++id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { pathname, search } = new URL(request.url ?? "/", "http://site");
    const path = pathname.startsWith(base)
      ? pathname.slice(base.length)
      : "(outside the base path)";
    response.setHeader("content-security-policy", policy);
    response.setHeader("referrer-policy", "no-referrer");
    const isGet = request.method === "GET";
    const page =
      isGet && (path === "/sign-in-soon" ? soon : (pages[path] ?? pageAt(path, site.status)));
    const asset = path.startsWith(`${assets.prefix}/`)
      ? assets.get(path.slice(assets.prefix.length + 1))
      : undefined;
    if (asset) {
      response.setHeader("cache-control", "public, max-age=31536000, immutable");
      const body = site.scripts.get(path.slice(assets.prefix.length + 1)) ?? asset.body;
      return void response.setHeader("content-type", asset.type).end(body);
    }
    if (page) {
      const text = page({
        url: (p) => base + p,
        assets: assets.prefix,
        preloads: assets.preloads,
      });
      response.setHeader("content-type", "text/html");
      if (site.pauseMs === 0) return void response.end(text);
      response.write(text.slice(0, text.length / 2));
      return void setTimeout(() => response.end(text.slice(text.length / 2)), site.pauseMs);
    }
    const { method = "", headers } = request;
    const record = { method, path, search, headers, body: Buffer.concat(chunks).toString() };
    if (path === "/api/events" && site.streams) return listen(response, search);
    const isStatus = path === "/api/status";
    const view = site.views.get(`${method} ${path}`);
    if (!isStatus && !view && path !== "/api/events") sent.push(record);
    const [code, body] = isStatus
      ? site.status
        ? [200, site.status]
        : [503, {}]
      : view
        ? [200, view]
        : site.answer(record);
    response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const site: TestSite = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}${base}`,
    base,
    sent,
    status: running,
    answer: () => [200, {}],
    views: new Map(Object.entries(sampleAnswers)),
    scripts: new Map(),
    streams: true,
    get listening() {
      return listeners.size;
    },
    opened: [],
    pauseMs: 0,
    channel: sampleChannel(server, `${base}/pico`),
    emit: (event, data) => listeners.forEach((response) => write(response, event, data)),
    async [Symbol.asyncDispose]() {
      site.channel.close();
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  return site;
}
