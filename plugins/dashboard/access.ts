import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { codeOf } from "../../kernel/index.ts";
import type { Peer } from "../http/index.ts";
import {
  clearCookie,
  cookieName,
  cookieValues,
  hasCookie,
  setCookie,
  type CookieOptions,
} from "./cookies.ts";
import { requestState, type DashboardContext, type SignInMethod } from "./door.ts";
import { HttpError } from "./errors.ts";
import { isUnexpired, expiresIn } from "./lifetime.ts";
import { isSignInLink } from "./links.ts";
import type { SignInSession } from "./sessions.ts";

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

export interface VerifyOptions {
  readonly via: string;
  /** Tokens that are right here, tried in this order; default the launcher's. */
  readonly names?: readonly string[];
  readonly code?: "invalid_token" | "invalid_code";
  /** A page of another site may have sent it: it must not spend all tries of who is at home here. */
  readonly foreign?: boolean;
  /** Looks again after the comparison, which may have waited for a replacement; what it throws is not counted. */
  readonly lookAgain?: () => void;
}

/** Compares a token with the launcher's and answers the version it matched; else refuses, counts and tells. */
export async function verifyToken(
  door: DashboardContext,
  peer: Peer,
  value: string,
  judgement: VerifyOptions,
): Promise<number> {
  const {
    via,
    names = ["launcher"],
    code = "invalid_token",
    foreign = false,
    lookAgain,
  } = judgement;
  const candidate = value.trim();
  const unanswered = (error: unknown): never => {
    throw checkFailedError(door, error);
  };
  const verdict = await door.limiter.judge(
    peer.key,
    candidate,
    async () => {
      let match: number | false = false;
      for (const name of names)
        match ||= await door.tokens.verify(name, candidate).catch(unanswered);
      lookAgain?.();
      return match;
    },
    { half: foreign },
  );
  if (verdict.outcome === "right") return verdict.match;
  const limited = verdict.outcome === "limited";
  const reason = limited ? "rate_limited" : code;
  if (verdict.outcome === "wrong" && !verdict.again) {
    door.log.warn({ reason, ip: peer.address, via, count: verdict.counted }, "sign-in refused");
  }
  reportFailedSignIn(door, peer, reason, via, limited ? verdict.retryAfterSeconds : undefined);
  throw new HttpError(reason, limited ? { retryAfterSeconds: verdict.retryAfterSeconds } : {});
}

/** The words of a host's own check may quote the candidate: nobody gets them, nor the log. */
function checkFailedError({ log }: DashboardContext, error: unknown): unknown {
  if (codeOf(error) !== "internal") return error;
  const code = String((error as { code?: unknown } | null)?.code);
  log.error(
    { reason: /^[A-Z][A-Z_]{1,40}$/.test(code) ? code : "unknown" },
    "the launcher token could not be checked",
  );
  return new HttpError("store_unavailable", { retryAfterSeconds: 5 });
}

function reportFailedSignIn(
  door: DashboardContext,
  { address }: Peer,
  code: string,
  via: string,
  seconds?: number,
): void {
  const at = door.clock.now();
  door.activity.refused({
    at,
    address,
    via,
    code,
    ...(seconds !== undefined && { until: at + seconds * 1_000 }),
  });
  door.emit("dashboard:sign-in-refused", { code, address, via });
}

export interface VerifiedCredential {
  /** Version of the launcher token that opened it. */
  readonly version: number;
  readonly via: SignInMethod;
  /** The sign-in whose link was spent. Absent when the launcher token or the owner opened it. */
  readonly maker?: SignInSession | undefined;
}

/** Judges a token or spends a one-time link. Answers the launcher token's version and the way in. */
export async function verifyCredential(
  door: DashboardContext,
  peer: Peer,
  value: string,
  { via, foreign }: { readonly via: SignInMethod; readonly foreign: boolean },
): Promise<VerifiedCredential> {
  const candidate = value.trim();
  if (!isSignInLink(candidate))
    return { version: await verifyToken(door, peer, candidate, { via, foreign }), via };
  const { version } = door.tokens.info("launcher");
  const redeemed = door.links.redeem(candidate, version);
  if (redeemed) return { version, via: "link", ...redeemed };
  reportFailedSignIn(door, peer, "link_expired", "link");
  throw new HttpError("invalid_token");
}

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
