import type { FastifyInstance } from "fastify";
import { clearSession } from "../access.ts";
import { seen, type Door } from "../door.ts";
import { Refusal } from "../errors.ts";
import type { Session } from "../sessions.ts";
import type { SessionView } from "./views.ts";

/** The newest first. */
export function sessionList({ sessions }: Door, own?: Session): SessionView[] {
  return sessions
    .list()
    .reverse()
    .map((session) => {
      const { signIn: id, createdAt, lastUsedAt, expiresAt, address, userAgent } = session;
      return { id, createdAt, lastUsedAt, expiresAt, address, userAgent, current: session === own };
    });
}

export function revokeSession({ sessions }: Door, id: string): Session {
  const session = sessions.list().find(({ signIn }) => signIn === id);
  if (!session)
    throw new Refusal("not_found", {
      message: "There is no such session; it may have ended already.",
    });
  sessions.end(session, "revoked");
  return session;
}

/** `GET /api/sessions`, `DELETE /api/sessions/:id`, `DELETE /api/sessions`. */
export function sessionRoutes(app: FastifyInstance, door: Door): void {
  app.get("/api/sessions", (request, reply) =>
    reply
      .header("cache-control", "no-store")
      .send({ sessions: sessionList(door, seen(request).session) }),
  );
  app.delete<{ Params: { id: string } }>("/api/sessions/:id", (request, reply) => {
    const ended = revokeSession(door, request.params.id);
    if (ended === seen(request).session) clearSession(door, request, reply);
    return reply.header("cache-control", "no-store").send({ status: "ok" });
  });
  app.delete("/api/sessions", (request, reply) => {
    const others = door.sessions.list().filter((session) => session !== seen(request).session);
    for (const session of others) door.sessions.end(session, "revoked");
    return reply.header("cache-control", "no-store").send({ ended: others.length });
  });
}
