import type { IncomingMessage } from "node:http";
import { Signer } from "@fastify/cookie";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Peer } from "../../http/index.ts";
import type { Tokens } from "../../token-store/index.ts";
import type { DashboardContext } from "../context.ts";
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
const instanceName = (door: DashboardContext): string =>
  door.settings?.instance() ?? (door.http.addresses()[0]?.port || "80");
const cookieOptions = (
  door: DashboardContext,
  kind: "session" | "setup",
  peer: Peer,
): CookieOptions => ({
  name: cookieName(kind, door.brand, instanceName(door), peer.secure),
  secure: peer.secure,
});

/**
 * Creates a sign-in and sets its cookie. It replaces the sign-in that the same browser had.
 *
 * A link that a sign-in made proves less than the cookie of a browser that is signed in already: that one stays.
 */
export async function signIn(
  door: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  by: VerifiedCredential,
): Promise<SignInSession> {
  const { peer } = requestState(request);
  // The token was rotated after the comparison: the value that matched is not the token any more.
  if (by.version !== door.tokens.info("launcher").version) throw new HttpError("invalid_token");
  const own = sessionsOf(door, request.headers, peer);
  if (own[0] && by.maker) return own[0];
  for (const before of own) door.sessions.end(before, "replaced");
  const created = door.sessions.create({
    address: peer.address,
    userAgent: request.headers["user-agent"] ?? "",
    version: by.version,
    days: door.config().session_days,
    maker: by.maker,
  });
  if (!created) throw new HttpError("invalid_token");
  const { session, secret } = created;
  const signed = door.signer.session.sign(`${secret}.${session.expiresAt}`);
  const seconds = Math.round((session.expiresAt - session.createdAt) / 1_000);
  setCookie(reply, cookieOptions(door, "session", peer), signed, seconds);
  void reply.header("cache-control", "no-store");
  door.activity.signedIn({ at: session.createdAt, address: peer.address, via: by.via });
  door.log.info({ signIn: session.signIn, ip: peer.address, via: by.via }, "signed in");
  door.emit("dashboard:signed-in", { signIn: session.signIn, address: peer.address, via: by.via });
  await door.keeper.settled();
  return session;
}

/** The live sessions of a request's cookies: a name can arrive with several values. */
function sessionsOf(
  door: DashboardContext,
  headers: IncomingMessage["headers"],
  peer: Peer,
): SignInSession[] {
  const found: SignInSession[] = [];
  for (const value of cookieValues(headers.cookie, cookieOptions(door, "session", peer).name)) {
    const { valid, value: plain } = door.signer.session.unsign(value);
    const [secret = "", expiry = ""] = valid && plain ? plain.split(".") : [];
    const session = door.sessions.find(secret);
    if (session && String(session.expiresAt) === expiry) found.push(session);
    if (!valid) endOrphan(door, value);
  }
  return found;
}

/** A kept sign-in whose cookie no longer fits: the launcher token changed while no launcher ran. */
function endOrphan({ sessions }: DashboardContext, cookie: string): void {
  const session = sessions.find(cookie.split(".", 1)[0]!);
  if (session?.restored) sessions.end(session, "rotated");
}

/** The first live session of a request's cookies. */
export const sessionOf = (
  door: DashboardContext,
  headers: IncomingMessage["headers"],
  peer: Peer,
): SignInSession | undefined => sessionsOf(door, headers, peer)[0];

/** Takes a cookie away that no longer means anything, so that it is not sent for ever. */
export function clearStaleSession(
  door: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { peer } = requestState(request);
  const by = cookieOptions(door, "session", peer);
  if (hasCookie(request, by.name) && !sessionOf(door, request.headers, peer))
    clearCookie(reply, by);
}
/**
 * Removes the cookie of a sign-in that ended, and what the pages stored in the browser.
 *
 * Not the directive "cookies": it also removes those of other ports and subdomains. Not "cache": it holds Chromium up,
 * and nothing private is cached. "storage" only where no other program certainly shares the origin.
 */
export function clearSession(
  door: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  clearCookie(reply, cookieOptions(door, "session", requestState(request).peer));
  if (!door.http.sharesOrigin()) void reply.header("clear-site-data", '"storage"');
}

/** The setup cookie stands in for the code for 15 minutes; it is never a session. */
export function setSetupCookie(
  door: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { peer } = requestState(request);
  const { until, untilPassed } = expiresIn(door.clock, setupCookieSeconds * 1_000);
  const signed = door.signer.setup.sign(`setup.${until}.${Math.round(untilPassed)}`);
  setCookie(reply, cookieOptions(door, "setup", peer), signed, setupCookieSeconds);
}
export function hasSetupCookie(door: DashboardContext, request: FastifyRequest): boolean {
  const { name } = cookieOptions(door, "setup", requestState(request).peer);
  return cookieValues(request.headers.cookie, name).some((value) => {
    const { valid, value: plain } = door.signer.setup.unsign(value);
    const [, until, untilPassed] = valid && plain ? plain.split(".").map(Number) : [];
    return (
      until !== undefined &&
      untilPassed !== undefined &&
      isUnexpired(door.clock, { until, untilPassed })
    );
  });
}
export function clearSetupCookie(
  door: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  clearCookie(reply, cookieOptions(door, "setup", requestState(request).peer));
}
