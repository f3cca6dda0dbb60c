/**
 * Decides whether the session cookie of a handshake counts, by the rules of the sign-in: browsers
 * send the cookie also for pages of other ports of this host, so the page must prove its origin.
 *
 * @module
 */
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Identity, Peer } from "../../../http/index.ts";
import type { DashboardContext } from "../context.ts";
import { hostName } from "../request.ts";
import { hasSessionCookie, maxOriginLength, sessionOf } from "./cookies.ts";
import { hostIsAllowed, ownOrigin } from "./guard.ts";
import type { SignInSession } from "./contract.ts";
import { toIdentity } from "./sessions.ts";

/** Chromium sends no `Sec-Fetch-Site` with handshakes, so its pages must be known before. */
function isOwnPage(
  { auth }: DashboardContext,
  { "sec-fetch-site": site, origin }: IncomingHttpHeaders,
  peer: Peer,
  session: SignInSession,
): boolean {
  if (origin === undefined) return false;
  if (site !== undefined) return site === "same-origin";
  const from = origin.toLowerCase();
  if (from === ownOrigin(peer) || session.pageOrigins.has(from)) return true;
  return auth.config().allowed_origins.includes(from);
}

/** @returns The sign-in of the page that opens a WebSocket, or undefined. */
export function pageIdentity(
  context: DashboardContext,
  request: IncomingMessage,
  peer: Peer,
): Identity | undefined {
  const { headers } = request;
  if (context.proxySignIn.find(request).kind !== "direct") return undefined;
  if (headers.origin === undefined || !hostIsAllowed(context, peer)) return undefined;
  const session = sessionOf(context, headers, peer);
  if (!session || !isOwnPage(context, headers, peer, session)) return undefined;
  return { ...toIdentity(session), origin: headers.origin };
}

/** @returns Why the session cookie of a request does not count; undefined without one. */
export function explainPage(
  context: DashboardContext,
  { headers }: IncomingMessage,
  peer: Peer,
): string | undefined {
  const otherScheme = { ...peer, secure: !peer.secure };
  const hasCookie = hasSessionCookie(context, headers, peer);
  const isOtherScheme = !hasCookie && sessionOf(context, headers, otherScheme) !== undefined;
  if (!hasCookie && !isOtherScheme) return undefined;
  if (!hostIsAllowed(context, peer))
    return (
      `The host name "${peer.host.slice(0, 100)}" is not allowed. ` +
      'Add it to "allowed_hosts" in launcher-config.json.'
    );
  if (isOtherScheme) {
    const [signedIn, arrived] = peer.secure ? ["http", "https"] : ["https", "http"];
    return (
      `The browser signed in over ${signedIn}, but this request arrived as ${arrived}. Let the ` +
      'proxy set X-Forwarded-Proto, and list its address in "trusted_proxies" of ' +
      "launcher-config.json."
    );
  }
  const session = sessionOf(context, headers, peer);
  if (!session) return "The sign-in of this browser has ended. Sign in again.";
  if (headers.origin === undefined)
    return "The request has no Origin header, which must prove that it is from the dashboard.";
  return isOwnPage(context, headers, peer, session)
    ? undefined
    : explainOrigin(headers.origin, peer);
}

/** A page of the same host is probably the dashboard, behind a proxy that changes the rest. */
export function explainOrigin(header: string, peer: Peer): string {
  const origin = header.slice(0, maxOriginLength);
  const own = ownOrigin(peer);
  const isSameHost = URL.canParse(origin) && hostName(new URL(origin).host) === hostName(peer.host);
  if (!isSameHost) return `The page is on ${origin}; only pages of ${own} may use the sign-in.`;
  return (
    `The page is on ${origin}, but the request names ${own}. Let the proxy forward the host with ` +
    "its port (nginx: proxy_set_header Host $http_host) and set X-Forwarded-Proto, or add " +
    `"${origin}" to "allowed_origins" in launcher-config.json.`
  );
}
