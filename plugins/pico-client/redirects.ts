// Decides where a handshake goes on that was answered with a redirect: on the same origin or
// nowhere, since the token goes with it.
import type { IncomingMessage } from "node:http";

/** Addresses after the first one. */
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

type Answer = Pick<IncomingMessage, "statusCode" | "headers">;

/** @returns The next address on the same origin; an address elsewhere, to be named and not used; or
 *  undefined. */
export function followed(
  from: Hop,
  { statusCode = 0, headers }: Answer,
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
  const isHere = protocol === url.protocol && to.host === url.host && to.username === "";
  if (!/^wss?:$/.test(protocol)) return undefined;
  if (!isHere || to.password !== "") return { elsewhere: named(to, protocol) };
  if (count >= maxHops) return undefined;
  const next = new URL(url);
  next.pathname = to.pathname;
  if (to.search !== "") next.search = to.search; // else the conversation would get lost
  return { next: { url: next, count: count + 1, isSlash: to.pathname === `${url.pathname}/` } };
}

/** Without its query and user, which may be secrets. */
function named({ host, pathname }: URL, protocol: string): URL {
  return new URL(`${protocol}//${host}${pathname}`);
}
