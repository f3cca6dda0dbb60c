/**
 * `GET /setup`, `POST /setup`: the owner keeps the generated launcher token or chooses another.
 * `POST /setup/token` shows the generated one.
 *
 * @module
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { clearSetupCookie, hasSetupCookie, signIn } from "./cookies.ts";
import { verifyToken } from "./credentials.ts";
import { maxFormBytes, parseBody, setupBody, isForm, requestState } from "../request.ts";
import { sendRedirect, toHttpError } from "../reply.ts";
import { type DashboardContext } from "../context.ts";
import { refuse, httpErrors } from "../errors.ts";
import type { SetupFailure } from "../../pages/render.tsx";
import { isFailureOf, setupFailures } from "../../shared/doorway-failures.ts";
import { sendDoorway, setErrorHeaders, withCountdown } from "./doorway.ts";

/** Shown if the form was sent before its script had filled in the code, or without a script. */
const missingProofMessage =
  "Paste the generated token. It proves that the form comes from this page.";

/** Adds the routes of the setup. */
export function setupRoutes(app: FastifyInstance, context: DashboardContext): void {
  const show = (
    request: FastifyRequest,
    reply: FastifyReply,
    status: number,
    error?: SetupFailure,
  ): FastifyReply =>
    sendDoorway(context, request, reply, {
      page: "setup",
      status,
      data: { hasCookie: hasSetupCookie(context, request), ...(error && { error }) },
    });

  app.get("/setup", { config: { access: "open" } }, (request, reply) => {
    if (context.runtime.state() !== "setup") return sendRedirect(context.site, reply, 302, "/");
    const { error } = request.query as { error?: string };
    const failure = isFailureOf(setupFailures, error)
      ? withCountdown(context, request, error)
      : undefined;
    return show(request, reply, 200, failure);
  });

  app.post(
    "/setup",
    { config: { access: "open" }, bodyLimit: maxFormBytes },
    async (request, reply) => {
      const form = isForm(request);
      try {
        const session = await finishSetup(context, request, reply);
        if (form) return sendRedirect(context.site, reply, 303, "/");
        return await reply.send({
          status: "ok",
          expiresAt: new Date(session.expiresAt).toISOString(),
        });
      } catch (error) {
        const httpError = toHttpError(error, context.runtime.log, "POST /setup");
        if (form && httpError.code === "already_set_up")
          return sendRedirect(context.site, reply, 303, "/");
        if (form && httpError.code === "origin_not_allowed") {
          return show(request, reply, httpErrors.origin_not_allowed[0], {
            code: "invalid_code",
            message: httpError.message,
          });
        }
        const { code } = httpError;
        if (!form || !isFailureOf(setupFailures, code)) throw httpError;
        const { message, details } = httpError;
        const { retryAfterSeconds } = details.response;
        const [status, usual] = httpErrors[code];
        setErrorHeaders(reply, status, { retryAfterSeconds });
        return show(request, reply, status, {
          code,
          // The page has words of its own for the usual message.
          ...(message === usual ? {} : { message }),
          ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
        });
      }
    },
  );
  shownTokenRoute(app, context);
}

/**
 * Adds `POST /setup/token`: the generated token, for a browser that has proved that it knows the
 * token or a sign-in link. The page never contains it, since browsers and proxies keep pages.
 */
function shownTokenRoute(app: FastifyInstance, context: DashboardContext): void {
  app.post(
    "/setup/token",
    { config: { access: "open" }, bodyLimit: maxFormBytes },
    (request, reply) => {
      requireSetup(context);
      if (!hasSetupCookie(context, request)) throw refuse("invalid_code");
      const token = context.services.tokenSecrets.reveal("launcher");
      if (token === undefined) throw refuse("not_found");
      context.runtime.log.info(
        { name: "launcher", ip: requestState(request).peer.address },
        "the launcher token was shown during setup",
      );
      return reply.send({ token });
    },
  );
}

/** @throws already_set_up */
function requireSetup({ runtime }: DashboardContext): void {
  if (runtime.state() !== "setup") throw refuse("already_set_up");
}

/** Checks the setup code or cookie, stores the launcher token and signs in the browser. */
async function finishSetup(
  context: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  requireSetup(context);
  const { version: before } = context.auth.tokens.info("launcher");
  const body = parseBody(setupBody, request);
  const code = body.code?.trim() ?? "";
  if (requestState(request).nullForm && code === "")
    throw refuse("origin_not_allowed", { message: missingProofMessage });
  const { peer, nullForm: foreign } = requestState(request);
  if (code !== "")
    await verifyToken(context, peer, code, {
      via: "setup",
      code: "invalid_code",
      foreign,
      recheck: () => requireSetup(context),
    });
  else if (!hasSetupCookie(context, request)) throw refuse("invalid_code");

  const isChosen = "token" in body;
  if (isChosen && body.token.trim() !== body.confirm.trim()) throw refuse("token_mismatch");
  requireSetup(context);
  const { version } = await context.services.tokenSecrets
    .replace(
      "launcher",
      isChosen ? { value: body.token.trim(), expect: before } : { keep: true, expect: before },
    )
    .catch((error: unknown) => {
      const httpError = toHttpError(error, context.runtime.log, "POST /setup");
      // Another browser finished setup at the same moment.
      throw httpError.code === "rotation_in_progress" ? refuse("already_set_up") : httpError;
    });
  clearSetupCookie(context, request, reply);
  return signIn(context, request, reply, { version, via: "setup" });
}
