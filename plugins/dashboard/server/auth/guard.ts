/**
 * Checks every request in order: host name, origin, launcher state, sign-in or token. Limits the
 * responses that are not read.
 *
 * @module
 */
import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import { hostname } from "node:os";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Http, Peer } from "../../../http/index.ts";
import type { AuthContext, DashboardContext } from "../context.ts";
import { refuse, unreadError } from "../errors.ts";
import { sendRedirect, wantsPage } from "../reply.ts";
import { hostName, isForm, requestState, type RequestState } from "../request.ts";
import { clearStaleSession, rememberPageOrigin, sessionOf } from "./cookies.ts";
import { verifyToken } from "./credentials.ts";

export function ownOrigin(peer: Peer): string {
  const [scheme, port] = peer.secure ? ["https", ":443"] : ["http", ":80"];
  return `${scheme}://${peer.host.endsWith(port) ? peer.host.slice(0, -port.length) : peer.host}`;
}

type OriginCheck = "accepted" | "rejected" | "null-form";

/**
 * Checks whether a request that changes something comes from a page of this dashboard.
 *
 * @returns `null-form` for `Origin: null`: only a form passes, and its body must prove its origin.
 */
function checkRequestOrigin(
  headers: IncomingHttpHeaders,
  peer: Peer,
  allowed: readonly string[],
): OriginCheck {
  const site = headers["sec-fetch-site"];
  const { origin } = headers;
  if (site !== undefined && site !== "same-origin" && site !== "none") return "rejected";
  if (origin === "null") return "null-form";
  if (site !== undefined || origin === undefined) return "accepted";
  const from = origin.toLowerCase();
  return from === ownOrigin(peer) || allowed.includes(from) ? "accepted" : "rejected";
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** `open`: served without a session. `anywhere`: also in every state and under any host. */
    readonly access?: "open" | "anywhere";
    /** Names of the tokens accepted as Bearer. @defaultValue only the launcher token */
    readonly tokens?: readonly string[];
  }
}

const unsafeMethods = new Set(["POST", "PUT", "PATCH", "DELETE"]);
/** Native forms under `no-referrer` send `Origin: null`; these paths accept them with a proof. */
const formsWithProof = new Set(["/login", "/setup", "/logout"]);

/** Names of this machine and of its listeners. */
function machineNamesOf(http: Http): ReadonlySet<string> {
  const bound = http.addresses().map((url) => hostName(url.host));
  const names = new Set(bound.filter((name) => isIP(name) === 0));
  if (http.isPublic())
    for (const name of [hostname(), `${hostname()}.local`]) names.add(name.toLowerCase());
  return names;
}

/**
 * Prevents DNS rebinding. IP addresses and `localhost` are safe: no DNS server resolves them. In
 * `allowed_hosts`, `*.example.org` matches every name below `example.org`.
 *
 * An invalid host and port (`localhost:99999`) is rejected, since links contain it.
 */
export function hostIsAllowed({ http, auth }: DashboardContext, { host }: Peer): boolean {
  if (!URL.canParse(`http://${host}`)) return false;
  const name = hostName(host);
  if (name === "localhost" || name.endsWith(".localhost") || isIP(name) !== 0) return true;
  if (machineNamesOf(http).has(name)) return true;
  return isListedHost(auth.config().allowed_hosts, name);
}

/** Whether `allowed_hosts` lists a host name in lower case. */
export const isListedHost = (allowedHosts: readonly string[], name: string): boolean =>
  allowedHosts.some((entry) => {
    const rule = entry.toLowerCase();
    return rule.startsWith("*.")
      ? name.endsWith(rule.slice(1)) && name.length > rule.length - 1
      : name === rule;
  });

/** Checks every request on arrival, and again when its body is complete, and its response. */
export function registerGuard(app: FastifyInstance, context: DashboardContext): void {
  // With callbacks, an open route waits for no promise.
  app.addHook("onRequest", (request, reply, done) => {
    try {
      guard(context, request, reply);
      if (isOpen(request)) return done();
    } catch (error) {
      return done(error as Error);
    }
    const proceed = (): void => void (reply.sent || done());
    void requireOwner(context, request, reply).then(proceed, done);
  });
  app.addHook("preHandler", (request, _reply, done) => {
    try {
      requireLiveSession(context.auth, request);
      done();
    } catch (error) {
      done(error as Error);
    }
  });
  // Rejects large responses while too many of them are unread.
  app.addHook("onSend", (_request, reply, payload, done) => {
    // Buffers are built files, which all responses share.
    const isCounted = typeof payload === "string";
    if (!isCounted || context.http.holdResponse(reply.raw, Buffer.byteLength(payload)))
      return done();
    done(unreadError());
  });
}

/** True for routes that need no sign-in. */
const isOpen = (request: FastifyRequest): boolean =>
  !request.is404 && request.routeOptions.config.access !== undefined;

/**
 * Runs the checks of a request that precede `requireOwner`, in order. The first one that fails
 * determines the response.
 */
