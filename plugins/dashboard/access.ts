import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { codeOf } from "../../kernel/index.ts";
import type { Peer } from "../http/index.ts";
import {
  clearCookie,
  cookieName,
  cookieValues,
  sentCookie,
  setCookie,
  type CookieBy,
} from "./cookies.ts";
import { seen, type Door, type Via } from "./door.ts";
import { Refusal } from "./errors.ts";
import { isAlive, lifetime } from "./lifetime.ts";
import { isLink } from "./links.ts";
import type { Session } from "./sessions.ts";

const SETUP_SECONDS = 900;

/** Cookies ignore ports, hence the instance in the name; a host without settings has none. */
const instanceOf = (door: Door): string =>
  door.settings?.instance() ?? (door.http.addresses()[0]?.port || "80");
const cookieBy = (door: Door, kind: "session" | "setup", peer: Peer): CookieBy => ({
  name: cookieName(kind, door.brand, instanceOf(door), peer.secure),
  secure: peer.secure,
});

export interface Judgement {
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
export async function judgeToken(
  door: Door,
  peer: Peer,
  value: string,
  judgement: Judgement,
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
    throw noAnswer(door, error);
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
  refused(door, peer, reason, via, limited ? verdict.retryAfterSeconds : undefined);
  throw new Refusal(reason, limited ? { retryAfterSeconds: verdict.retryAfterSeconds } : {});
}

/** The words of a host's own check may quote the candidate: nobody gets them, nor the log. */
function noAnswer({ log }: Door, error: unknown): unknown {
  if (codeOf(error) !== "internal") return error;
  const code = String((error as { code?: unknown } | null)?.code);
  log.error(
    { reason: /^[A-Z][A-Z_]{1,40}$/.test(code) ? code : "unknown" },
    "the launcher token could not be checked",
  );
  return new Refusal("store_unavailable", { retryAfterSeconds: 5 });
}

function refused(door: Door, { address }: Peer, code: string, via: string, seconds?: number): void {
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

export interface Admitted {
  /** Version of the launcher token that opened it. */
  readonly version: number;
  readonly via: Via;
  /** The sign-in whose link was spent. Absent when the launcher token or the owner opened it. */
  readonly maker?: Session | undefined;
}

/** Judges a token or spends a one-time link. Answers the launcher token's version and the way in. */
export async function judgeCredential(
  door: Door,
  peer: Peer,
  value: string,
  { via, foreign }: { readonly via: Via; readonly foreign: boolean },
): Promise<Admitted> {
  const candidate = value.trim();
  if (!isLink(candidate))
    return { version: await judgeToken(door, peer, candidate, { via, foreign }), via };
  const { version } = door.tokens.info("launcher");
  const redeemed = door.links.redeem(candidate, version);
  if (redeemed) return { version, via: "link", ...redeemed };
  refused(door, peer, "link_expired", "link");
  throw new Refusal("invalid_token");
}

/**
 * Creates a sign-in and sets its cookie. It replaces the sign-in that the same browser had.
 *
 * A link that a sign-in made proves less than the cookie of a browser that is signed in already: that one stays.
 */
export async function signIn(
  door: Door,
  request: FastifyRequest,
  reply: FastifyReply,
  by: Admitted,
): Promise<Session> {
  const { peer } = seen(request);
  // The token was rotated after the comparison: the value that matched is not the token any more.
  if (by.version !== door.tokens.info("launcher").version) throw new Refusal("invalid_token");
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
  if (!created) throw new Refusal("invalid_token");
  const { session, secret } = created;
  const signed = door.signer.session.sign(`${secret}.${session.expiresAt}`);
  const seconds = Math.round((session.expiresAt - session.createdAt) / 1_000);
  setCookie(reply, cookieBy(door, "session", peer), signed, seconds);
  void reply.header("cache-control", "no-store");
  door.activity.signedIn({ at: session.createdAt, address: peer.address, via: by.via });
  door.log.info({ signIn: session.signIn, ip: peer.address, via: by.via }, "signed in");
  door.emit("dashboard:signed-in", { signIn: session.signIn, address: peer.address, via: by.via });
  await door.keeper.settled();
  return session;
}

/** The live sessions of a request's cookies: a name can arrive with several values. */
function sessionsOf(door: Door, headers: IncomingMessage["headers"], peer: Peer): Session[] {
  const found: Session[] = [];
  for (const value of cookieValues(headers.cookie, cookieBy(door, "session", peer).name)) {
    const { valid, value: plain } = door.signer.session.unsign(value);
    const [secret = "", expiry = ""] = valid && plain ? plain.split(".") : [];
    const session = door.sessions.find(secret);
    if (session && String(session.expiresAt) === expiry) found.push(session);
    if (!valid) endOrphan(door, value);
  }
  return found;
}

/** A kept sign-in whose cookie no longer fits: the launcher token changed while no launcher ran. */
function endOrphan({ sessions }: Door, cookie: string): void {
  const session = sessions.find(cookie.split(".", 1)[0]!);
  if (session?.restored) sessions.end(session, "rotated");
}

/** The first live session of a request's cookies. */
export const sessionOf = (
  door: Door,
  headers: IncomingMessage["headers"],
  peer: Peer,
): Session | undefined => sessionsOf(door, headers, peer)[0];

/** Takes a cookie away that no longer means anything, so that it is not sent for ever. */
export function clearDeadSession(door: Door, request: FastifyRequest, reply: FastifyReply): void {
  const { peer } = seen(request);
  const by = cookieBy(door, "session", peer);
  if (sentCookie(request, by.name) && !sessionOf(door, request.headers, peer))
    clearCookie(reply, by);
}
/**
 * Removes the cookie of a sign-in that ended, and what the pages stored in the browser.
 *
 * Not the directive "cookies": it also removes those of other ports and subdomains. Not "cache": it holds Chromium up,
 * and nothing private is cached. "storage" only where no other program certainly shares the origin.
 */
export function clearSession(door: Door, request: FastifyRequest, reply: FastifyReply): void {
  clearCookie(reply, cookieBy(door, "session", seen(request).peer));
  if (!door.http.sharesOrigin()) void reply.header("clear-site-data", '"storage"');
}

/** The setup cookie stands in for the code for 15 minutes; it is never a session. */
export function grantSetup(door: Door, request: FastifyRequest, reply: FastifyReply): void {
  const { peer } = seen(request);
  const { until, untilPassed } = lifetime(door.clock, SETUP_SECONDS * 1_000);
  const signed = door.signer.setup.sign(`setup.${until}.${Math.round(untilPassed)}`);
  setCookie(reply, cookieBy(door, "setup", peer), signed, SETUP_SECONDS);
}
export function mayFinishSetup(door: Door, request: FastifyRequest): boolean {
  const { name } = cookieBy(door, "setup", seen(request).peer);
  return cookieValues(request.headers.cookie, name).some((value) => {
    const { valid, value: plain } = door.signer.setup.unsign(value);
    const [, until, untilPassed] = valid && plain ? plain.split(".").map(Number) : [];
    return (
      until !== undefined &&
      untilPassed !== undefined &&
      isAlive(door.clock, { until, untilPassed })
    );
  });
}
export function clearSetup(door: Door, request: FastifyRequest, reply: FastifyReply): void {
  clearCookie(reply, cookieBy(door, "setup", seen(request).peer));
}
