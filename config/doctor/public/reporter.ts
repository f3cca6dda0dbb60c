// Recognises the proxy, and finds the line that fixes a fault.
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { describeFailure } from "../../../lib/files/index.ts";
import type { CheckView, ProbeFacts } from "../../../plugins/dashboard/index.ts";
import { createCheck } from "../survey.ts";
import { fixFor, proxyNames, type Fault, type FixValues, type ProxyKind } from "./fixes.ts";
import type { Answer, Way } from "./way.ts";

export interface Reporter {
  /** Undefined if it is not recognised. */
  readonly proxy: ProxyKind | undefined;
  /** @returns The line to change. */
  fix(fault: Fault): string;
}

export function createReporter(
  way: Way,
  proxy: ProxyKind | undefined,
  values: Partial<Pick<FixValues, "upstream">>,
): Reporter {
  const all: FixValues = {
    path: way.path,
    host: way.url.host,
    maxFileMb: way.grant.maxFileMb ?? 2_048,
    upstream: values.upstream ?? "127.0.0.1:18800",
  };
  return { proxy, fix: (fault) => fixFor(fault, proxy, all) };
}

/** The name of the proxy for sentences. */
export const nameOf = (proxy: ProxyKind | undefined): string =>
  proxy === undefined ? "the proxy" : proxyNames[proxy];

type Own = ReturnType<typeof createCheck>;

/** Creates a check that uses the public URL. A connection that fails becomes its finding. */
export const wayCheck =
  <More extends readonly unknown[], Found extends CheckView | undefined>(
    id: string,
    title: string,
    run: (own: Own, way: Way, reporter: Reporter, ...more: More) => Promise<Found>,
  ) =>
  async (way: Way, reporter: Reporter, ...more: More): Promise<Found | CheckView> => {
    const own = createCheck(id, title);
    try {
      return await run(own, way, reporter, ...more);
    } catch (error) {
      if (way.signal?.aborted) throw error;
      return own.failed(
        `The connection to ${way.url.host} failed: ${describeFailure(error as Error)}.`,
        `run the check again; if it fails again, look up the log of ${nameOf(reporter.proxy)}`,
      );
    }
  };

const probeTimeoutMs = 3_000;
const maxPageBytes = 4_096;

/**
 * Recognises the proxy by the header `Server`, by what it adds to requests, and by its page for a
 * malformed request: HAProxy names itself nowhere else.
 */
export async function recogniseProxy(
  way: Way,
  answer: Pick<Answer, "headers"> | undefined,
  facts: Partial<ProbeFacts>,
): Promise<ProxyKind | undefined> {
  const { headers = {} } = answer ?? {};
  const sent = facts.headers ?? {};
  const named = [headers["server"], headers["via"], sent["via"]];
  const text = named.join(" ").toLowerCase();
  if (headers["cf-ray"] !== undefined || sent["cf-ray"] !== undefined) return "cloudflare";
  for (const kind of ["nginx", "caddy", "traefik"] as const) if (text.includes(kind)) return kind;
  if (/openresty|tengine/.test(text)) return "nginx";
  if (sent["x-forwarded-server"] !== undefined) return "traefik";
  const page = await malformedPage(way).catch(() => "");
  if (/<h1>400 Bad request<\/h1>\s*Your browser sent an invalid request/.test(page))
    return "haproxy";
  if (/<center>(nginx|openresty)/.test(page)) return "nginx";
  return undefined;
}

/** @returns The start of the response to a malformed request. */
function malformedPage({ url }: Way): Promise<string> {
  const isSecure = url.protocol === "https:";
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const options = { host, port: Number(url.port || (isSecure ? 443 : 80)) };
  return new Promise((resolve) => {
    const socket = isSecure
      ? connectTls({ ...options, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] })
      : connect(options);
    let page = "";
    const timer = setTimeout(() => socket.destroy(), probeTimeoutMs);
    socket.once(isSecure ? "secureConnect" : "connect", () => socket.write("GET / x\r\n\r\n"));
    socket.on("data", (part: Buffer) => {
      page += part.toString("latin1");
      if (page.length > maxPageBytes) socket.destroy();
    });
    socket.on("error", () => socket.destroy());
    socket.once("close", () => {
      clearTimeout(timer);
      resolve(page);
    });
  });
}
