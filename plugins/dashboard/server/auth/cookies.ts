/** Sets, reads and clears the session cookie and the setup cookie. @module */
import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Peer } from "../../../http/index.ts";
import type { Tokens } from "../../../token-store/index.ts";
import type { AuthContext, DashboardContext } from "../context.ts";
import { Signer, stringifySetCookie } from "../cookie-format.ts";
import { refuse } from "../errors.ts";
import { cookieValues, requestState } from "../request.ts";
import type { SignInSession, TokenSigner } from "./contract.ts";
import type { VerifiedCredential } from "./credentials.ts";
import { expiresIn, isUnexpired, reportSignIn } from "./sessions.ts";

/**
 * Creates a signer whose key is derived from the launcher token, so a rotation invalidates all
 * cookies.
 *
 * @param saltOf - Salt of the key. @defaultValue 32 random bytes per process and purpose
 */
export function tokenSigner(
  tokens: Tokens,
  purpose: string,
  saltOf?: () => Uint8Array,
): TokenSigner {
  let current: { version: number; salt: Uint8Array | undefined; signer: Signer } | undefined;
  function signer(): Signer {
    const { version } = tokens.info("launcher");
    const salt = saltOf?.();
    if (current?.version !== version || current.salt !== salt) {
      const key = Buffer.from(tokens.derive("launcher", purpose, salt));
      current = { version, salt, signer: new Signer(key) };
    }
    return current.signer;
  }
  return {
    sign: (value) => signer().sign(value),
    unsign: (signed) => signer().unsign(signed).value ?? undefined,
  };
}
interface CookieOptions {
  readonly name: string;
  readonly secure: boolean;
}

/** Base64 and dots need no escapes. Without escapes, each value has exactly one spelling. */
const encode = String;

/** Sets a cookie. It replaces a cookie of the same name that this response has set before. */
function setCookie(
  reply: FastifyReply,
  { name, secure }: CookieOptions,
  signed: string,
  maxAge: number,
): void {
  const own = stringifySetCookie(
    { name, value: signed, path: "/", httpOnly: true, sameSite: "lax", secure, maxAge },
    { encode },
  );
  const before = reply.getHeader("set-cookie");
  if (before === undefined) return void reply.header("set-cookie", own);
  const others = [before].flat().map(String);
  const kept = others.filter((other) => !other.startsWith(`${name}=`));
  void reply.removeHeader("set-cookie").header("set-cookie", [...kept, own]);
}
function clearCookie(reply: FastifyReply, options: CookieOptions): void {
  setCookie(reply, options, "", 0);
}

const setupCookieSeconds = 900;

/**
 * Names differ for http and https, else a browser that uses both is signed out by each change. They
 * also contain the instance, because cookies ignore ports. Without settings, which know the
 * instance, they contain the port.
 */
function cookieOptions(
  { site, http }: DashboardContext,
  kind: "session" | "setup",
  { secure }: Peer,
): CookieOptions {
  const instance = site.instance ?? (http.addresses()[0]?.port || "80");
  return { name: `${secure ? "__Host-" : ""}${site.brand}_${kind}_${instance}`, secure };
}

/**
 * Creates a sign-in and sets its cookie. It replaces the previous sign-in of the same browser.
 *
 * A browser that is signed in keeps its sign-in if it opens a link that another sign-in created:
 * such a link proves less than the cookie.
 *
 * @throws invalid_token if the launcher token was rotated after the check, or the maker has ended.
 */
export async function signIn(
  context: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  credential: VerifiedCredential,
): Promise<SignInSession> {
  const { peer } = requestState(request);
  if (credential.version !== context.auth.tokens.info("launcher").version)
    throw refuse("invalid_token");
  const previous = sessionsOf(context, request.headers, peer);
  if (previous[0] && credential.maker) return previous[0];
  for (const session of previous) context.auth.sessions.end(session, "replaced");
  const created = context.auth.sessions.create({
    address: peer.address,
    userAgent: request.headers["user-agent"] ?? "",
    version: credential.version,
    days: context.auth.config().session_days,
    maker: credential.maker,
  });
  if (!created) throw refuse("invalid_token");
  const { session, secret } = created;
  rememberPageOrigin(session, request.headers);
  const signed = context.auth.signer.session.sign(`${secret}.${session.expiresAt}`);
  const seconds = Math.round((session.expiresAt - session.createdAt) / 1_000);
  setCookie(reply, cookieOptions(context, "session", peer), signed, seconds);
  reportSignIn(context, session, credential.via);
  await context.auth.keeper.settled();
  return session;
}

