/** Ends the block of addresses after wrong tokens. @module */
import type { FastifyInstance } from "fastify";
import { requireTokenConfirmation } from "../auth/credentials.ts";
import type { DashboardContext } from "../context.ts";
import { parseBody, unblockBody } from "../request.ts";

/** @param address - Undefined unblocks all addresses. */
export function unblock(context: DashboardContext, address: string | undefined): void {
  context.http.unblock(address);
  context.observers.activity.unblocked(address);
}

/**
 * Adds `POST /api/unblock`. It needs the launcher token: a stolen cookie must not lift the limit on
 * guesses of that token.
 */
export function unblockRoute(app: FastifyInstance, context: DashboardContext): void {
  app.post("/api/unblock", async (request, reply) => {
    const { address, current } = parseBody(unblockBody, request);
    await requireTokenConfirmation(context, request, current);
    unblock(context, address);
    context.runtime.log.info({ ip: address }, "unblocked in the dashboard");
    return reply.send({ status: "ok" });
  });
}
