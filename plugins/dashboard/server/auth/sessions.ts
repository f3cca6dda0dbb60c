/**
 * Registry of signed-in browsers: creates, finds and ends sign-ins, at most 25 at a time.
 *
 * @module
 */
import { hash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import type { Clock, Scope } from "../../../../kernel/index.ts";
import { SteadyClock } from "../../../../lib/steady-clock.ts";
import type { Http, Identity } from "../../../http/index.ts";
import type { Tokens } from "../../../token-store/index.ts";
import type { ActivityLog } from "../api/activity.ts";
import type { DashboardConfig } from "../config.ts";
import { requestState } from "../request.ts";
import type { DashboardShape } from "../service.ts";
import {
  maxSessions,
  type SessionRecord,
  type SignInMethod,
  type SignInSession,
  type SignOutReason,
} from "./contract.ts";

interface NewSession {
  readonly address: string;
  readonly userAgent: string;
  readonly version: number;
  readonly days: number;
  readonly maker?: SignInSession | undefined;
  readonly ofHost?: boolean;
}

const hourMs = 3_600_000;

const digestOf = (secret: string): string => hash("sha256", secret, "hex");

/** Unused sign-ins go first, then the least recently used one. */
const isEvictedBefore = (a: SignInSession, b: SignInSession): boolean =>
  a.used === b.used ? a.lastUsedAt < b.lastUsedAt : !a.used;

/** @returns The session itself, its maker, the maker of its maker, and so on. */
function makersOf(session: SignInSession | undefined): SignInSession[] {
  const found: SignInSession[] = [];
  for (let each = session; each; each = each.maker) found.push(each);
  return found;
}

/** The signed-in browsers, by the digest of the secret in their cookies. */
export class SignInSessions {
  private readonly scope: Scope<DashboardShape>;
  /** Runs after each change of the list. */
  private readonly onChange: () => void;
  private readonly sessions = new Map<string, SignInSession>();
  private readonly endings = new Set<(signIn: string, reason: SignOutReason) => void>();
  /** Sign-ins end by this clock: no reading of the system clock ends or extends one. */
  private steady: SteadyClock;

  constructor(scope: Scope<DashboardShape>, onChange: () => void) {
    this.scope = scope;
    this.onChange = onChange;
    this.steady = new SteadyClock(scope.clock, scope.clock.now());
  }

  /** Milliseconds until the session ends. */
  leftMs(session: SignInSession): number {
    return session.expiresAt - this.time();
  }

  /** The time by which sign-ins end, to be stored with them. */
  time(): number {
    return this.steady.read();
  }

  /** @returns The new session and the secret of its cookie; undefined if its maker has ended. */
  create(input: NewSession): { session: SignInSession; secret: string } | undefined {
    const { maker } = input;
    this.makeRoom(maker);
    if (maker && !this.isLive(maker)) return undefined;
    const now = this.latest();
    const secret = Buffer.from(this.scope.random(16)).toString("base64url");
    const lifeMs = Math.round(input.days * 86_400_000);
    const until = now + lifeMs;
    const created = {
      digest: digestOf(secret),
      createdAt: now,
      expiresAt: maker ? Math.min(until, maker.expiresAt) : until,
      address: input.address,
      userAgent: input.userAgent.slice(0, 300),
      version: input.version,
      maker,
      ofHost: input.ofHost ?? false,
      restored: false,
      lastUsedAt: now,
      used: false,
    };
    const session = this.add(created, lifeMs);
    this.onChange();
    return { session, secret };
  }

  /** @returns The live session of the secret in a cookie. */
  find(secret: string): SignInSession | undefined {
    const session = this.sessions.get(digestOf(secret));
    return session && this.isLive(session) ? session : undefined;
  }

  /** False, too, while all clocks are before the sign-in: the system clock was ahead then. */
  isLive(session: SignInSession): boolean {
    if (session.endedBy !== undefined) return false;
    if (session.createdAt <= this.latest() && this.leftMs(session) > 0) return true;
    this.closeConnections(session, "expired");
    return false;
  }

  /** @returns Whether a sign-in of this name is live. */
  isSignedIn(signIn: string): boolean {
    return this.list().some((session) => session.signIn === signIn);
  }

  /** Calls the listener when a sign-in has ended. */
  onEnd(ending: (signIn: string, reason: SignOutReason) => void): void {
    this.endings.add(ending);
  }

  touch(session: SignInSession): void {
    session.lastUsedAt = this.scope.clock.now();
    session.used = true;
  }

  /** Ends a session and the sessions that its links opened. */
  end(session: SignInSession, reason: SignOutReason): void {
    if (!this.sessions.delete(session.digest)) return;
    session.cancelExpiry();
    session.endedBy = reason;
    this.closeConnections(session, reason);
    const { signIn } = session;
    this.scope.log.info({ signIn, reason }, "signed out");
    this.scope.emit("dashboard:signed-out", { signIn, reason });
    for (const ending of this.endings) ending(signIn, reason);
    const inherited = reason === "rotated" || reason === "expired" ? reason : "maker-ended";
    for (const other of this.sessions.values())
      if (other.maker === session) this.end(other, inherited);
    this.onChange();
  }

  /** Ends every session that an earlier version of the launcher token opened. */
  endBefore(version: number): void {
    for (const session of this.sessions.values())
      if (session.version < version) this.end(session, "rotated");
  }

  list(): SignInSession[] {
    return this.all().filter((session) => this.isLive(session));
  }

  /** Includes those that began while the system clock was ahead. */
  all(): SignInSession[] {
    return [...this.sessions.values()];
  }

  /**
   * @returns The sign-ins to store. Those of a host, and those that depend on one, are left out.
   */
  records(): SessionRecord[] {
    return this.all()
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
      }));
  }

  /**
   * Adds stored sign-ins. As in `records`, makers precede their sessions.
   *
   * @param time - The stored time by which they end; undefined without a file.
   */
  restore(records: readonly SessionRecord[], version: number, time: number | undefined): void {
    if (records.length > 0 && time !== undefined)
      this.steady = new SteadyClock(this.scope.clock, time);
    for (const { maker: digest, ...record } of records) {
      const maker = digest === undefined ? undefined : this.sessions.get(digest);
      if (this.sessions.has(record.digest) || (digest !== undefined && !maker)) continue;
      this.add({ ...record, version, maker, ofHost: false, restored: true });
    }
  }

  private add(
    input: Omit<SignInSession, "signIn" | "pageOrigins" | "ended" | "cancelExpiry" | "endedBy">,
    lifeMs = input.expiresAt - input.createdAt,
  ): SignInSession {
    const session: SignInSession = {
      ...input,
      signIn: input.digest.slice(0, 8),
      pageOrigins: new Set(),
      ended: new Set(),
      endedBy: undefined,
      cancelExpiry: () => undefined,
    };
    this.sessions.set(session.digest, session);
    this.watch(session, this.scope.clock.monotonic() + lifeMs);
    return session;
  }

  private closeConnections(session: SignInSession, reason: SignOutReason): void {
    for (const ended of session.ended) ended(reason);
    session.ended.clear();
  }

  /** The latest clock: the system clock may have been set back. */
  private latest(): number {
    return Math.max(this.scope.clock.now(), this.time());
  }

  /**
   * Ends a session when its time has come, or the monotonic clock has reached `endsAt`: it may have
   * begun while the system clock was ahead.
   */
  private watch(session: SignInSession, endsAt: number): void {
    const { after, clock } = this.scope;
    const left = Math.min(endsAt - clock.monotonic(), this.leftMs(session));
    if (left <= 0) return this.end(session, "expired");
    session.cancelExpiry = after(Math.min(hourMs, left), () => {
      // Stores the time, so that a crash does not extend a sign-in.
      this.onChange();
      this.watch(session, endsAt);
    });
  }

  /** Spares the makers of the new session as long as other sessions can end. */
  private makeRoom(maker: SignInSession | undefined): void {
    while (this.sessions.size >= maxSessions) {
      const makers = makersOf(maker);
      const evicted = this.firstEvicted(makers) ?? this.firstEvicted([]);
      if (evicted) this.end(evicted, "evicted");
    }
  }

  private firstEvicted(spared: readonly SignInSession[]): SignInSession | undefined {
    let first: SignInSession | undefined;
    for (const session of this.sessions.values())
      if (!spared.includes(session) && (!first || isEvictedBefore(session, first))) first = session;
    return first;
  }
}

