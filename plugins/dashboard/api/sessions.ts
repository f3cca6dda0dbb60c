/** `GET /api/sessions`, `DELETE /api/sessions/:id`, `DELETE /api/sessions`: lists and ends sign-ins. @module */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { clearSession } from "../access.ts";
import { currentBody, parseBody } from "../bodies.ts";
import { seen, type Door } from "../door.ts";
import { Refusal } from "../errors.ts";
import type { Session } from "../sessions.ts";
import { requireCurrent } from "./current.ts";
import type { SessionView } from "./views.ts";

/** The newest first. */
export function sessionList({ sessions }: Door, own?: Session): SessionView[] {
  return sessions
    .list()
    .reverse()
    .map((session) => {
      const { signIn: id, createdAt, lastUsedAt, expiresAt, address, userAgent, maker } = session;
      return {
        id,
        createdAt,
        lastUsedAt,
        expiresAt,
        address,
        userAgent,
        current: session === own,
        ...(maker && { maker: maker.signIn }),
      };
    });
}

function sessionNamed({ sessions }: Door, id: string): Session {
  const session = sessions.list().find(({ signIn }) => signIn === id);
  if (session) return session;
  throw new Refusal("not_found", {
    message: "There is no such session; it may have ended already.",
  });
}

export function revokeSession(door: Door, id: string): Session {
  const session = sessionNamed(door, id);
  door.sessions.end(session, "revoked");
  return session;
}

/** A stolen cookie must not be enough to sign other browsers out. A Bearer is the launcher token itself. */
async function requireToken(door: Door, request: FastifyRequest): Promise<void> {
  if (seen(request).session === undefined) return;
  await requireCurrent(door, request, parseBody(currentBody, request)?.current);
}

export function sessionRoutes(app: FastifyInstance, door: Door): void {
  app.get("/api/sessions", (request, reply) =>
    reply
      .header("cache-control", "no-store")
      .send({ sessions: sessionList(door, seen(request).session) }),
  );
  app.delete<{ Params: { id: string } }>("/api/sessions/:id", async (request, reply) => {
    const { id } = request.params;
    const { session: own } = seen(request);
    if (sessionNamed(door, id) !== own) await requireToken(door, request);
    if (revokeSession(door, id) === own) clearSession(door, request, reply);
    await door.keeper.settled();
    return reply.header("cache-control", "no-store").send({ status: "ok" });
  });
  app.delete("/api/sessions", async (request, reply) => {
    await requireToken(door, request);
    const { session: own } = seen(request);
    const others = door.sessions.list().filter((session) => session !== own);
    for (const session of others) door.sessions.end(session, "revoked");
    await door.keeper.settled();
    return reply.header("cache-control", "no-store").send({ ended: others.length });
  });
}
