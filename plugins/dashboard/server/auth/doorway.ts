/**
 * Sends the pages of sign-in and setup, and errors. The start does not load it, because it renders
 * pages.
 *
 * @module
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { ResponseFacts } from "../../../http/request-error.ts";
import type { DashboardContext, SiteContext } from "../context.ts";
import { httpErrors, type HttpError, type HttpErrorCode } from "../errors.ts";
import { documentFacts, sendPage, wantsPage } from "../reply.ts";
import { hostName, requestState } from "../request.ts";
import { renderDoorway, type DoorwayData } from "../../pages/render.tsx";

const titles = { "sign-in": "Sign in", setup: "Choose the token for this dashboard" } as const;

interface DoorwayAnswer<K extends keyof typeof titles> {
  readonly page: K;
  readonly status: number;
  readonly data: Omit<DoorwayData[K], "ways">;
}

/** Adds the seconds until the address may send a token again. */
export function withCountdown<C extends string>(
  { auth }: DashboardContext,
  request: FastifyRequest,
  code: C,
): { readonly code: C; readonly retryAfterSeconds?: number } {
  const { key } = requestState(request).peer;
  const seconds = code === "rate_limited" ? auth.limiter.blockedFor(key) : 0;
  return { code, ...(seconds > 0 && { retryAfterSeconds: seconds }) };
}

/** Sends a page that needs no sign-in. */
export function sendDoorway<K extends keyof typeof titles>(
  { site }: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { page, status, data }: DoorwayAnswer<K>,
): FastifyReply {
  const facts = {
    ...documentFacts(site, request),
    title: titles[page],
    host: hostName(site.privateHost.plainHost(requestState(request).peer)),
  };
  const whole = { ...data, ways: site.tokenHints() } as DoorwayData[K];
  return sendPage(reply, status, renderDoorway(page, facts, whole));
}

const errorTitles: Partial<Record<HttpErrorCode, string>> = {
  not_found: "Not found",
  host_not_allowed: "Host name not allowed",
  origin_not_allowed: "Request rejected",
  unavailable: "Starting",
  internal: "Something went wrong",
};

/** Sends an error: a page to a navigating browser, JSON to everything else. */
export function sendError(
  site: SiteContext,
  request: FastifyRequest,
  reply: FastifyReply,
  httpError: HttpError,
): FastifyReply {
  const { code, message } = httpError;
  const facts = httpError.details.response;
  const status = facts.status ?? httpErrors[code][0];
  void reply.header("cache-control", "no-store");
  if (facts.allow !== undefined) void reply.header("allow", facts.allow);
  setErrorHeaders(reply, status, facts);
  if (wantsPage(request)) {
    const { hint } = facts;
    const title = errorTitles[code] ?? "Request rejected";
    const document = { ...documentFacts(site, request), title, host: "" };
    const data = { text: message, ...(hint === undefined ? {} : { hint }) };
    return sendPage(reply, status, renderDoorway("message", document, data));
  }
  const { retryAfterSeconds, hint, state } = facts;
  return reply.code(status).type("application/json; charset=utf-8").send({
    error: code,
    message,
    retryAfterSeconds,
    hint,
    state,
  });
}

/** Sets the headers that an error has on every page and in JSON. */
export function setErrorHeaders(
  reply: FastifyReply,
  status: number,
  { retryAfterSeconds }: ResponseFacts,
): void {
  if (retryAfterSeconds !== undefined) void reply.header("retry-after", String(retryAfterSeconds));
  if (status === 401) void reply.header("www-authenticate", 'Bearer realm="launcher"');
}
