/** `POST /logout`: ends the sign-in of the browser. @module */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { clearSession } from "./cookies.ts";
import { maxFormBytes, csrfBody, parseBody, isForm, requestState } from "../request.ts";
import { sendRedirect } from "../reply.ts";
import { type AuthContext, type DashboardContext } from "../context.ts";
import { refuse } from "../errors.ts";
import { rejectOrigin } from "./guard.ts";
import type { SignInSession } from "./contract.ts";

/**
 * @returns The hidden value of the sign-out form. It binds the form to the session: a form on
 * another
 *   port of this host also sends the cookie.
 */
export function csrfToken(auth: AuthContext, session: SignInSession): string {
  const key = auth.tokens.derive("launcher", "session", auth.keeper.salt);
  return createHmac("sha256", key).update(`csrf${session.digest}`).digest("base64url");
}

/** True if a form of a page has the hidden value of its session. */
export function hasCsrfToken(
  auth: AuthContext,
  request: FastifyRequest,
  session: SignInSession,
): boolean {
  const received = Buffer.from(parseBody(csrfBody, request)?.csrf ?? "");
  const expected = Buffer.from(csrfToken(auth, session));
  return received.length === expected.length && timingSafeEqual(received, expected);
}

/** Adds `POST /logout`, which ends the session on the server. It succeeds without a session too. */
export function signOutRoute(app: FastifyInstance, context: DashboardContext): void {
  app.post(
    "/logout",
    { config: { access: "open" }, bodyLimit: maxFormBytes },
    async (request, reply) => {
      const { session, nullForm } = requestState(request);
      if (session && nullForm && !hasCsrfToken(context.auth, request, session))
        rejectOrigin(context, request);
      if (session) context.auth.sessions.end(session, "sign-out");
      clearSession(context, request, reply);
      await context.auth.keeper.settled();
      const next = context.proxySignIn.logoutUrl(request.raw);
      if (!isForm(request))
        return reply.send({ status: "ok", ...(next !== undefined && { next }) });
      if (next !== undefined) return reply.code(303).header("location", next).send();
      return sendRedirect(context.site, reply, 303, "/login");
    },
  );
  app.route({
    method: ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"],
    exposeHeadRoute: false,
    url: "/logout",
    config: { access: "open" },
    handler: () => {
      throw refuse("method_not_allowed", { allow: "POST" });
    },
  });
}
