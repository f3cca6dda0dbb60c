// Sends errors. A file of its own, because it renders pages, whose code the start does not load.
import type { FastifyReply, FastifyRequest } from "fastify";
import type { SiteContext } from "../context.ts";
import { httpErrors, type HttpError, type HttpErrorCode } from "../errors.ts";
import { documentFacts, sendPage, wantsPage } from "../reply.ts";
import { renderDoorway } from "../../pages/render.tsx";

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
  if (facts.retryAfterSeconds !== undefined)
    void reply.header("retry-after", String(facts.retryAfterSeconds));
  if (facts.allow !== undefined) void reply.header("allow", facts.allow);
  if (status === 401) void reply.header("www-authenticate", 'Bearer realm="launcher"');
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
