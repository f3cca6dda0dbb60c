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
  const { code, message, extra } = httpError;
  const status = extra.status ?? httpErrors[code][0];
  void reply.header("cache-control", "no-store");
  if (extra.retryAfterSeconds !== undefined)
    void reply.header("retry-after", String(extra.retryAfterSeconds));
  if (extra.allow !== undefined) void reply.header("allow", extra.allow);
  if (status === 401) void reply.header("www-authenticate", 'Bearer realm="launcher"');
  if (wantsPage(request)) {
    const { hint } = extra;
    const title = errorTitles[code] ?? "Request rejected";
    const facts = { ...documentFacts(site, request), title, host: "" };
    const data = { text: message, ...(hint === undefined ? {} : { hint }) };
    return sendPage(reply, status, renderDoorway("message", facts, data));
  }
  const { retryAfterSeconds, hint, state } = extra;
  return reply.code(status).type("application/json; charset=utf-8").send({
    error: code,
    message,
    retryAfterSeconds,
    hint,
    state,
  });
}