function guard(context: DashboardContext, request: FastifyRequest, reply: FastifyReply): void {
  const peer = context.http.peer(request.raw);
  const state: RequestState = { peer, session: undefined, bearer: undefined, nullForm: false };
  request.checked = state;
  void reply.header("vary", "Accept, Sec-Fetch-Mode").header("cache-control", "no-store");
  if (!request.is404 && request.routeOptions.config.access === "anywhere") return;

  if (!hostIsAllowed(context, peer)) {
    const text = "rejected: the host name in the Host header is not allowed";
    const fields = { host: peer.host.slice(0, 100) };
    context.http.noteFault(context.runtime.log, {
      reason: "host_not_allowed",
      address: peer.address,
      text,
      fields,
    });
    throw refuse("host_not_allowed", {
      message: `The host name "${peer.host.slice(0, 100)}" is not allowed.`,
      hint: 'add it to "allowed_hosts" in launcher-config.json',
    });
  }
  const authorized =
    request.headers.authorization !== undefined && /^bearer /i.test(request.headers.authorization);
  if (unsafeMethods.has(request.method) && !authorized) checkOrigin(context, request);
  if (context.runtime.state() === "unconfigured")
    throw refuse("unavailable", { retryAfterSeconds: 1 });

  if (!authorized || !isApi(request)) {
    const proxied = context.proxySignIn.find(request.raw);
    // The proxy decides, so that a sign-out there counts here.
    const own = proxied.kind === "direct" ? sessionOf(context, request.headers, peer) : undefined;
    state.session = own ?? context.hostSessions.sessionOf(context, request);
    if (!isOpen(request)) assertProxied(proxied);
  }
  if (state.session) {
    context.auth.sessions.touch(state.session);
    rememberPageOrigin(state.session, request.raw.headers);
    context.http.markAuthenticated(request.raw);
  }
}

/** @throws not_an_owner, unauthorized if the proxy names no owner. */
function assertProxied(proxied: ReturnType<DashboardContext["proxySignIn"]["find"]>): void {
  if (proxied.kind === "stranger")
    throw refuse("not_an_owner", {
      message: `"${proxied.id}" is not an owner.`,
      hint: 'add the id to "owners" of "proxy_sign_in" in launcher-config.json',
    });
  if (proxied.kind === "nobody")
    throw refuse("unauthorized", { message: "The proxy in front of Doorward named no person." });
}

const pathOf = (request: FastifyRequest): string => request.url.split("?", 1)[0]!;
const isApi = (request: FastifyRequest): boolean => /^\/(api|metrics)(\/|$)/.test(pathOf(request));

/** The page of a question always checks the hidden value of its form. */
const hasProof = (path: string): boolean => formsWithProof.has(path) || path.startsWith("/ask/");

function checkOrigin(context: DashboardContext, request: FastifyRequest): void {
  const { peer } = requestState(request);
  const result = checkRequestOrigin(request.headers, peer, context.auth.config().allowed_origins);
  if (result === "accepted") return;
  if (result === "null-form" && hasProof(pathOf(request)) && isForm(request)) {
    requestState(request).nullForm = true;
    return;
  }
  rejectOrigin(context, request);
}
export function rejectOrigin(context: DashboardContext, request: FastifyRequest): never {
  const { peer } = requestState(request);
  const expected = ownOrigin(peer);
  const from = (request.headers.origin ?? "another site").slice(0, 100);
  const text = "rejected: the request comes from a page of another origin";
  const { address } = peer;
  const fields = { origin: from };
  context.http.noteFault(context.runtime.log, {
    reason: "origin_not_allowed",
    address,
    text,
    fields,
  });
  throw refuse("origin_not_allowed", {
    message: `This request comes from a page of ${from}; only pages of ${expected} may send it.`,
    hint:
      'add the origin to "allowed_origins" in launcher-config.json, or let the proxy forward ' +
      "the host with its port (nginx: proxy_set_header Host $http_host) and X-Forwarded-Proto",
  });
}

/**
 * Admits a signed-in browser or a correct Bearer token. Redirects other browsers to the sign-in or
 * setup page.
 *
 * @throws unauthorized, setup_required, or an error of `verifyToken`, if a program sent the
 * request.
 */
export async function requireOwner(
  context: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { session, peer } = requestState(request);
  if (session && context.runtime.state() !== "setup") return;
  clearStaleSession(context, request, reply);
  if (context.runtime.state() === "setup") {
    if (!wantsPage(request)) throw refuse("setup_required", { hint: context.site.url("/setup") });
    return void sendRedirect(context.site, reply, 302, "/setup");
  }
  const bearer = isApi(request)
    ? /^bearer +(.+)$/i.exec(request.headers.authorization ?? "")?.[1]
    : undefined;
  if (bearer !== undefined) {
    const { tokens: names } = request.is404 ? {} : request.routeOptions.config;
    const version = await verifyToken(context, peer, headerText(bearer), {
      via: "bearer",
      ...(names && { names }),
    });
    context.http.markAuthenticated(request.raw);
    if (!names) requestState(request).bearer = version;
    return;
  }
  if (!wantsPage(request)) throw refuse("unauthorized");
  sendRedirect(
    context.site,
    reply,
    302,
    `/login?next=${encodeURIComponent(withoutToken(request.url))}`,
  );
}

/** Repeats the check after the body has arrived, which may take half a minute. */
function requireLiveSession(auth: AuthContext, request: FastifyRequest): void {
  if (request.is404 || request.routeOptions.config.access !== undefined) return;
  if (!isLiveOwner(auth, request)) throw refuse("unauthorized");
}

/** @returns False if the sign-in or token of an admitted request has ended. */
export function isLiveOwner(auth: AuthContext, request: FastifyRequest): boolean {
  const { session, bearer } = requestState(request);
  const isRotated = bearer !== undefined && bearer !== auth.tokens.info("launcher").version;
  return session?.endedBy === undefined && !isRotated;
}

/**
 * Decodes a token from a header: Node reads header bytes as Latin-1. Invalid UTF-8 matches no
 * token.
 */
function headerText(value: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(value, "latin1"));
  } catch {
    return `\ufffd${value}`;
  }
}

/** Removes the parameter `token`. Without one, the query keeps its spelling. */
export function withoutToken(url: string): string {
  const parsed = new URL(url, "http://here.invalid");
  if (parsed.searchParams.has("token")) parsed.searchParams.delete("token");
  return parsed.pathname + parsed.search;
}
