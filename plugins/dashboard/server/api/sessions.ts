/** Endpoints that list and end sign-ins. @module */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { clearSession } from "../auth/cookies.ts";
import { currentBody, parseBody, requestState } from "../request.ts";
import { type AuthContext, type DashboardContext } from "../context.ts";
import { required } from "../errors.ts";
import type { SignInSession } from "../auth/contract.ts";
import { requireTokenConfirmation } from "../auth/credentials.ts";
import type { SessionView } from "../../shared/views.ts";

/**
 * Lists the sign-ins, newest first.
 *
 * @param current - The session of the request, which is marked as current.
 */
export function sessionList({ sessions }: AuthContext, current?: SignInSession): SessionView[] {
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
        current: session === current,
        ...(maker && { maker: maker.signIn }),
      };
    });
}

function sessionNamed({ sessions }: AuthContext, id: string): SignInSession {
  const session = sessions.list().find(({ signIn }) => signIn === id);
  return required(session, "No sign-in has this id; it may have ended already.");
}

/** @throws not_found if no sign-in has this id. */
export function revokeSession(auth: AuthContext, id: string): SignInSession {
  const session = sessionNamed(auth, id);
  auth.sessions.end(session, "revoked");
  return session;
}

/**
 * Prevents a stolen cookie from signing out other browsers. A Bearer is already the launcher token.
 */
async function requireToken(context: DashboardContext, request: FastifyRequest): Promise<void> {
  if (requestState(request).session === undefined) return;
  await requireTokenConfirmation(context, request, parseBody(currentBody, request)?.current);
}

/** Adds `GET /api/sessions`, `DELETE /api/sessions/:id` and `DELETE /api/sessions`. */
export function sessionRoutes(app: FastifyInstance, context: DashboardContext): void {
  app.get("/api/sessions", (request, reply) =>
    reply.send({ sessions: sessionList(context.auth, requestState(request).session) }),
  );
  app.delete<{ Params: { id: string } }>("/api/sessions/:id", async (request, reply) => {
    const { id } = request.params;
    const { session: current } = requestState(request);
    if (sessionNamed(context.auth, id) !== current) await requireToken(context, request);
    if (revokeSession(context.auth, id) === current) clearSession(context, request, reply);
    await context.auth.keeper.settled();
    return reply.send({ status: "ok" });
  });
  app.delete("/api/sessions", async (request, reply) => {
    await requireToken(context, request);
    const { session: current } = requestState(request);
    const others = context.auth.sessions.all().filter((session) => session !== current);
    for (const session of others) context.auth.sessions.end(session, "revoked");
    await context.auth.keeper.settled();
    return reply.send({ ended: others.length });
  });
}
