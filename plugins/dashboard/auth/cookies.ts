import type { IncomingMessage } from "node:http";
import { Signer } from "@fastify/cookie";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Peer } from "../../http/index.ts";
import type { Tokens } from "../../token-store/index.ts";
import type { AuthContext, DashboardContext } from "../context.ts";
import { HttpError } from "../errors.ts";
import { requestState } from "../request.ts";
import type { VerifiedCredential } from "./credentials.ts";
import { expiresIn, isUnexpired, type SignInSession } from "./sessions.ts";

/** Without the white space that HTTP allows; other white space is part of the text. */
const trimHeaderSpace = (text: string): string => text.replace(/^[ \t]+|[ \t]+$/g, "");

/** Every value of a cookie name, as sent: a name can arrive twice (other ports of this host, a planted one). */
export function cookieValues(header: string | undefined, name: string): string[] {
  return (header ?? "").split(";").flatMap((pair) => {
    const at = pair.indexOf("=");
    return at < 0 || trimHeaderSpace(pair.slice(0, at)) !== name
      ? []
      : [trimHeaderSpace(pair.slice(at + 1))];
  });
}

interface VersionedSigner {
  readonly version: number;
  readonly salt: Uint8Array | undefined;
  readonly signer: Signer;
}

/**
 * Signs with a key derived from the launcher token: a new token makes every cookie invalid by itself.
 *
 * @param saltOf - Salt of the key; by default 32 random bytes of this process and purpose.
 */
export function tokenSigner(tokens: Tokens, purpose: string, saltOf?: () => Uint8Array) {
  let made: VersionedSigner | undefined;
  function signer(): Signer {
    const { version } = tokens.info("launcher");
    const salt = saltOf?.();
    if (made?.version !== version || made.salt !== salt) {
      const key = Buffer.from(tokens.derive("launcher", purpose, salt));
      made = { version, salt, signer: new Signer(key) };
    }
    return made.signer;
  }
  return {
    sign: (value: string) => signer().sign(value),
    unsign: (value: string) => signer().unsign(value),
  };
}
export type TokenSigner = ReturnType<typeof tokenSigner>;

/** Two names, or visits by http and by https lock each other out; cookies ignore ports, hence the instance. */
export function cookieName(
  kind: "session" | "setup",
  brand: string,
  instance: string,
  secure: boolean,
): string {
  return `${secure ? "__Host-" : ""}${brand}_${kind}_${instance}`;
}

export interface CookieOptions {
  readonly name: string;
  readonly secure: boolean;
}

/** Base64 and dots need no escapes; without them a value has one spelling, and any changed byte makes it another. */
const identity = String;

export function setCookie(
  reply: FastifyReply,
  { name, secure }: CookieOptions,
  signed: string,
  maxAge: number,
): void {
  void reply.setCookie(name, signed, {
    path: "/",
    httpOnly: true,
    sameSite: "lax",
    secure,
    maxAge,
    encode: identity,
  });
}
export function clearCookie(reply: FastifyReply, by: CookieOptions): void {
  setCookie(reply, by, "", 0);
}

export const hasCookie = (request: FastifyRequest, name: string): boolean =>
  cookieValues(request.headers.cookie, name).some((value) => value !== "");

const setupCookieSeconds = 900;

/** Cookies ignore ports, hence the instance in the name; a host without settings has none. */
const instanceName = (context: DashboardContext): string =>
  context.services.settings?.instance() ?? (context.http.addresses()[0]?.port || "80");
const cookieOptions = (
  context: DashboardContext,
  kind: "session" | "setup",
  peer: Peer,
): CookieOptions => ({
  name: cookieName(kind, context.site.brand, instanceName(context), peer.secure),
  secure: peer.secure,
});

/**
 * Creates a sign-in and sets its cookie. It replaces the sign-in that the same browser had.
 *
 * A link that a sign-in made proves less than the cookie of a browser that is signed in already: that one stays.
 */
export async function signIn(
  context: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  by: VerifiedCredential,
): Promise<SignInSession> {
  const { peer } = requestState(request);
  // The token was rotated after the comparison: the value that matched is not the token any more.
  if (by.version !== context.auth.tokens.info("launcher").version)
    throw new HttpError("invalid_token");
  const own = sessionsOf(context, request.headers, peer);
  if (own[0] && by.maker) return own[0];
  for (const before of own) context.auth.sessions.end(before, "replaced");
  const created = context.auth.sessions.create({
    address: peer.address,
    userAgent: request.headers["user-agent"] ?? "",
    version: by.version,
    days: context.auth.config().session_days,
    maker: by.maker,
  });
  if (!created) throw new HttpError("invalid_token");
  const { session, secret } = created;
  const signed = context.auth.signer.session.sign(`${secret}.${session.expiresAt}`);
  const seconds = Math.round((session.expiresAt - session.createdAt) / 1_000);
  setCookie(reply, cookieOptions(context, "session", peer), signed, seconds);
  void reply.header("cache-control", "no-store");
  context.observers.activity.signedIn({
    at: session.createdAt,
    address: peer.address,
    via: by.via,
  });
  context.runtime.log.info({ signIn: session.signIn, ip: peer.address, via: by.via }, "signed in");
  context.runtime.emit("dashboard:signed-in", {
    signIn: session.signIn,
    address: peer.address,
    via: by.via,
  });
  await context.auth.keeper.settled();
  return session;
}

/** The live sessions of a request's cookies: a name can arrive with several values. */
function sessionsOf(
  context: DashboardContext,
  headers: IncomingMessage["headers"],
  peer: Peer,
): SignInSession[] {
  const found: SignInSession[] = [];
  for (const value of cookieValues(headers.cookie, cookieOptions(context, "session", peer).name)) {
    const { valid, value: plain } = context.auth.signer.session.unsign(value);
    const [secret = "", expiry = ""] = valid && plain ? plain.split(".") : [];
    const session = context.auth.sessions.find(secret);
    if (session && String(session.expiresAt) === expiry) found.push(session);
    if (!valid) endOrphan(context.auth, value);
  }
  return found;
}

/** A kept sign-in whose cookie no longer fits: the launcher token changed while no launcher ran. */
function endOrphan({ sessions }: AuthContext, cookie: string): void {
  const session = sessions.find(cookie.split(".", 1)[0]!);
  if (session?.restored) sessions.end(session, "rotated");
}

/** The first live session of a request's cookies. */
export const sessionOf = (
  context: DashboardContext,
  headers: IncomingMessage["headers"],
  peer: Peer,
): SignInSession | undefined => sessionsOf(context, headers, peer)[0];

/** Takes a cookie away that no longer means anything, so that it is not sent for ever. */
export function clearStaleSession(
  context: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { peer } = requestState(request);
  const by = cookieOptions(context, "session", peer);
  if (hasCookie(request, by.name) && !sessionOf(context, request.headers, peer))
    clearCookie(reply, by);
}
/**
 * Removes the cookie of a sign-in that ended, and what the pages stored in the browser.
 *
 * Not the directive "cookies": it also removes those of other ports and subdomains. Not "cache": it holds Chromium up,
 * and nothing private is cached. "storage" only where no other program certainly shares the origin.
 */
export function clearSession(
  context: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  clearCookie(reply, cookieOptions(context, "session", requestState(request).peer));
  if (!context.http.sharesOrigin()) void reply.header("clear-site-data", '"storage"');
}

/** The setup cookie stands in for the code for 15 minutes; it is never a session. */
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
    const { valid, value: plain } = context.auth.signer.setup.unsign(value);
    const [, until, untilPassed] = valid && plain ? plain.split(".").map(Number) : [];
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
