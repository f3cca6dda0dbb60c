/** Endpoint that lists who has decided what. @module */
import type { FastifyInstance } from "fastify";
import type { DecisionList } from "../../../decisions/index.ts";
import type { DashboardContext } from "../context.ts";
import { required } from "../errors.ts";
import { decisionsQuery, parseValues } from "../request.ts";

const weekMs = 7 * 86_400_000;

/** @param values - `since` in Unix milliseconds (seven days ago) and `limit`. */
export function decisionsView(
  { services, auth }: DashboardContext,
  values: unknown,
): Promise<DecisionList> {
  const { since = auth.clock.now() - weekMs, limit } = parseValues(decisionsQuery, values);
  const service = required(services.decisions, "This deployment lists no decisions.");
  return service.list({ since, ...(limit !== undefined && { limit }) });
}

/** Adds `GET /api/decisions`. */
export function decisionRoutes(app: FastifyInstance, context: DashboardContext): void {
  app.get("/api/decisions", async (request, reply) =>
    reply.send(await decisionsView(context, request.query)),
  );
}
