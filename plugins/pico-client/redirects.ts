// Follows redirects of a handshake, on the same origin only, because the token is sent again.
import type { IncomingMessage } from "node:http";

/** Redirects per handshake. */
const maxHops = 5;
const redirects = new Set([301, 302, 303, 307, 308]);

export interface Hop {
  readonly url: URL;
  /** Redirects that led here. */
  readonly count: number;
  /** The redirect only appended a slash: servers that have the channel at `/pico/ws` send `/pico`
   *  to `/pico/`. */
  readonly isSlash: boolean;
}

type RedirectResponse = Pick<IncomingMessage, "statusCode" | "headers">;

/**
 * @returns The next address if it is on the same origin; an address on another origin, for the
 * log only; or undefined.
 */
export function followRedirect(
  from: Hop,
  { statusCode = 0, headers }: RedirectResponse,
): { readonly next: Hop } | { readonly elsewhere: URL } | undefined {
  const { url, count, isSlash } = from;
  if (statusCode === 404 && isSlash) {
    const next = new URL(url);
    next.pathname += "ws";
    return { next: { url: next, count: count + 1, isSlash: false } };
  }
  const { location } = headers;
  if (!redirects.has(statusCode) || location === undefined) return undefined;
  if (!URL.canParse(location, url.href)) return undefined;
  const to = new URL(location, url.href);
  const protocol = to.protocol.replace(/^http/, "ws");
  const isSameOrigin = protocol === url.protocol && to.host === url.host && to.username === "";
  if (!/^wss?:$/.test(protocol)) return undefined;
  if (!isSameOrigin || to.password !== "") return { elsewhere: withoutSecrets(to, protocol) };
  if (count >= maxHops) return undefined;
  const next = new URL(url);
  next.pathname = to.pathname;
  if (to.search !== "") next.search = to.search; // otherwise keep `session_id` of the query
  return { next: { url: next, count: count + 1, isSlash: to.pathname === `${url.pathname}/` } };
}

/** Removes query and user, which may be secrets. */
function withoutSecrets({ host, pathname }: URL, protocol: string): URL {
  return new URL(`${protocol}//${host}${pathname}`);
}
