import type { IncomingMessage } from "node:http";
import { hostname } from "node:os";
import { isIP } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { clearStaleSession, verifyToken, sessionOf } from "./access.ts";
import {
  isForm,
  sendRedirect,
  setRequestState,
  requestState,
  type DashboardContext,
} from "./door.ts";
import { HttpError } from "./errors.ts";
import { matchesHostPolicy, hostName, checkRequestOrigin, ownOrigin } from "./origins.ts";
import { wantsPage } from "./replies.ts";
import type { Peer } from "../http/index.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Served without a session. `health`: in every state, under any host name. */
    readonly access?: "open" | "health";
    /** Tokens that open it as a Bearer; default the launcher's alone. */
    readonly tokens?: readonly string[];
  }
}

const unsafeMethods = new Set(["POST", "PUT", "PATCH", "DELETE"]);
/** Where a form may come with `Origin: null`, as native forms do under `no-referrer`. */
const formsWithProof = new Set(["/login", "/setup", "/logout"]);

function ownHostNames({ http }: DashboardContext): ReadonlySet<string> {
  const bound = http.addresses().map((url) => hostName(url.host));
  const own = new Set(bound.filter((name) => isIP(name) === 0));
  if (http.isPublic())
    for (const name of [hostname(), `${hostname()}.local`]) own.add(name.toLowerCase());
  return own;
}

export const hostIsAllowed = (door: DashboardContext, peer: Peer): boolean =>
  matchesHostPolicy(peer.host, {
    own: () => ownHostNames(door),
    allowed: door.config().allowed_hosts,
  });

/** Whether a page of this very origin sent it: what a WebSocket handshake with our cookie must prove. */
export const isSameOrigin = ({ headers }: IncomingMessage, peer: Peer): boolean =>
  headers.origin?.toLowerCase() === ownOrigin(peer);

/** The checks of every request, in their order; the first that fails answers. */
export async function guard(
  door: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const peer = door.http.peer(request.raw);
  setRequestState(request, { peer, session: undefined, bearer: undefined, nullForm: false });
  void reply.header("vary", "Accept, Sec-Fetch-Mode");
  const access = request.is404 ? undefined : request.routeOptions.config.access;
  if (access === "health") return;

  if (!hostIsAllowed(door, peer)) {
    const text = "refused: the Host header names a host that is not allowed";
    const fields = { host: peer.host.slice(0, 100) };
    door.http.noteFault(door.log, {
      reason: "host_not_allowed",
      address: peer.address,
      text,
      fields,
    });
    throw new HttpError("host_not_allowed", {
      message: `The host name "${peer.host.slice(0, 100)}" is not allowed here.`,
      hint: 'add it to "allowed_hosts" in launcher-config.json',
    });
  }
  const authorized =
    request.headers.authorization !== undefined && /^bearer /i.test(request.headers.authorization);
  if (unsafeMethods.has(request.method) && !authorized) checkOrigin(door, request);
  if (door.state() === "unconfigured") throw new HttpError("unavailable", { retryAfterSeconds: 1 });

  if (!authorized || !isApi(request)) {
    requestState(request).session =
      sessionOf(door, request.headers, peer) ?? door.hostSessions.sessionOf(door, request);
  }
  const { session } = requestState(request);
  if (session) {
    door.sessions.touch(session);
    door.http.markAuthenticated(request.raw);
  }
  if (access !== "open") await requireOwner(door, request, reply);
}

const pathOf = (request: FastifyRequest): string => request.url.split("?", 1)[0]!;
const isApi = (request: FastifyRequest): boolean => /^\/(api|metrics)(\/|$)/.test(pathOf(request));

function checkOrigin(door: DashboardContext, request: FastifyRequest): void {
  const { peer } = requestState(request);
  const verdict = checkRequestOrigin(request.headers, peer, door.config().allowed_origins);
  if (verdict === "accepted") return;
  if (verdict === "null-form" && formsWithProof.has(pathOf(request)) && isForm(request)) {
    requestState(request).nullForm = true;
    return;
  }
  rejectOrigin(door, request);
}
export function rejectOrigin(door: DashboardContext, request: FastifyRequest): never {
  const { peer } = requestState(request);
  const own = ownOrigin(peer);
  const from = (request.headers.origin ?? "another site").slice(0, 100);
  const text = "refused: the request comes from a page of another origin";
  const { address } = peer;
  const fields = { origin: from };
  door.http.noteFault(door.log, { reason: "origin_not_allowed", address, text, fields });
  throw new HttpError("origin_not_allowed", {
    message: `This request comes from a page of ${from}; only pages of ${own} may send it.`,
    hint: 'other origins are listed in "allowed_origins" in launcher-config.json',
  });
}

/** Passes a signed-in browser or a right Bearer; else refuses, or sends a browser to where it can sign in. */
export async function requireOwner(
  door: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { session, peer } = requestState(request);
  if (session && door.state() !== "setup") return;
  clearStaleSession(door, request, reply);
  if (door.state() === "setup") {
    if (!wantsPage(request))
      throw new HttpError("setup_required", { hint: door.http.url("/setup") });
    return void sendRedirect(door, reply, 302, "/setup");
  }
  const bearer = isApi(request)
    ? /^bearer +(.+)$/i.exec(request.headers.authorization ?? "")?.[1]
    : undefined;
  if (bearer !== undefined) {
    const { tokens: names } = request.is404 ? {} : request.routeOptions.config;
    const version = await verifyToken(door, peer, headerText(bearer), {
      via: "bearer",
      ...(names && { names }),
    });
    door.http.markAuthenticated(request.raw);
    if (!names) requestState(request).bearer = version;
    return;
  }
  if (!wantsPage(request)) throw new HttpError("unauthorized");
  sendRedirect(door, reply, 302, `/login?next=${encodeURIComponent(withoutToken(request.url))}`);
}

/** Who was let in may have been signed out while the body came, which may take half a minute. */
export function requireLiveSession(door: DashboardContext, request: FastifyRequest): void {
  if (request.is404 || request.routeOptions.config.access !== undefined) return;
  const { session, bearer } = requestState(request);
  const isReplaced = bearer !== undefined && bearer !== door.tokens.info("launcher").version;
  if (session?.endedBy !== undefined || isReplaced) throw new HttpError("unauthorized");
}

/** Node reads header bytes as Latin-1; tokens are UTF-8. Undecodable bytes can match no token. */
function headerText(value: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(value, "latin1"));
  } catch {
    return `\ufffd${value}`;
  }
}

export function withoutToken(url: string): string {
  const here = new URL(url, "http://here.invalid");
  if (here.searchParams.has("token")) here.searchParams.delete("token"); // else the query stays as it was spelled
  return here.pathname + here.search;
}
