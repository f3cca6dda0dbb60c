/* What the dashboard's pages and programs of the owner ask, under `/api`. Every request here has passed all checks of
 * the guard: the asker has a session, or sent the launcher token as Bearer. */
import type { FastifyInstance } from "fastify";
import type { DashboardContext } from "../context.ts";
import { maxBodyBytes, requestState } from "../request.ts";
import { connectionRoutes } from "./connections.ts";
import { eventRoutes } from "./events.ts";
import { logRoutes } from "./log.ts";
import { sessionRoutes } from "./sessions.ts";
import { settingsRoutes } from "./settings.ts";
import { tokenRoutes } from "./tokens.ts";

/* `POST /api/signin-links`: makes a one-time link to sign in with another browser. @module */

/** A link of a sign-in ends with it, and so does the sign-in it opens. A Bearer has proved the launcher token. */
export function linkRoutes(app: FastifyInstance, context: DashboardContext): void {
  app.post("/api/signin-links", { bodyLimit: maxBodyBytes }, (request, reply) => {
    const { peer, session } = requestState(request);
    const { link, expiresAt } = context.auth.signInLinks.mint(
      context.auth.tokens.info("launcher").version,
      session,
    );
    const origin = `${peer.secure ? "https" : "http"}://${peer.host}`;
    return reply.header("cache-control", "no-store").send({
      url: `${origin}${context.site.url(`/login?link=${link}`)}`,
      expiresAt: new Date(expiresAt).toISOString(),
      ...(session && { endsAt: new Date(session.expiresAt).toISOString() }),
    });
  });
}

export function apiRoutes(app: FastifyInstance, context: DashboardContext): void {
  tokenRoutes(app, context);
  sessionRoutes(app, context);
  settingsRoutes(app, context);
  linkRoutes(app, context);
  connectionRoutes(app, context);
  logRoutes(app, context);
  eventRoutes(app, context);
}
