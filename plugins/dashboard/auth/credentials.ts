import { createHash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { codeOf, type Clock, type Log } from "../../../kernel/index.ts";
import type { Peer } from "../../http/index.ts";
import type { DashboardContext } from "../context.ts";
import { HttpError } from "../errors.ts";
import { requestState, type SignInMethod } from "../request.ts";
import { expiresIn, isUnexpired, type Expiry, type SignInSession } from "./sessions.ts";

/* One-time sign-in links: `ott_` and 32 random bytes, good for five minutes, kept as digests only. @module */

const lifeMs = 5 * 60_000;
const maxAlive = 20;
const digest = (link: string): string => createHash("sha256").update(link).digest("base64");

export const isSignInLink = (value: string): boolean => value.startsWith("ott_");

interface LiveLink {
  /** Version of the launcher token when the link was made. */
  readonly version: number;
  readonly life: Expiry;
  readonly maker: SignInSession | undefined;
}

/** `isLive`: whether a sign-in that made a link still lives. */
export function createSignInLinks(
  clock: Clock,
  random: (bytes: number) => Uint8Array,
  isLive: (maker: SignInSession) => boolean,
) {
  const alive = new Map<string, LiveLink>();
  return {
    /** `maker`: the sign-in that asked for the link. Without one, the caller has proved to be the owner. */
    mint(version: number, maker?: SignInSession): { link: string; expiresAt: number } {
      const link = `ott_${Buffer.from(random(32)).toString("base64url")}`;
      const left = maker ? Math.min(lifeMs, maker.expiresAt - clock.now()) : lifeMs;
      const life = expiresIn(clock, left);
      alive.set(digest(link), { version, life, maker });
      // Insertion order is age: the first key is the oldest.
      for (const oldest of alive.keys()) {
        if (alive.size <= maxAlive) break;
        alive.delete(oldest);
      }
      return { link, expiresAt: life.until };
    },
    /** Spends a link. @returns its maker if the link was good, else undefined. */
    redeem(
      link: string,
      version: number,
    ): { readonly maker: SignInSession | undefined } | undefined {
      const key = digest(link.trim());
      const found = alive.get(key);
      alive.delete(key);
      if (!found || found.version !== version || !isUnexpired(clock, found.life)) return undefined;
      if (found.maker && !isLive(found.maker)) return undefined;
      return { maker: found.maker };
    },
  };
}
export type SignInLinkStore = ReturnType<typeof createSignInLinks>;

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
    lookAgain,
  } = verifyOptions;
  const candidate = value.trim();
  const unanswered = (error: unknown): never => {
    throw checkFailedError(context.runtime.log, error);
  };
  const verdict = await context.auth.limiter.attempt(
    peer.key,
    candidate,
    async () => {
      let match: number | false = false;
      for (const name of names)
        match ||= await context.auth.tokens.verify(name, candidate).catch(unanswered);
      lookAgain?.();
      return match;
    },
    { half: foreign },
  );
  if (verdict.outcome === "match") return verdict.match;
  const limited = verdict.outcome === "limited";
  const reason = limited ? "rate_limited" : code;
  if (verdict.outcome === "mismatch" && !verdict.again) {
    context.runtime.log.warn(
      { reason, ip: peer.address, via, count: verdict.counted },
      "sign-in refused",
    );
  }
  reportFailedSignIn(context, peer, reason, via, limited ? verdict.retryAfterSeconds : undefined);
  throw new HttpError(reason, limited ? { retryAfterSeconds: verdict.retryAfterSeconds } : {});
}

/** The words of a host's own check may quote the candidate: nobody gets them, nor the log. */
function checkFailedError(log: Log, error: unknown): unknown {
  if (codeOf(error) !== "internal") return error;
  const code = String((error as { code?: unknown } | null)?.code);
  log.error(
    { reason: /^[A-Z][A-Z_]{1,40}$/.test(code) ? code : "unknown" },
    "the launcher token could not be checked",
  );
  return new HttpError("store_unavailable", { retryAfterSeconds: 5 });
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
  /** Version of the launcher token that opened it. */
  readonly version: number;
  readonly via: SignInMethod;
  /** The sign-in whose link was spent. Absent when the launcher token or the owner opened it. */
  readonly maker?: SignInSession | undefined;
}

/** Judges a token or spends a one-time link. Answers the launcher token's version and the way in. */
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
  throw new HttpError("invalid_token");
}

/** Asks for the launcher token again: a session left open must not be enough. Missing: 400, wrong: 403 and counted. */
export async function requireTokenConfirmation(
  context: DashboardContext,
  request: FastifyRequest,
  current: unknown,
): Promise<void> {
  if (typeof current !== "string" || current.trim() === "") {
    throw new HttpError("invalid_body", {
      message: 'Type the launcher token again: the field "current" is missing.',
    });
  }
  await verifyToken(context, requestState(request).peer, current, { via: "current" }).catch(
    toForbidden,
  );
}

/** A wrong token inside of an action does not sign anybody out. */
export function toForbidden(error: unknown): never {
  if (!(error instanceof HttpError) || error.code !== "invalid_token") throw error;
  throw new HttpError("invalid_token", { status: 403 });
}
