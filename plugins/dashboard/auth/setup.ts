import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { clearSetupCookie, hasSetupCookie, signIn } from "./cookies.ts";
import { verifyToken } from "./credentials.ts";
import { maxFormBytes, parseBody, setupBody, isForm, requestState } from "../request.ts";
import { sendPage, sendRedirect, toHttpError } from "../reply.ts";
import { type DashboardContext } from "../context.ts";
import { HttpError, httpErrors } from "../errors.ts";
import { setupPage, type SetupFailure } from "../pages/index.ts";

const displayedCodes = [
  "invalid_code",
  "rate_limited",
  "token_mismatch",
  "weak_token",
  "invalid_body",
  "store_unavailable",
] as const;
const isDisplayed = (code: unknown): code is SetupFailure["code"] =>
  displayedCodes.some((known) => known === code);

/** Told to a browser that sent the form before its script stood in for the code, or without one. */
const missingProofMessage =
  "Paste the generated token: without it this form cannot show that it comes from this page.";

/** `GET /setup`, `POST /setup`: the owner confirms the generated token or chooses their own. */
export function setupRoutes(app: FastifyInstance, door: DashboardContext): void {
  const show = (
    request: FastifyRequest,
    reply: FastifyReply,
    status: number,
    error?: SetupFailure,
  ): FastifyReply =>
    sendPage(
      reply,
      status,
      setupPage({
        url: door.http.url,
        assets: door.assets.prefix,
        hasCookie: hasSetupCookie(door, request),
        ways: door.ways(),
        ...(error ? { error } : {}),
      }),
    );

  app.get("/setup", { config: { access: "open" } }, (request, reply) => {
    if (door.state() !== "setup") return sendRedirect(door, reply, 302, "/");
    const { error } = request.query as { error?: string };
    const seconds =
      error === "rate_limited" ? door.limiter.blockedFor(requestState(request).peer.key) : 0;
    const failure = isDisplayed(error)
      ? { code: error, ...(seconds > 0 && { retryAfterSeconds: seconds }) }
      : undefined;
    return show(request, reply, 200, failure);
  });

  app.post(
    "/setup",
    { config: { access: "open" }, bodyLimit: maxFormBytes },
    async (request, reply) => {
      const form = isForm(request);
      try {
        const session = await finishSetup(door, request, reply);
        if (form) return sendRedirect(door, reply, 303, "/");
        return await reply.send({
          status: "ok",
          expiresAt: new Date(session.expiresAt).toISOString(),
        });
      } catch (error) {
        const refusal = toHttpError(error, door, "POST /setup");
        if (form && refusal.code === "already_set_up") return sendRedirect(door, reply, 303, "/");
        if (form && refusal.code === "origin_not_allowed") {
          return show(request, reply, httpErrors.origin_not_allowed[0], {
            code: "invalid_code",
            message: refusal.message,
          });
        }
        if (!form || !isDisplayed(refusal.code)) throw refusal;
        const { retryAfterSeconds, message } = refusal.extra;
        if (retryAfterSeconds !== undefined)
          void reply.header("retry-after", String(retryAfterSeconds));
        const status = httpErrors[refusal.code][0];
        if (status === 401) void reply.header("www-authenticate", 'Bearer realm="launcher"');
        return show(request, reply, status, {
          code: refusal.code as SetupFailure["code"],
          ...(message === undefined ? {} : { message }),
          ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
        });
      }
    },
  );
}

async function finishSetup(door: DashboardContext, request: FastifyRequest, reply: FastifyReply) {
  const lookAgain = (): void => {
    if (door.state() !== "setup") throw new HttpError("already_set_up");
  };
  lookAgain();
  const { version: before } = door.tokens.info("launcher");
  const body = parseBody(setupBody, request);
  const code = body.code?.trim() ?? "";
  if (requestState(request).nullForm && code === "")
    throw new HttpError("origin_not_allowed", { message: missingProofMessage });
  const { peer, nullForm: foreign } = requestState(request);
  if (code !== "")
    await verifyToken(door, peer, code, { via: "setup", code: "invalid_code", foreign, lookAgain });
  else if (!hasSetupCookie(door, request)) throw new HttpError("invalid_code");

  const own = "token" in body;
  if (own && body.token.trim() !== body.confirm.trim()) throw new HttpError("token_mismatch");
  lookAgain();
  const { version } = await door.tokenSecrets
    .replace(
      "launcher",
      own ? { value: body.token.trim(), expect: before } : { keep: true, expect: before },
    )
    .catch((error: unknown) => {
      const refusal = toHttpError(error, door, "POST /setup");
      // Somebody else finished it at the same moment.
      throw refusal.code === "rotation_in_progress" ? new HttpError("already_set_up") : refusal;
    });
  clearSetupCookie(door, request, reply);
  return signIn(door, request, reply, { version, via: "setup" });
}