/** @returns The session for other plugins: its name and its end, without the secret. */
export function toIdentity(session: SignInSession): Identity {
  return {
    id: session.signIn,
    owner: true,
    onEnd(ended) {
      session.ended.add(ended);
      return () => void session.ended.delete(ended);
    },
  };
}

/** End of a credential on two clocks. */
export interface Expiry {
  /** Unix milliseconds. */
  readonly until: number;
  /** Milliseconds of the monotonic clock. */
  readonly untilPassed: number;
}

export const expiresIn = (clock: Clock, ms: number): Expiry => ({
  until: clock.now() + ms,
  untilPassed: clock.monotonic() + ms,
});

/**
 * True until either clock reaches the end. Setting the system clock back, and suspending the
 * machine, which stops the monotonic clock on many systems, extend no credential.
 */
export const isUnexpired = (clock: Clock, { until, untilPassed }: Expiry): boolean =>
  clock.now() < until && clock.monotonic() < untilPassed;

/** The parts of the dashboard that receive a sign-in. */
interface SignInReceivers {
  readonly observers: { readonly activity: Pick<ActivityLog, "signedIn"> };
  readonly runtime: Pick<Scope<DashboardShape>, "log" | "emit">;
}

/** The parts of the dashboard that open the session of a host. */
interface HostSessionContext extends SignInReceivers {
  readonly http: Pick<Http, "identityOf">;
  readonly auth: {
    readonly sessions: SignInSessions;
    readonly tokens: Pick<Tokens, "info">;
    config(): DashboardConfig;
  };
}

