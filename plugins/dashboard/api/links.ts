import type { FastifyInstance } from "fastify";
import { API_BODY } from "../bodies.ts";
import { seen, type Door } from "../door.ts";

/** `POST /api/signin-links`: a link made to be copied. */
export function linkRoutes(app: FastifyInstance, door: Door): void {
  app.post("/api/signin-links", { bodyLimit: API_BODY }, (request, reply) => {
    const { link, expiresAt } = door.links.mint(door.tokens.info("launcher").version);
    const { peer } = seen(request);
    const url = `${peer.secure ? "https" : "http"}://${peer.host}${door.http.url(`/login?link=${link}`)}`;
    return reply
      .header("cache-control", "no-store")
      .send({ url, expiresAt: new Date(expiresAt).toISOString() });
  });
}
