// Decides which web origins may use the channel.
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { Http, Peer } from "../../http/index.ts";

const defaultPorts: Readonly<Record<string, string>> = { "http:": ":80", "https:": ":443" };
const originPattern = /^([a-z][a-z0-9+.-]*:)\/\/((?:[a-z0-9_.*-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?)$/;

/**
 * Returns the origin in lower case without the default port. Text that is not an origin stays as it
 * is and matches nothing.
 */
function normaliseOrigin(origin: string): string {
  const lower = origin.toLowerCase();
  const [, scheme = ""] = originPattern.exec(lower) ?? [];
  const port = defaultPorts[scheme];
  return port !== undefined && lower.endsWith(port) ? lower.slice(0, -port.length) : lower;
}

/** Accepts `https://app.example.org`, `https://*.example.org`, `self`, `null` and `*`. */
export function isOriginPattern(text: string): boolean {
  if (text === "*" || text === "null" || text === "self") return true;
  const [, , host = ""] = originPattern.exec(text.toLowerCase()) ?? [];
  return host !== "" && !host.replace(/^\*\.(?=[^.])/, "").includes("*");
}

function matchesPattern(pattern: string, origin: string): boolean {
  const [scheme, suffix] = normaliseOrigin(pattern).split("://*");
  if (suffix === undefined) return scheme === origin;
  const lead = `${scheme}://`;
  if (!origin.startsWith(lead) || !origin.endsWith(suffix)) return false;
  return /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/.test(origin.slice(lead.length, -suffix.length));
}

/** The facts about this server that decide whether an origin is its own. */
type OwnNames = Pick<Http, "addresses" | "isNamedHost" | "publicUrl">;

/**
 * Whether a page is one of this server: of the host that the request names, if foreign DNS cannot
 * point it here; of the public URL; or of a listed host name. A proxy may change the `Host` header.
 */
function isSelf(http: OwnNames, peer: Peer, origin: string): boolean {
  const isTrusted = isOwnHost(peer.host, http.addresses()) || http.isNamedHost(nameOf(peer.host));
  if (isTrusted && origin === ownOrigin({ peer })) return true;
  const publicUrl = http.publicUrl("/");
  if (publicUrl !== undefined && origin === new URL(publicUrl).origin) return true;
  // Another port of the same host may be another program.
  const [, , host = ""] = originPattern.exec(origin) ?? [];
  return /^https?:/.test(origin) && !/:\d+$/.test(host) && http.isNamedHost(host);
}

/** Whether one of the patterns permits pages of this origin. */
export function isOriginAllowed(
  patterns: readonly string[],
  origin: string,
  { http, peer }: { readonly http: OwnNames; readonly peer: Peer },
): boolean {
  if (patterns.length === 0) return true;
  const seen = normaliseOrigin(origin);
  return patterns.some((pattern) => {
    if (pattern === "*") return true;
    if (pattern === "self") return isSelf(http, peer, seen);
    return matchesPattern(pattern, seen);
  });
}

/** A request as far as its origin matters. */
interface PageRequest {
  readonly request: Pick<IncomingMessage, "method" | "headers">;
  readonly peer: Pick<Peer, "secure" | "host">;
  readonly origin: string | undefined;
  readonly isUpgrade: boolean;
}

/** @returns The origin of this server as the request names it, without the default port. */
const ownOrigin = ({ peer }: Pick<PageRequest, "peer">): string =>
  normaliseOrigin(`${peer.secure ? "https" : "http"}://${peer.host}`);

/**
 * Browsers send no `Origin` with a GET request of the same origin. Pages cannot set
 * `Sec-Fetch-Site`.
 */
export function isFromSameOrigin(page: PageRequest): boolean {
  const { origin, isUpgrade, request } = page;
  if (origin !== undefined) return normaliseOrigin(origin) === ownOrigin(page);
  const isRead = !isUpgrade && request.method === "GET";
  return isRead && request.headers["sec-fetch-site"] === "same-origin";
}

const maxShownLength = 300;

/**
 * @returns Why a sign-in of this page does not count. Undefined without `Origin`: then no page sent
 *   the handshake.
 */
export function explainOrigin({ origin, peer }: PageRequest): string | undefined {
  if (origin === undefined) return undefined;
  return (
    `The page is on ${origin.slice(0, maxShownLength)}; only pages of ${ownOrigin({ peer })} may ` +
    "use the sign-in. A proxy in between must forward the host with its port."
  );
}

/** The host without its port. */
const nameOf = (host: string): string => host.replace(/:\d+$/, "");

/**
 * True for hosts that a foreign DNS server cannot point here: an IP address, localhost, or a host
 * that Doorward listens on.
 */
function isOwnHost(host: string, listening: readonly URL[]): boolean {
  const name = nameOf(host);
  if (
    name === "localhost" ||
    name.endsWith(".localhost") ||
    isIP(name.replace(/^\[|\]$/g, "")) !== 0
  )
    return true;
  return listening.some(({ hostname }) => hostname === name);
}

/**
 * Lets a page of an allowed origin read the response. Responses to other origins carry no such
 * headers.
 */
export const corsHeaders = (origin: string): Readonly<Record<string, string>> => ({
  "Access-Control-Allow-Origin": origin,
  Vary: "Origin",
  "Access-Control-Expose-Headers": "Retry-After, WWW-Authenticate",
  "Cross-Origin-Resource-Policy": "cross-origin",
});
