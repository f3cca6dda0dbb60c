/** Endpoint with the times of the newest requests. @module */
import type { FastifyInstance } from "fastify";
import type { DashboardContext } from "../context.ts";
import { parseQuery, requestsQuery } from "../request.ts";
import type { RequestsView } from "../../shared/conversation-views.ts";

/** Adds `GET /api/requests`. */
export function requestRoutes(app: FastifyInstance, context: DashboardContext): void {
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
    return reply.header("cache-control", "no-store").send({ requests } satisfies RequestsView);
  });
}
