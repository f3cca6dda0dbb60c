/** The registry of signed-in browsers: creates, finds and ends sign-ins, and keeps at most 25 of them. @module */
import { hash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import type { Clock, Release } from "../../../kernel/index.ts";
import type { Identity } from "../../http/index.ts";
import type { DashboardContext } from "../context.ts";
import { requestState } from "../request.ts";

export type SignOutReason =
  | "sign-out"
  | "revoked"
  | "expired"
  | "evicted"
  | "rotated"
  | "replaced"
  | "maker-ended";

export interface SignInSession {
  /** SHA-256 of the secret part of the cookie, in hex. The secret itself is only in the browser. */
  readonly digest: string;
  /** First 8 hex digits of the digest: names the session in events, logs and lists. */
  readonly signIn: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly address: string;
  readonly userAgent: string;
  /** Version of the launcher token that opened it. */
  readonly version: number;
  /** The sign-in whose link opened this one; it ends when its maker ends. Absent after proof of the launcher token. */
  readonly maker: SignInSession | undefined;
  /** A host's own session check opened it: it is never stored. */
  readonly ofHost: boolean;
  /** It began before this start. */
  readonly restored: boolean;
  lastUsedAt: number;
  used: boolean;
  readonly ended: Set<(reason: string) => void>;
  /** Absent while it lives. */
  endedBy?: SignOutReason;
  cancelExpiry: Release;
}

export interface NewSession {
  readonly address: string;
  readonly userAgent: string;
  readonly version: number;
  readonly days: number;
  readonly maker?: SignInSession | undefined;
  readonly ofHost?: boolean;
}

/** A sign-in as it is stored between two starts: without the secret of its cookie. */
export interface SessionRecord {
  readonly digest: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly lastUsedAt: number;
  readonly used: boolean;
  readonly address: string;
  readonly userAgent: string;
  /** Digest of the maker. */
  readonly maker?: string | undefined;
}

export interface SessionOptions {
  readonly clock: Clock;
  readonly random: (bytes: number) => Uint8Array;
  readonly after: (ms: number, run: () => void) => Release;
  /** Called after each change of the list. */
  readonly onChange: () => void;
  readonly onEnd: (session: SignInSession, reason: SignOutReason) => void;
}

/** When another sign-in is created beyond this number, the least recently used one ends. */
export const maxSessions = 25;
/** Longest delay a Node timer takes. */
const maxDelayMs = 2 ** 31 - 1;

const digestOf = (secret: string): string => hash("sha256", secret, "hex");

/** Unused sign-ins go first, then the least recently used one. */
const isEvictedBefore = (a: SignInSession, b: SignInSession): boolean =>
  a.used === b.used ? a.lastUsedAt < b.lastUsedAt : !a.used;

/** The session itself, its maker, and so on. */
function makersOf(session: SignInSession | undefined): SignInSession[] {
  const found: SignInSession[] = [];
  for (let each = session; each; each = each.maker) found.push(each);
  return found;
}

export type SignInSessions = ReturnType<typeof createSignInSessions>;

export function createSignInSessions({ clock, random, after, onChange, onEnd }: SessionOptions) {
  const sessions = new Map<string, SignInSession>();

  function end(session: SignInSession, reason: SignOutReason): void {
    if (!sessions.delete(session.digest)) return;
    session.cancelExpiry();
    session.endedBy = reason;
    for (const ended of session.ended) ended(reason);
    session.ended.clear();
    onEnd(session, reason);
    const inherited = reason === "rotated" || reason === "expired" ? reason : "maker-ended";
    for (const other of [...sessions.values()]) if (other.maker === session) end(other, inherited);
    onChange();
  }
  /** Timers follow elapsed time, so that a clock which is set back lengthens no session. */
  function endIn(ms: number, session: SignInSession): void {
    const delay = Math.min(maxDelayMs, ms);
    session.cancelExpiry = after(delay, () => {
      const left = Math.min(ms - delay, session.expiresAt - clock.now());
      if (left > 0) endIn(left, session);
      else end(session, "expired");
    });
  }
  /** Spares the makers of the session to come, as long as others can go. */
  function makeRoom(maker: SignInSession | undefined): void {
    const makers = new Set(makersOf(maker));
    while (sessions.size >= maxSessions) {
      const others = [...sessions.values()].filter((session) => !makers.has(session));
      const candidates = others.length > 0 ? others : [...sessions.values()];
      const first = candidates.reduce((a, b) => (isEvictedBefore(b, a) ? b : a));
      end(first, "evicted");
    }
  }
  function add(
    by: Omit<SignInSession, "signIn" | "ended" | "cancelExpiry" | "endedBy">,
  ): SignInSession {
    const session: SignInSession = {
      ...by,
      signIn: by.digest.slice(0, 8),
      ended: new Set(),
      cancelExpiry: () => undefined,
    };
    sessions.set(session.digest, session);
    endIn(session.expiresAt - clock.now(), session);
    return session;
  }
  /** Ends a session that is past its expiry, also when its timer has not run yet. */
  function isLive(session: SignInSession): boolean {
    const now = clock.now();
    if (now >= session.expiresAt) end(session, "expired");
    return session.endedBy === undefined && session.createdAt <= now;
  }

  return {
    /** The new session and the secret of its cookie; undefined when its maker has ended. */
    create(by: NewSession): { session: SignInSession; secret: string } | undefined {
      const { maker } = by;
      makeRoom(maker);
      if (maker && !isLive(maker)) return undefined;
      const now = clock.now();
      const secret = Buffer.from(random(16)).toString("base64url");
      const until = now + Math.round(by.days * 86_400_000);
      const session = add({
        digest: digestOf(secret),
        createdAt: now,
        expiresAt: maker ? Math.min(until, maker.expiresAt) : until,
        address: by.address,
        userAgent: by.userAgent.slice(0, 300),
        version: by.version,
        maker,
        ofHost: by.ofHost ?? false,
        restored: false,
        lastUsedAt: now,
        used: false,
      });
      onChange();
      return { session, secret };
    },
    /** The live session of a cookie's secret: begun, not expired, not ended. */
    find(secret: string): SignInSession | undefined {
      const session = sessions.get(digestOf(secret));
      return session && isLive(session) ? session : undefined;
    },
    isLive,
    touch(session: SignInSession): void {
      session.lastUsedAt = clock.now();
      session.used = true;
    },
    end,
    /** Ends every session that an older token opened. */
    endBefore(version: number): void {
      for (const session of [...sessions.values()])
        if (session.version < version) end(session, "rotated");
    },
    list: (): SignInSession[] => [...sessions.values()],
    /** What can be stored: not the sign-ins of a host, nor those that depend on one. */
    records: (): SessionRecord[] =>
      [...sessions.values()]
        .filter((session) => !makersOf(session).some(({ ofHost }) => ofHost))
        .map(({ maker, ...session }) => ({
          digest: session.digest,
          createdAt: session.createdAt,
          expiresAt: session.expiresAt,
          lastUsedAt: session.lastUsedAt,
          used: session.used,
          address: session.address,
          userAgent: session.userAgent,
          ...(maker && { maker: maker.digest }),
        })),
    /** Adds stored sign-ins that still live. Makers come before what they made, as in `records`. */
    restore(records: readonly SessionRecord[], version: number): void {
      const now = clock.now();
      for (const { maker: digest, ...record } of records) {
        const maker = digest === undefined ? undefined : sessions.get(digest);
        const isDue = record.createdAt <= now && now < record.expiresAt;
        if (!isDue || sessions.has(record.digest) || (digest !== undefined && !maker)) continue;
        add({ ...record, version, maker, ofHost: false, restored: true });
      }
    },
  };
}

/** The session as other plugins see it: its name and its end, without the secret. */
export function toIdentity(session: SignInSession): Identity {
  return {
    id: session.signIn,
    onEnd(ended) {
      session.ended.add(ended);
      return () => void session.ended.delete(ended);
    },
  };
}

/** Until when something opens a door: in Unix milliseconds, and in milliseconds that pass. */
export interface Expiry {
  readonly until: number;
  readonly untilPassed: number;
}

export const expiresIn = (clock: Clock, ms: number): Expiry => ({
  until: clock.now() + ms,
  untilPassed: clock.monotonic() + ms,
});

/** By both: a clock that is set back lengthens no life, and a sleep of the machine, which many systems do not count as
 *  time that passes, does not either. */
export const isUnexpired = (clock: Clock, { until, untilPassed }: Expiry): boolean =>
  clock.now() < until && clock.monotonic() < untilPassed;

/** Sessions of those whom the host's own check calls owners: they have no cookie of ours, and end with the host's. */
export interface HostSessions {
  sessionOf(context: DashboardContext, request: FastifyRequest): SignInSession | undefined;
}

export function createHostSessions(): HostSessions {
  /** The host's id -> its session here. */
  const known = new Map<string, SignInSession>();

  function open(
    context: DashboardContext,
    request: FastifyRequest,
    { id, onEnd }: Identity,
  ): SignInSession | undefined {
    const { address } = requestState(request).peer;
    const { session_days: days } = context.auth.config();
    const userAgent = request.headers["user-agent"] ?? "";
    const { version } = context.auth.tokens.info("launcher");
    const by = { address, userAgent, version, days, ofHost: true };
    const session = context.auth.sessions.create(by)?.session;
    if (!session) return undefined;
    known.set(id, session);
    const release = onEnd(() => context.auth.sessions.end(session, "sign-out"));
    session.ended.add(() => {
      release();
      if (known.get(id) === session) known.delete(id);
    });
    context.observers.activity.signedIn({ at: session.createdAt, address, via: "host" });
    context.runtime.log.info({ signIn: session.signIn, ip: address, via: "host" }, "signed in");
    context.runtime.emit("dashboard:signed-in", { signIn: session.signIn, address, via: "host" });
    return session;
  }

  return {
    sessionOf(context, request) {
      const found = context.http.identityOf(request.raw);
      if (found?.kind !== "owner") return undefined;
      const session = known.get(found.identity.id);
      return session && context.auth.sessions.isLive(session)
        ? session
        : open(context, request, found.identity);
    },
  };
}
