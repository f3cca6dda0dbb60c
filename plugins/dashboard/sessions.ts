import { hash } from "node:crypto";
import type { Clock, Release } from "../../kernel/index.ts";
import type { Identity } from "../http/index.ts";

export type SignOutReason = "sign-out" | "revoked" | "expired" | "evicted" | "rotated";

export interface Session {
  /** The secret part of the cookie: 16 random bytes. */
  readonly id: string;
  /** 8 hex digits of the id's digest: names the session in events, logs and lists. */
  readonly signIn: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly address: string;
  readonly userAgent: string;
  /** Version of the launcher token that opened it. */
  readonly version: number;
  lastUsedAt: number;
  used: boolean;
  readonly ended: Set<(reason: string) => void>;
  /** Absent while it lives. */
  endedBy?: SignOutReason;
  cancelExpiry: Release;
}

export interface SessionOptions {
  readonly clock: Clock;
  readonly random: (bytes: number) => Uint8Array;
  readonly after: (ms: number, run: () => void) => Release;
  readonly onEnd: (session: Session, reason: SignOutReason) => void;
}

/** More than this and the least recently used one leaves. */
const MAX_SESSIONS = 25;
/** Longest delay a Node timer takes. */
const MAX_DELAY = 2 ** 31 - 1;

/** One that was never used goes first, then the longest unused. */
const leavesBefore = (a: Session, b: Session): boolean =>
  a.used === b.used ? a.lastUsedAt < b.lastUsedAt : !a.used;

export type Sessions = ReturnType<typeof createSessions>;

/** Signed-in browsers, in memory only: a restart ends them all. */
export function createSessions({ clock, random, after, onEnd }: SessionOptions) {
  const sessions = new Map<string, Session>();

  function end(session: Session, reason: SignOutReason): void {
    if (!sessions.delete(session.id)) return;
    session.cancelExpiry();
    session.endedBy = reason;
    for (const ended of session.ended) ended(reason);
    session.ended.clear();
    onEnd(session, reason);
  }
  /** Timers follow elapsed time, so that a clock which is set back lengthens no session. */
  function endIn(ms: number, session: Session): void {
    const delay = Math.min(MAX_DELAY, ms);
    session.cancelExpiry = after(delay, () => {
      const left = Math.min(ms - delay, session.expiresAt - clock.now());
      if (left > 0) endIn(left, session);
      else end(session, "expired");
    });
  }
  function makeRoom(): void {
    while (sessions.size >= MAX_SESSIONS) {
      end(
        [...sessions.values()].reduce((first, next) => (leavesBefore(next, first) ? next : first)),
        "evicted",
      );
    }
  }

  return {
    create(by: { address: string; userAgent: string; version: number; days: number }): Session {
      makeRoom();
      const now = clock.now();
      const id = Buffer.from(random(16)).toString("base64url");
      const session: Session = {
        id,
        signIn: hash("sha256", id, "hex").slice(0, 8),
        createdAt: now,
        expiresAt: now + Math.round(by.days * 86_400_000),
        address: by.address,
        userAgent: by.userAgent.slice(0, 300),
        version: by.version,
        lastUsedAt: now,
        used: false,
        ended: new Set(),
        cancelExpiry: () => undefined,
      };
      sessions.set(id, session);
      endIn(session.expiresAt - now, session);
      return session;
    },
    /** The live session of an id: begun, not expired, not ended. */
    find(id: string): Session | undefined {
      const session = sessions.get(id);
      const now = clock.now();
      if (session && now >= session.expiresAt) end(session, "expired");
      return session && session.createdAt <= now && now < session.expiresAt ? session : undefined;
    },
    touch(session: Session): void {
      session.lastUsedAt = clock.now();
      session.used = true;
    },
    end,
    /** Ends every session that an older token opened. */
    endBefore(version: number): void {
      for (const session of [...sessions.values()])
        if (session.version < version) end(session, "rotated");
    },
    list: (): Session[] => [...sessions.values()],
  };
}

/** The session as others may know it: a name, and when it ends. */
export function identityOf(session: Session): Identity {
  return {
    id: session.signIn,
    onEnd(ended) {
      session.ended.add(ended);
      return () => void session.ended.delete(ended);
    },
  };
}
