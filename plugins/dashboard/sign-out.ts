import { createHmac, timingSafeEqual } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { clearSession } from "./access.ts";
import { DOOR_BODY, logoutBody, parseBody } from "./bodies.ts";
import { isForm, redirect, seen, type Door } from "./door.ts";
import { Refusal } from "./errors.ts";
import { refuseOrigin } from "./guard.ts";
import type { Session } from "./sessions.ts";

/** Hidden value of the sign-out form: binds it to the session, since a form of another port brings the cookie too. */
export function csrfOf(door: Door, session: Session): string {
  const key = door.tokens.derive("launcher", "session", door.keeper.salt());
  return createHmac("sha256", key).update(`csrf${session.digest}`).digest("base64url");
}

function proven(door: Door, request: FastifyRequest, session: Session): boolean {
  const given = Buffer.from(parseBody(logoutBody, request)?.csrf ?? "");
  const expected = Buffer.from(csrfOf(door, session));
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** `POST /logout`: ends the session on the server. Without one it is done already. */
export function signOutRoute(app: FastifyInstance, door: Door): void {
  app.post(
    "/logout",
    { config: { access: "open" }, bodyLimit: DOOR_BODY },
    async (request, reply) => {
      const { session, nullForm } = seen(request);
      if (session && nullForm && !proven(door, request, session)) refuseOrigin(door, request);
      if (session) door.sessions.end(session, "sign-out");
      clearSession(door, request, reply);
      await door.keeper.settled();
      if (isForm(request)) return redirect(door, reply, 303, "/login");
      return reply.header("cache-control", "no-store").send({ status: "ok" });
    },
  );
  app.route({
    method: ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"],
    exposeHeadRoute: false,
    url: "/logout",
    config: { access: "open" },
    handler: () => {
      throw new Refusal("method_not_allowed", { allow: "POST" });
    },
  });
}
