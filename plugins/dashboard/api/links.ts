/** `POST /api/signin-links`: makes a one-time link to sign in with another browser. @module */
import type { FastifyInstance } from "fastify";
import { maxBodyBytes } from "../bodies.ts";
import { requestState, type DashboardContext } from "../door.ts";

/** A link of a sign-in ends with it, and so does the sign-in it opens. A Bearer has proved the launcher token. */
export function linkRoutes(app: FastifyInstance, door: DashboardContext): void {
  app.post("/api/signin-links", { bodyLimit: maxBodyBytes }, (request, reply) => {
    const { peer, session } = requestState(request);
    const { link, expiresAt } = door.links.mint(door.tokens.info("launcher").version, session);
    const origin = `${peer.secure ? "https" : "http"}://${peer.host}`;
    return reply.header("cache-control", "no-store").send({
      url: `${origin}${door.http.url(`/login?link=${link}`)}`,
      expiresAt: new Date(expiresAt).toISOString(),
      ...(session && { endsAt: new Date(session.expiresAt).toISOString() }),
    });
  });
}
