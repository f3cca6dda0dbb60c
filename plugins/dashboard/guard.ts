import type { IncomingMessage } from "node:http";
import { hostname } from "node:os";
import { isIP } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { clearDeadSession, judgeToken, sessionOf } from "./access.ts";
import { isForm, redirect, see, seen, type Door } from "./door.ts";
import { Refusal } from "./errors.ts";
import { hostAllowed, hostName, judgeOrigin, ownOrigin } from "./origins.ts";
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

const UNSAFE = new Set(["POST", "PUT", "PATCH", "DELETE"]);
/** Where a form may come with `Origin: null`, as native forms do under `no-referrer`. */
const PROVEN_FORMS = new Set(["/login", "/setup", "/logout"]);

function ownNames({ http }: Door): ReadonlySet<string> {
  const bound = http.addresses().map((url) => hostName(url.host));
  const own = new Set(bound.filter((name) => isIP(name) === 0));
  if (http.isPublic())
    for (const name of [hostname(), `${hostname()}.local`]) own.add(name.toLowerCase());
  return own;
}

export const hostIsAllowed = (door: Door, peer: Peer): boolean =>
  hostAllowed(peer.host, { own: () => ownNames(door), allowed: door.config().allowed_hosts });

/** Whether a page of this very origin sent it: what a WebSocket handshake with our cookie must prove. */
export const cameFromHere = ({ headers }: IncomingMessage, peer: Peer): boolean =>
  headers.origin?.toLowerCase() === ownOrigin(peer);

/** The checks of every request, in their order; the first that fails answers. */
export async function guard(
  door: Door,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const peer = door.http.peer(request.raw);
  see(request, { peer, session: undefined, bearer: undefined, nullForm: false });
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
    throw new Refusal("host_not_allowed", {
      message: `The host name "${peer.host.slice(0, 100)}" is not allowed here.`,
      hint: 'add it to "allowed_hosts" in launcher-config.json',
    });
  }
  const authorized =
    request.headers.authorization !== undefined && /^bearer /i.test(request.headers.authorization);
  if (UNSAFE.has(request.method) && !authorized) checkOrigin(door, request);
  if (door.state() === "unconfigured") throw new Refusal("unavailable", { retryAfterSeconds: 1 });

  if (!authorized || !isApi(request)) {
    seen(request).session =
      sessionOf(door, request.headers, peer) ?? door.hostSessions.sessionOf(door, request);
  }
  const { session } = seen(request);
  if (session) {
    door.sessions.touch(session);
    door.http.markAuthenticated(request.raw);
  }
  if (access !== "open") await requireOwner(door, request, reply);
}

const pathOf = (request: FastifyRequest): string => request.url.split("?", 1)[0]!;
const isApi = (request: FastifyRequest): boolean => /^\/(api|metrics)(\/|$)/.test(pathOf(request));

function checkOrigin(door: Door, request: FastifyRequest): void {
  const { peer } = seen(request);
  const verdict = judgeOrigin(request.headers, peer, door.config().allowed_origins);
  if (verdict === "accepted") return;
  if (verdict === "null-form" && PROVEN_FORMS.has(pathOf(request)) && isForm(request)) {
    seen(request).nullForm = true;
    return;
  }
  refuseOrigin(door, request);
}
export function refuseOrigin(door: Door, request: FastifyRequest): never {
  const { peer } = seen(request);
  const own = ownOrigin(peer);
  const from = (request.headers.origin ?? "another site").slice(0, 100);
  const text = "refused: the request comes from a page of another origin";
  const { address } = peer;
  const fields = { origin: from };
  door.http.noteFault(door.log, { reason: "origin_not_allowed", address, text, fields });
  throw new Refusal("origin_not_allowed", {
    message: `This request comes from a page of ${from}; only pages of ${own} may send it.`,
    hint: 'other origins are listed in "allowed_origins" in launcher-config.json',
  });
}

/** Passes a signed-in browser or a right Bearer; else refuses, or sends a browser to where it can sign in. */
export async function requireOwner(
  door: Door,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { session, peer } = seen(request);
  if (session && door.state() !== "setup") return;
  clearDeadSession(door, request, reply);
  if (door.state() === "setup") {
    if (!wantsPage(request)) throw new Refusal("setup_required", { hint: door.http.url("/setup") });
    return void redirect(door, reply, 302, "/setup");
  }
  const bearer = isApi(request)
    ? /^bearer +(.+)$/i.exec(request.headers.authorization ?? "")?.[1]
    : undefined;
  if (bearer !== undefined) {
    const { tokens: names } = request.is404 ? {} : request.routeOptions.config;
    const version = await judgeToken(door, peer, headerText(bearer), {
      via: "bearer",
      ...(names && { names }),
    });
    door.http.markAuthenticated(request.raw);
    if (!names) seen(request).bearer = version;
    return;
  }
  if (!wantsPage(request)) throw new Refusal("unauthorized");
  redirect(door, reply, 302, `/login?next=${encodeURIComponent(withoutToken(request.url))}`);
}

/** Who was let in may have been signed out while the body came, which may take half a minute. */
export function stillOwner(door: Door, request: FastifyRequest): void {
  if (request.is404 || request.routeOptions.config.access !== undefined) return;
  const { session, bearer } = seen(request);
  const isReplaced = bearer !== undefined && bearer !== door.tokens.info("launcher").version;
  if (session?.endedBy !== undefined || isReplaced) throw new Refusal("unauthorized");
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