/** More than a browser uses. The oldest one goes first. */
const maxPageOrigins = 8;
export const maxOriginLength = 300;

/**
 * Remembers the origin of a page of this sign-in. `Sec-Fetch-Site: same-origin` proves that the
 * browser addressed the request to the origin of the page, whatever host a proxy put into it. No
 * page can set the header.
 */
export function rememberPageOrigin(
  { pageOrigins }: SignInSession,
  headers: IncomingMessage["headers"],
): void {
  const origin = headers.origin?.toLowerCase();
  if (headers["sec-fetch-site"] !== "same-origin" || origin === undefined) return;
  if (!/^https?:/.test(origin) || origin.length > maxOriginLength) return;
  pageOrigins.add(origin);
  for (const oldest of pageOrigins)
    if (pageOrigins.size > maxPageOrigins) pageOrigins.delete(oldest);
}

/** @returns The live sessions of all session cookies of a request. */
function sessionsOf(
  context: DashboardContext,
  headers: IncomingMessage["headers"],
  peer: Peer,
): SignInSession[] {
  const found: SignInSession[] = [];
  for (const value of cookieValues(headers.cookie, cookieOptions(context, "session", peer).name)) {
    const plain = context.auth.signer.session.unsign(value);
    const [secret = "", expiry = ""] = plain?.split(".") ?? [];
    const session = context.auth.sessions.find(secret);
    if (session && String(session.expiresAt) === expiry) found.push(session);
    if (plain === undefined) endOrphan(context.auth, value);
  }
  return found;
}

/** Ends a restored sign-in whose cookie is invalid: the launcher token changed between two runs. */
function endOrphan({ sessions }: AuthContext, cookie: string): void {
  const session = sessions.find(cookie.split(".", 1)[0]!);
  if (session?.restored) sessions.end(session, "rotated");
}

/** @returns The first live session of the session cookies of a request. */
export const sessionOf = (
  context: DashboardContext,
  headers: IncomingMessage["headers"],
  peer: Peer,
): SignInSession | undefined => sessionsOf(context, headers, peer)[0];

/** @returns Whether a request has a session cookie, of a live session or not. */
export const hasSessionCookie = (
  context: DashboardContext,
  headers: IncomingMessage["headers"],
  peer: Peer,
): boolean =>
  cookieValues(headers.cookie, cookieOptions(context, "session", peer).name).some(
    (value) => value !== "",
  );

/** Removes a session cookie that belongs to no live session. */
export function clearStaleSession(
  context: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { peer } = requestState(request);
  const { headers } = request;
  if (hasSessionCookie(context, headers, peer) && !sessionOf(context, headers, peer))
    clearCookie(reply, cookieOptions(context, "session", peer));
}

/**
 * Removes the cookie of an ended sign-in and the data that pages stored in the browser.
 *
 * `Clear-Site-Data` omits "cookies", which also removes cookies of other ports and subdomains, and
 * "cache", which delays Chromium and finds nothing private. It contains "storage" only if no other
 * program shares the origin.
 */
export function clearSession(
  context: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  clearCookie(reply, cookieOptions(context, "session", requestState(request).peer));
  if (!context.http.sharesOrigin()) void reply.header("clear-site-data", '"storage"');
}

/** Sets a cookie that replaces the setup code for 15 minutes. It never signs in a browser. */
export function setSetupCookie(
  context: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { peer } = requestState(request);
  const { until, untilPassed } = expiresIn(context.auth.clock, setupCookieSeconds * 1_000);
  const signed = context.auth.signer.setup.sign(`setup.${until}.${Math.round(untilPassed)}`);
  setCookie(reply, cookieOptions(context, "setup", peer), signed, setupCookieSeconds);
}
export function hasSetupCookie(context: DashboardContext, request: FastifyRequest): boolean {
  const { name } = cookieOptions(context, "setup", requestState(request).peer);
  return cookieValues(request.headers.cookie, name).some((value) => {
    const plain = context.auth.signer.setup.unsign(value);
    const [, until, untilPassed] = plain?.split(".").map(Number) ?? [];
    return (
      until !== undefined &&
      untilPassed !== undefined &&
      isUnexpired(context.auth.clock, { until, untilPassed })
    );
  });
}
export function clearSetupCookie(
  context: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  clearCookie(reply, cookieOptions(context, "setup", requestState(request).peer));
}
