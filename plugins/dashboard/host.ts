import type { FastifyRequest } from "fastify";
import type { Identity } from "../http/index.ts";
import { requestState, type DashboardContext } from "./door.ts";
import type { SignInSession } from "./sessions.ts";

/** Sessions of those whom the host's own check calls owners: they have no cookie of ours, and end with the host's. */
export interface HostSessions {
  sessionOf(door: DashboardContext, request: FastifyRequest): SignInSession | undefined;
}

export function createHostSessions(): HostSessions {
  /** The host's id -> its session here. */
  const known = new Map<string, SignInSession>();

  function open(
    door: DashboardContext,
    request: FastifyRequest,
    { id, onEnd }: Identity,
  ): SignInSession | undefined {
    const { address } = requestState(request).peer;
    const { session_days: days } = door.config();
    const userAgent = request.headers["user-agent"] ?? "";
    const { version } = door.tokens.info("launcher");
    const by = { address, userAgent, version, days, ofHost: true };
    const session = door.sessions.create(by)?.session;
    if (!session) return undefined;
    known.set(id, session);
    const release = onEnd(() => door.sessions.end(session, "sign-out"));
    session.ended.add(() => {
      release();
      if (known.get(id) === session) known.delete(id);
    });
    door.activity.signedIn({ at: session.createdAt, address, via: "host" });
    door.log.info({ signIn: session.signIn, ip: address, via: "host" }, "signed in");
    door.emit("dashboard:signed-in", { signIn: session.signIn, address, via: "host" });
    return session;
  }

  return {
    sessionOf(door, request) {
      const found = door.http.who(request.raw);
      if (found?.kind !== "owner") return undefined;
      const session = known.get(found.identity.id);
      return session && door.sessions.isLive(session)
        ? session
        : open(door, request, found.identity);
    },
  };
}
