/** Sign-in by the form of `/login`, by a one-time link and by `/?token=`. @module */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { DashboardContext, SiteContext } from "../context.ts";
import { HttpError, httpErrors, type HttpErrorCode } from "../errors.ts";
import { signInPage, type SignInFailure } from "../pages/index.ts";
import { sendError, sendPage, sendRedirect, toHttpError, wantsPage } from "../reply.ts";
import { isForm, loginBody, maxFormBytes, parseBody, requestState } from "../request.ts";
import { clearStaleSession, setSetupCookie, signIn } from "./cookies.ts";
import { isSignInLink, verifyCredential } from "./credentials.ts";
import { withoutToken } from "./guard.ts";

/**
 * @returns `next` if it is the path of a page of this dashboard, else `/`. Prevents open redirects.
 */
export function safeRedirectPath(next: unknown): string {
  const path = typeof next === "string" ? next : "";
  if (!/^\/(?!\/)[^\\\p{Cc}]*$/u.test(path) || path.length > 2_048) return "/";
  let url: URL;
  try {
    url = new URL(path, "http://here.invalid");
  } catch {
    return "/";
  }
  // `/.//evil.example` resolves to a path that browsers treat as another host.
  if (url.origin !== "http://here.invalid" || url.pathname.startsWith("//")) return "/";
  if (/^\/(login|logout|setup|api)(\/|$)/.test(url.pathname)) return "/";
  if (url.searchParams.has("token")) url.searchParams.delete("token");
  return url.pathname + url.search;
}

type Query = Record<string, string | string[] | undefined>;
const singleValue = (value: Query[string]): string | undefined =>
  typeof value === "string" ? value : undefined;

const displayedCodes = [
  "invalid_token",
  "rate_limited",
  "link_expired",
  "invalid_body",
  "origin_not_allowed",
  "session_ended",
] as const;
const isDisplayed = (code: unknown): code is SignInFailure["code"] =>
  displayedCodes.some((known) => known === code);

/** Adds `GET /login` and `POST /login`. */
export function signInRoutes(app: FastifyInstance, context: DashboardContext): void {
  app.get("/login", { config: { access: "open" } }, (request, reply) => {
    const { next, error, link } = request.query as Query;
    const oneTime = singleValue(link);
    if (oneTime !== undefined && /^ott_[\w-]{1,100}$/.test(oneTime)) {
      return sendPage(
        reply,
        200,
        signInPage({
          ...siteOf(context.site),
          link: oneTime,
          ...nextParameter(singleValue(next)),
          ways: context.site.tokenHints(),
        }),
      );
    }
    if (context.runtime.state() === "setup")
      return sendRedirect(context.site, reply, 302, "/setup");
    if (requestState(request).session)
      return sendRedirect(context.site, reply, 303, safeRedirectPath(singleValue(next)));
    clearStaleSession(context, request, reply);
    const failure = isDisplayed(error) ? { error: withCountdown(context, request, error) } : {};
    return sendPage(
      reply,
      200,
      signInPage({
        ...siteOf(context.site),
        ...failure,
        ...nextParameter(singleValue(next)),
        ways: context.site.tokenHints(),
      }),
    );
  });

  app.post(
    "/login",
    { config: { access: "open" }, bodyLimit: maxFormBytes },
    async (request, reply) => {
      const form = isForm(request);
      const next = safeRedirectPath((request.body as { next?: unknown } | undefined)?.next);
      try {
        const { token } = parseBody(loginBody, request);
        const { peer, nullForm } = requestState(request);
        const credential = await verifyCredential(context, peer, token, {
          via: "form",
          foreign: nullForm,
        });
        if (context.runtime.state() === "setup") {
          setSetupCookie(context, request, reply);
          if (form) return sendRedirect(context.site, reply, 303, "/setup");
          throw new HttpError("setup_required", { status: 409, hint: context.site.url("/setup") });
        }
        const session = await signIn(context, request, reply, credential);
        if (form) return sendRedirect(context.site, reply, 303, next);
        return await reply.send({
          status: "ok",
          expiresAt: new Date(session.expiresAt).toISOString(),
        });
      } catch (error) {
        const httpError = toHttpError(error, context.runtime.log, "POST /login");
        if (!form || !isDisplayed(httpError.code)) throw httpError;
        return sendFailedForm(context, request, reply, httpError, next);
      }
    },
  );
}

