/** Explains to a page why its WebSocket did not open. @module */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { explainOrigin, explainPage } from "../auth/page-sign-in.ts";
import type { DashboardContext } from "../context.ts";
import { requestState } from "../request.ts";
import { toRejectedConnection } from "../../shared/rejections.ts";
import type { HandshakeView, RejectionView } from "../../shared/views.ts";

/** A page asks right after its handshake, which takes at most 5 s. */
const recentMs = 10_000;

/** @returns The latest rejection of a page of this address and origin, if it is recent. */
export function recentRejection(
  { auth, observers }: DashboardContext,
  request: FastifyRequest,
): RejectionView | undefined {
  const since = auth.clock.now() - recentMs;
  const { address } = requestState(request).peer;
  const { origin: own } = request.headers;
  return observers.activity
    .clientRefusals()
    .find(
      ({ at, via, origin = own, ...row }) =>
        row.address === address && origin === own && via === "none" && at >= since,
    );
}

/**
 * Adds `POST /api/handshake`. The browser sends its origin with the request, which the sign-in
 * remembers, so the next handshake of the page may succeed. The response is then empty.
 */
export function handshakeRoute(app: FastifyInstance, context: DashboardContext): void {
  app.post("/api/handshake", (request, reply) => {
    const { peer } = requestState(request);
    const why = explainPage(context, request.raw, peer);
    if (why !== undefined)
      return reply.send({ code: "sign_in_rejected", why } satisfies HandshakeView);
    const rejection = recentRejection(context, request);
    if (!rejection || rejection.why === explainOrigin(request.headers.origin ?? "", peer))
      return reply.send({}); // from now on, the origin is known
    const { title, fix } = toRejectedConnection(rejection);
    const text = rejection.why ?? (fix === undefined ? `${title}.` : `${title}. ${fix}`);
    return reply.send({ code: rejection.code, why: text } satisfies HandshakeView);
  });
}
