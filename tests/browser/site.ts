import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { loadAssets } from "../../plugins/dashboard/assets.ts";
import {
  messagePage,
  overviewPage,
  setupPage,
  signInPage,
  type Site,
  type TokenWay,
} from "../../plugins/dashboard/pages/index.ts";
import type { StatusView } from "../../plugins/dashboard/status.ts";
import { fresh, running } from "./sample.ts";

const policy = [
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'",
  "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
].join("; ");

const limited = (seconds: number) => ({ error: { code: "rate_limited", retryAfterSeconds: seconds } }) as const;

/** Not among the pages that are looked at: it differs by its time only. */
const soon = (site: Site): string => signInPage({ ...site, ways: [], ...limited(1) });

const ways: readonly TokenWay[] = ["file", "console", "log", "command"];
const csrf = "c5rf";

/** Every page in each of its faces, by the path under which the test site shows it. */
export const pages: Readonly<Record<string, (site: Site) => string>> = {
  "/sign-in": (site) => signInPage({ ...site, ways, next: "/?a=1&b=2" }),
  "/sign-in-wrong": (site) => signInPage({ ...site, ways, error: { code: "invalid_token" } }),
  "/sign-in-limited": (site) => signInPage({ ...site, ways: ["env"], ...limited(42) }),
  "/sign-in-link": (site) => signInPage({ ...site, ways, link: "ott_abc" }),
  "/setup-page": (site) => setupPage({ ...site, ways, hasCookie: false }),
  "/setup-cookie": (site) => setupPage({ ...site, ways, hasCookie: true }),
  "/setup-weak": (site) => setupPage({ ...site, ways, hasCookie: false, error: { code: "weak_token" } }),
  "/overview-on": (site) => overviewPage({ ...site, status: running, csrf }),
  "/overview-off": (site) => overviewPage({ ...site, status: fresh, csrf }),
  "/overview-without-channel": (site) => {
    const { channel: _, ...status } = running;
    return overviewPage({ ...site, status, csrf });
  },
  "/message": (site) =>
    messagePage({
      ...site,
      title: "Unknown host name",
      text: "This dashboard is not served as doors.example.",
      hint: 'Add "doors.example" to "allowed_hosts" in launcher-config.json.',
    }),
};

export interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export interface TestSite extends AsyncDisposable {
  /** Without a slash at its end; ends with the base path. */
  readonly origin: string;
  readonly base: string;
  /** What the pages sent, except for pages and assets. */
  readonly sent: SentRequest[];
  /** What `GET /api/status` answers; undefined answers 503. */
  status: StatusView | undefined;
  /** Answers other requests: status and JSON body. */
  answer: (request: SentRequest) => [status: number, body: object];
}

/** The pages on a real server under a base path, with the real policy, and a record of what they send. */
export async function startSite(base = "/door"): Promise<TestSite> {
  const assets = loadAssets();
  const sent: SentRequest[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { pathname } = new URL(request.url ?? "/", "http://site");
    const path = pathname.startsWith(base) ? pathname.slice(base.length) : "(outside the base path)";
    response.setHeader("content-security-policy", policy);
    response.setHeader("referrer-policy", "no-referrer");
    const page = request.method === "GET" && (path === "/sign-in-soon" ? soon : pages[path]);
    const asset = path.startsWith(`${assets.prefix}/`) ? assets.get(path.slice(assets.prefix.length + 1)) : undefined;
    if (asset) return void response.setHeader("content-type", asset.type).end(asset.body);
    if (page) {
      const text = page({ url: (p) => base + p, assets: assets.prefix });
      return void response.setHeader("content-type", "text/html").end(text);
    }
    const { method = "", headers } = request;
    const record = { method, path, headers, body: Buffer.concat(chunks).toString() };
    const isStatus = path === "/api/status";
    if (!isStatus) sent.push(record);
    const [code, body] = isStatus ? (site.status ? [200, site.status] : [503, {}]) : site.answer(record);
    response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const site: TestSite = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}${base}`,
    base,
    sent,
    status: running,
    answer: () => [200, {}],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  return site;
}
