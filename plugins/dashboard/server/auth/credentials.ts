/** Checks tokens, and makes and redeems one-time sign-in links. @module */
import { createHash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { codeOf, type Clock, type Log } from "../../../../kernel/index.ts";
import type { Peer } from "../../../http/index.ts";
import type { AuthContext, DashboardContext, SiteContext } from "../context.ts";
import { refuse, isHttpError } from "../errors.ts";
import { requestState } from "../request.ts";
import type { SignInLink } from "../service.ts";
import type { SignInLinkStore, SignInMethod, SignInSession } from "./contract.ts";
import { expiresIn, isUnexpired, type Expiry, type SignInSessions } from "./sessions.ts";

const linkLifetimeMs = 5 * 60_000;
const maxLinks = 20;
const digest = (link: string): string => createHash("sha256").update(link).digest("base64");

export const isSignInLink = (value: string): boolean => value.startsWith("ott_");

interface LiveLink {
  /** Version of the launcher token when the link was made. */
  readonly version: number;
  readonly expiry: Expiry;
  readonly maker: SignInSession | undefined;
}

/**
 * Creates the store of one-time sign-in links: `ott_` and 32 random bytes, valid for five minutes.
 * The store keeps digests only, of at most 20 links.
 *
 * @param sessions - The sign-ins that create links.
 */
export function createSignInLinks(
  clock: Clock,
  random: (bytes: number) => Uint8Array,
  sessions: Pick<SignInSessions, "isLive" | "leftMs">,
): SignInLinkStore {
  const alive = new Map<string, LiveLink>();
  return {
    mint(version, maker) {
      const link = `ott_${Buffer.from(random(32)).toString("base64url")}`;
      const leftMs = maker ? sessions.leftMs(maker) : linkLifetimeMs;
      const expiry = expiresIn(clock, Math.min(linkLifetimeMs, leftMs));
      alive.set(digest(link), { version, expiry, maker });
      // A map keeps insertion order, so its first key is the oldest link.
      for (const oldest of alive.keys()) {
        if (alive.size <= maxLinks) break;
        alive.delete(oldest);
      }
      return { link, expiresAt: expiry.until };
    },
    cancel(maker) {
      for (const [key, link] of alive) if (link.maker === maker) alive.delete(key);
    },
    redeem(link, version) {
      const key = digest(link.trim());
      const found = alive.get(key);
      alive.delete(key);
      if (!found || found.version !== version || !isUnexpired(clock, found.expiry))
        return undefined;
      if (found.maker && !sessions.isLive(found.maker)) return undefined;
      return { maker: found.maker };
    },
  };
}
/**
 * Creates a link for the owner. The sign-in that it opens has the full lifetime.
 *
 * @param page - The page to open after sign-in. @defaultValue the overview
 */
export function ownerLink(auth: AuthContext, site: SiteContext, page?: string): SignInLink {
  const { link, expiresAt } = auth.signInLinks.mint(auth.tokens.info("launcher").version);
  const next = page === undefined ? "" : `&next=${encodeURIComponent(page)}`;
  const path = site.url(`/?token=${link}${next}`);
  const privateUrl = site.privateHost.url(path);
  return {
    path,
    copyPath: site.url(`/login?link=${link}${next}`),
    expiresAt,
    ...(privateUrl !== undefined && { privateUrl }),
  };
}

interface VerifyOptions {
  readonly via: string;
  /** Names of the accepted tokens, in the order of comparison. @defaultValue `["launcher"]` */
  readonly names?: readonly string[];
  readonly code?: "invalid_token" | "invalid_code";
  /**
   * A page of another site may have sent the token: it must not use up all attempts of the owner.
   */
  readonly foreign?: boolean;
  /**
   * Runs after the comparison, which may have waited for a rotation. Its errors are not counted.
   */
  readonly recheck?: () => void;
}

/**
 * Compares a token with the accepted ones, within the limit for the address.
 *
 * @returns The version of the token that matched.
 * @throws invalid_token (or `code`), rate_limited, store_unavailable
 */
export async function verifyToken(
  context: DashboardContext,
  peer: Peer,
  value: string,
  verifyOptions: VerifyOptions,
): Promise<number> {
  const {
    via,
    names = ["launcher"],
    code = "invalid_token",
    foreign = false,
    recheck,
  } = verifyOptions;
  const candidate = value.trim();
  const attempt = await context.auth.limiter.attempt(
    peer.key,
    candidate,
    async () => {
      let match: number | false = false;
      try {
        for (const name of names) match ||= await context.auth.tokens.verify(name, candidate);
      } catch (error) {
        throw checkFailedError(context.runtime.log, error);
      }
      recheck?.();
      return match;
    },
    { half: foreign },
  );
  if (attempt.outcome === "match") return attempt.match;
  const limited = attempt.outcome === "limited";
  const reason = limited ? "rate_limited" : code;
  if (attempt.outcome === "mismatch" && !attempt.again) {
    context.runtime.log.warn(
      { reason, ip: peer.address, via, count: attempt.counted },
      "sign-in failed",
    );
  }
  reportFailedSignIn(context, peer, reason, via, limited ? attempt.retryAfterSeconds : undefined);
  throw refuse(reason, limited ? { retryAfterSeconds: attempt.retryAfterSeconds } : {});
}

/**
 * Hides the message of a failed token check of a host, which may quote the token, even from the
 * log.
 */
function checkFailedError(log: Log, error: unknown): unknown {
  if (codeOf(error) !== "internal") return error;
  const code = String((error as { code?: unknown } | null)?.code);
  log.error(
    { reason: /^[A-Z][A-Z_]{1,40}$/.test(code) ? code : "unknown" },
    "the launcher token could not be checked",
  );
  return refuse("store_unavailable", { retryAfterSeconds: 5 });
}

function reportFailedSignIn(
  context: DashboardContext,
  { address }: Peer,
  code: string,
  via: string,
  seconds?: number,
): void {
  const at = context.auth.clock.now();
  context.observers.activity.refused({
    at,
    address,
    via,
    code,
    ...(seconds !== undefined && { until: at + seconds * 1_000 }),
  });
  context.runtime.emit("dashboard:sign-in-refused", { code, address, via });
}

export interface VerifiedCredential {
  /** Version of the launcher token at the check. */
  readonly version: number;
  readonly via: SignInMethod;
  /** The sign-in that created the link. Undefined for a token and for links of the owner. */
  readonly maker?: SignInSession | undefined;
}

/**
 * Checks a launcher token, or redeems a one-time link.
 *
 * @throws invalid_token, rate_limited, store_unavailable
 */
export async function verifyCredential(
  context: DashboardContext,
  peer: Peer,
  value: string,
  { via, foreign }: { readonly via: SignInMethod; readonly foreign: boolean },
): Promise<VerifiedCredential> {
  const candidate = value.trim();
  if (!isSignInLink(candidate))
    return { version: await verifyToken(context, peer, candidate, { via, foreign }), via };
  const { version } = context.auth.tokens.info("launcher");
  const redeemed = context.auth.signInLinks.redeem(candidate, version);
  if (redeemed) return { version, via: "link", ...redeemed };
  reportFailedSignIn(context, peer, "link_expired", "link");
  throw refuse("invalid_token");
}

/**
 * Requires the launcher token in addition to the session: a browser may have been left unattended.
 *
 * @throws invalid_body (400) if the token is missing, invalid_token (403) if it is wrong. Wrong
 * tokens
 *   count as attempts.
 */
export async function requireTokenConfirmation(
  context: DashboardContext,
  request: FastifyRequest,
  current: unknown,
): Promise<void> {
  if (typeof current !== "string" || current.trim() === "") {
    throw refuse("invalid_body", {
      message: 'Type the launcher token again: the field "current" is missing.',
    });
  }
  await verifyToken(context, requestState(request).peer, current, { via: "current" }).catch(
    toForbidden,
  );
}

/** Answers a wrong confirmation with 403: pages treat 401 as the end of the sign-in. */
export function toForbidden(error: unknown): never {
  if (!isHttpError(error) || error.code !== "invalid_token") throw error;
  throw refuse("invalid_token", { status: 403 });
}
