import type { FastifyRequest } from "fastify";
import type { Identity } from "../http/index.ts";
import { seen, type Door } from "./door.ts";
import type { Session } from "./sessions.ts";

/** Sessions of those whom the host's own check calls owners: they have no cookie of ours, and end with the host's. */
export interface HostSessions {
  sessionOf(door: Door, request: FastifyRequest): Session | undefined;
}

export function createHostSessions(): HostSessions {
  /** The host's id -> id of the session. */
  const known = new Map<string, string>();

  function open(door: Door, request: FastifyRequest, { id, onEnd }: Identity): Session {
    const { address } = seen(request).peer;
    const { session_days: days } = door.config();
    const userAgent = request.headers["user-agent"] ?? "";
    const { version } = door.tokens.info("launcher");
    const session = door.sessions.create({ address, userAgent, version, days });
    known.set(id, session.id);
    const release = onEnd(() => door.sessions.end(session, "sign-out"));
    session.ended.add(() => {
      release();
      if (known.get(id) === session.id) known.delete(id);
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
      return (
        door.sessions.find(known.get(found.identity.id) ?? "") ??
        open(door, request, found.identity)
      );
    },
  };
}