/** Adds a sign-in to the list of the overview and to the log, and emits its event. */
export function reportSignIn(
  { observers, runtime }: SignInReceivers,
  { signIn, createdAt, address }: SignInSession,
  via: SignInMethod,
): void {
  observers.activity.signedIn({ at: createdAt, address, via });
  runtime.log.info({ signIn, ip: address, via }, "signed in");
  runtime.emit("dashboard:signed-in", { signIn, address, via });
}

/**
 * Sessions of users whom an embedding host identifies as owners. They have no cookie of the
 * dashboard and end with the session of the host.
 */
export class HostSessions {
  /** Session id of the host to its session here. */
  private readonly known = new Map<string, SignInSession>();

  sessionOf(context: HostSessionContext, request: FastifyRequest): SignInSession | undefined {
    const found = context.http.identityOf(request.raw);
    if (found?.kind !== "owner") return undefined;
    const session = this.known.get(found.identity.id);
    return session && context.auth.sessions.isLive(session)
      ? session
      : this.open(context, request, found.identity);
  }

  private open(
    context: HostSessionContext,
    request: FastifyRequest,
    { id, onEnd }: Identity,
  ): SignInSession | undefined {
    const { known } = this;
    const { sessions, tokens, config } = context.auth;
    const session = sessions.create({
      address: requestState(request).peer.address,
      userAgent: request.headers["user-agent"] ?? "",
      version: tokens.info("launcher").version,
      days: config().session_days,
      ofHost: true,
    })?.session;
    if (!session) return undefined;
    known.set(id, session);
    const release = onEnd(() => sessions.end(session, "sign-out"));
    session.ended.add(() => {
      release();
      if (known.get(id) === session) known.delete(id);
    });
    reportSignIn(context, session, "host");
    return session;
  }
}
