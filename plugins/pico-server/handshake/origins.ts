import { isIP } from "node:net";

const defaultPorts: Readonly<Record<string, string>> = { "http:": ":80", "https:": ":443" };
const originPattern = /^([a-z][a-z0-9+.-]*:)\/\/((?:[a-z0-9_.*-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?)$/;

/** Lower case, without the default port; other text stays as it is and equals nothing. */
function normaliseOrigin(origin: string): string {
  const lower = origin.toLowerCase();
  const [, scheme = ""] = originPattern.exec(lower) ?? [];
  const port = defaultPorts[scheme];
  return port !== undefined && lower.endsWith(port) ? lower.slice(0, -port.length) : lower;
}

/** `https://app.example.org`, `https://*.example.org`, `self`, `null`, `*`. */
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

/** `self` is this page's own origin; undefined when the request's Host cannot be trusted to name it. */
export function isOriginAllowed(
  patterns: readonly string[],
  origin: string,
  self: string | undefined,
): boolean {
  if (patterns.length === 0) return true;
  const seen = normaliseOrigin(origin);
  return patterns.some((pattern) => {
    if (pattern === "*") return true;
    if (pattern === "self") return self !== undefined && seen === normaliseOrigin(self);
    return matchesPattern(pattern, seen);
  });
}

/** A name that no stranger's DNS can point here: an address, this machine, or a host that is listened on. */
export function isOwnHost(host: string, listening: readonly URL[]): boolean {
  const name = host.replace(/:\d+$/, "");
  if (
    name === "localhost" ||
    name.endsWith(".localhost") ||
    isIP(name.replace(/^\[|\]$/g, "")) !== 0
  )
    return true;
  return listening.some(({ hostname }) => hostname === name);
}

/** Another site's page may read what is answered here; nothing is said to sites that may not use the channel. */
export const corsHeaders = (origin: string): Readonly<Record<string, string>> => ({
  "Access-Control-Allow-Origin": origin,
  Vary: "Origin",
  "Access-Control-Expose-Headers": "Retry-After, WWW-Authenticate",
  "Cross-Origin-Resource-Policy": "cross-origin",
});
