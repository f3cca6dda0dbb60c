/**
 * The JSON API under `/api`. Every request has passed all checks of the guard: it has a session or
 * carries the launcher token as Bearer.
 *
 * @module
 */
import type { FastifyInstance } from "fastify";
import type { DashboardContext } from "../context.ts";
import { parseQuery, requestsQuery, requestState } from "../request.ts";
import { askRoutes } from "./ask.ts";
import { connectionRoutes } from "./connections.ts";
import { consoleMessageRoutes } from "./console-messages.ts";
import { conversationRoutes } from "./conversations.ts";
import { decisionRoutes } from "./decisions.ts";
import { handshakeRoute } from "./handshake.ts";
import { eventRoutes } from "./events.ts";
import { figuresRoute } from "./figures.ts";
import { questionRoutes } from "./questions.ts";
import { keyRoutes } from "./keys.ts";
import { logRoutes } from "./log.ts";
import { mediaRoutes } from "./media.ts";
import { sessionRoutes } from "./sessions.ts";
import { settingsRoutes } from "./settings.ts";
import { tokenRoutes } from "./tokens.ts";
import { unblockRoute } from "./unblock.ts";
import { refuse, required } from "../errors.ts";
import type { RequestsView } from "../../shared/conversation-views.ts";

/**
 * Adds `POST /api/signin-links`, which creates a one-time link for another browser, and
 * `DELETE /api/signin-links`, which invalidates the links of the requester.
 *
 * When the requesting sign-in ends, the link and the sign-in that it opened end too. A link for a
 * Bearer has no such dependency.
 */
function linkRoutes(app: FastifyInstance, context: DashboardContext): void {
  app.post("/api/signin-links", (request, reply) => {
    const { peer, session } = requestState(request);
    const { link, expiresAt } = context.auth.signInLinks.mint(
      context.auth.tokens.info("launcher").version,
      session,
    );
    const origin = `${peer.secure ? "https" : "http"}://${peer.host}`;
    return reply.send({
      url: `${origin}${context.site.url(`/login?link=${link}`)}`,
      expiresAt: new Date(expiresAt).toISOString(),
      ...(session && { endsAt: new Date(session.expiresAt).toISOString() }),
    });
  });
  app.delete("/api/signin-links", (request, reply) => {
    context.auth.signInLinks.cancel(requestState(request).session);
    return reply.send({ status: "ok" });
  });
}

export function apiRoutes(app: FastifyInstance, context: DashboardContext): void {
  tokenRoutes(app, context);
  if (context.services.keys) keyRoutes(app, context);
  if (context.services.decisions) decisionRoutes(app, context);
  sessionRoutes(app, context);
  settingsRoutes(app, context);
  linkRoutes(app, context);
  unblockRoute(app, context);
  connectionRoutes(app, context);
  conversationRoutes(app, context);
  questionRoutes(app, context);
  askRoutes(app, context);
  consoleMessageRoutes(app, context);
  mediaRoutes(app, context);
  programRoutes(app, context);
  handshakeRoute(app, context);
  logRoutes(app, context);
  eventRoutes(app, context);
  figuresRoute(app, context.observers.figures);
  requestRoutes(app, context);
}

/** Adds `POST /api/program/restart` and `GET /api/application`. */
function programRoutes(app: FastifyInstance, { services }: DashboardContext): void {
  app.get("/api/application", (_request, reply) => {
    const application = services.channels?.applicationStatus();
    return reply.send(application ? { application } : {});
  });
  app.post("/api/program/restart", (_request, reply) => {
    if (!required(services.program, "The application is not a program.").restart())
      throw refuse("busy", { message: "The program is already ending." });
    return reply.send({ status: "ok" });
  });
}

/** Adds `GET /api/requests`. */
function requestRoutes(app: FastifyInstance, context: DashboardContext): void {
  app.get("/api/requests", (request, reply) => {
    const { session, id } = parseQuery(requestsQuery, request);
    const times = context.services.channels?.times() ?? [];
    const requests = times
      .filter((one) => session === undefined || one.session === session)
      .filter((one) => id === undefined || one.id === id)
      .toReversed()
      .map(({ protocol, ...one }) => ({
        ...one,
        ...(protocol !== undefined && { door: protocol }),
      }));
    return reply.send({ requests } satisfies RequestsView);
  });
}