function sendFailedForm(
  context: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  httpError: HttpError,
  next: string,
): FastifyReply {
  const { retryAfterSeconds } = httpError.extra;
  const code = httpError.code as SignInFailure["code"];
  const error = { code, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
  const status = httpErrors[httpError.code][0];
  if (status === 401) void reply.header("www-authenticate", 'Bearer realm="launcher"');
  if (retryAfterSeconds !== undefined) void reply.header("retry-after", String(retryAfterSeconds));
  clearStaleSession(context, request, reply);
  return sendPage(
    reply,
    status,
    signInPage({
      ...siteOf(context.site),
      error,
      ...nextParameter(next),
      ways: context.site.tokenHints(),
    }),
  );
}

const siteOf = (site: SiteContext) => ({
  url: site.url,
  assets: site.assets.prefix,
});
const nextParameter = (next: string | undefined) => {
  const safe = safeRedirectPath(next);
  return safe === "/" ? {} : { next: safe };
};
function withCountdown(
  context: DashboardContext,
  request: FastifyRequest,
  code: SignInFailure["code"],
): SignInFailure {
  const seconds =
    code === "rate_limited" ? context.auth.limiter.blockedFor(requestState(request).peer.key) : 0;
  return seconds > 0 ? { code, retryAfterSeconds: seconds } : { code };
}

/**
 * @returns The token of `/?token=…` if a person opened the address: no image, no prefetch, no HEAD.
 */
export function tokenFromQuery(request: FastifyRequest): string | undefined {
  const token = (request.query as Query)["token"];
  if (Array.isArray(token))
    throw new HttpError("invalid_body", { message: 'The parameter "token" occurs twice.' });
  if (request.method !== "GET" || token === undefined || token.trim() === "") return undefined;
  const { "sec-fetch-dest": destination, "sec-purpose": purpose } = request.headers;
  if (destination !== undefined && destination !== "document") return undefined;
  return purpose !== undefined && /prefetch/i.test(String(purpose)) ? undefined : token;
}

/** True if a page of another site opened the address, by a click or a script. */
function isCrossSite({ headers }: FastifyRequest): boolean {
  const site = headers["sec-fetch-site"];
  return site !== undefined && site !== "same-origin" && site !== "none";
}

/** Signs in with `/?token=` and redirects to `next`, or to the same address without the token. */
export async function signInByQuery(
  context: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  value: string,
): Promise<FastifyReply> {
  const next = singleValue((request.query as Query)["next"]);
  const clean = next === undefined ? withoutToken(request.url) : safeRedirectPath(next);
  const inSetup = (): boolean => context.runtime.state() === "setup";
  if (!inSetup() && requestState(request).session)
    return sendRedirect(context.site, reply, 303, clean);
  try {
    const from = { via: "query", foreign: isCrossSite(request) } as const;
    const credential = await verifyCredential(context, requestState(request).peer, value, from);
    if (inSetup()) {
      setSetupCookie(context, request, reply);
      return sendRedirect(context.site, reply, 303, "/setup");
    }
    await signIn(context, request, reply, credential);
    return sendRedirect(context.site, reply, 303, clean);
  } catch (failure) {
    const httpError = toHttpError(failure, context.runtime.log, "GET /?token=");
    if (
      !wantsPage(request) ||
      (httpError.code !== "invalid_token" && httpError.code !== "rate_limited")
    ) {
      return sendError(context.site, request, reply, httpError);
    }
    const error: HttpErrorCode | "link_expired" = isSignInLink(value.trim())
      ? "link_expired"
      : httpError.code;
    if (!inSetup()) return sendRedirect(context.site, reply, 302, `/login?error=${error}`);
    return sendRedirect(
      context.site,
      reply,
      302,
      `/setup?error=${error === "rate_limited" ? error : "invalid_code"}`,
    );
  }
}
