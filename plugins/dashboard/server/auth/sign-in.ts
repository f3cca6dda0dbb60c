/** Sign-in by the form of `/login`, by a one-time link and by `/?token=`. @module */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { tokenParameters } from "../../../http/kit.ts";
import type { DashboardContext } from "../context.ts";
import { refuse, type HttpError, httpErrors } from "../errors.ts";
import { sendRedirect, toHttpError, wantsPage } from "../reply.ts";
import { isForm, loginBody, maxFormBytes, parseBody, requestState } from "../request.ts";
import type { SignInData } from "../../pages/render.tsx";
import { isFailureOf, signInFailures } from "../../shared/doorway-failures.ts";
import { clearStaleSession, setSetupCookie, signIn } from "./cookies.ts";
import { isSignInLink, verifyCredential } from "./credentials.ts";
import { sendDoorway, sendError, setErrorHeaders, withCountdown } from "./doorway.ts";
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

/** Adds `GET /login` and `POST /login`. */
export function signInRoutes(app: FastifyInstance, context: DashboardContext): void {
  app.get("/login", { config: { access: "open" } }, (request, reply) => {
    const { error, ...query } = request.query as Query;
    const [next, link] = [query["next"], query["link"]].map(singleValue);
    const show = (data: Omit<SignInData, "ways">): FastifyReply =>
      sendDoorway(context, request, reply, {
        page: "sign-in",
        status: 200,
        data: { ...data, ...nextParameter(next) },
      });
    if (link !== undefined && /^ott_[\w-]{1,100}$/.test(link)) return show({ link });
    if (context.runtime.state() === "setup")
      return sendRedirect(context.site, reply, 302, "/setup");
    if (requestState(request).session)
      return sendRedirect(context.site, reply, 303, safeRedirectPath(next));
    clearStaleSession(context, request, reply);
    if (!isFailureOf(signInFailures, error)) return show({});
    return show({ error: withCountdown(context, request, error) });
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
          throw refuse("setup_required", { status: 409, hint: context.site.url("/setup") });
        }
        const session = await signIn(context, request, reply, credential);
        if (form) return sendRedirect(context.site, reply, 303, next);
        return { status: "ok", expiresAt: new Date(session.expiresAt).toISOString() };
      } catch (error) {
        const httpError = toHttpError(error, context.runtime.log, "POST /login");
        if (!form) throw httpError;
        return sendFailedForm(context, request, reply, httpError, next);
      }
    },
  );
}

/** Shows the page again with the reason, or throws the error if the page has no sentence for it. */
function sendFailedForm(
  context: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  httpError: HttpError,
  next: string,
): FastifyReply {
  const { code } = httpError;
  const { retryAfterSeconds } = httpError.details.response;
  if (!isFailureOf(signInFailures, code)) throw httpError;
  const error = { code, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
  const status = httpErrors[code][0];
  setErrorHeaders(reply, status, { retryAfterSeconds });
  clearStaleSession(context, request, reply);
  const data = { error, ...nextParameter(next) };
  return sendDoorway(context, request, reply, { page: "sign-in", status, data });
}

const nextParameter = (next: unknown) => {
  const safe = safeRedirectPath(next);
  return safe === "/" ? {} : { next: safe };
};

/**
 * @returns The token of `/?token=…` if a person opened the address: no image, no prefetch, no HEAD.
 */
export function tokenFromQuery(request: FastifyRequest): string | undefined {
  const [token, ...others] = tokenParameters(request.url);
  if (others.length > 0)
    throw refuse("invalid_body", { message: 'The parameter "token" occurs twice.' });
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
    const error = isSignInLink(value.trim()) ? "link_expired" : httpError.code;
    if (!inSetup()) return sendRedirect(context.site, reply, 302, `/login?error=${error}`);
    return sendRedirect(
      context.site,
      reply,
      302,
      `/setup?error=${error === "rate_limited" ? error : "invalid_code"}`,
    );
  }
}
