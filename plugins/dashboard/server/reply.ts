/** Sends redirects and pages, and converts errors. @module */
import type { FastifyReply, FastifyRequest } from "fastify";
import { codeOf, type Log } from "../../../kernel/index.ts";
import type { SiteContext } from "./context.ts";
import { isHttpError, refuse, type HttpError, type HttpErrorCode } from "./errors.ts";
import { cookieValues } from "./request.ts";
import type { SiteFacts, Theme } from "../pages/render.tsx";

/** Redirects to a path of this dashboard. */
export function sendRedirect(
  site: SiteContext,
  reply: FastifyReply,
  status: 301 | 302 | 303,
  path: string,
): FastifyReply {
  return reply.code(status).header("location", site.url(path)).send();
}

/** @returns The facts of a page that follow from the site and the cookies of the browser. */
export function documentFacts(
  site: SiteContext,
  request: FastifyRequest,
): Pick<SiteFacts, "base" | "assets" | "theme"> {
  return {
    base: site.url("/").replace(/\/$/, ""),
    assets: site.url(`${site.assets.prefix}/console`),
    theme: themeOf(cookieValues(request.headers.cookie, "theme")[0]),
  };
}

const themeOf = (cookie: string | undefined): Theme =>
  cookie === "light" || cookie === "dark" ? cookie : "system";

export function sendPage(reply: FastifyReply, status: number, document: string): FastifyReply {
  return reply.code(status).type("text/html; charset=utf-8").send(document);
}

/** True for a browser that navigates to a page; false for scripts and programs. */
export function wantsPage(request: FastifyRequest): boolean {
  if (request.method !== "GET" && request.method !== "HEAD") return false;
  if (/^\/(api|metrics)(\/|\?|$)/.test(request.url)) return false;
  return (
    request.headers["sec-fetch-mode"] === "navigate" ||
    (request.headers.accept ?? "").includes("text/html")
  );
}

/** Error codes of other plugins and libraries, mapped to codes of the dashboard. */
const serviceErrorCodes: Readonly<Record<string, HttpErrorCode>> = {
  token_managed_by_env: "token_managed_by_env",
  busy: "rotation_in_progress",
  stale: "rotation_in_progress",
  weak_token: "weak_token",
  store_unavailable: "store_unavailable",
  not_found: "not_found",
  not_supported: "not_supported",
  field_not_editable: "field_not_editable",
  invalid_setting: "invalid_setting",
  etag_mismatch: "etag_mismatch",
  token_not_text: "store_unavailable",
  FILE_CORRUPT: "store_unavailable",
  FILE_EDIT_REFUSED: "store_unavailable",
  FILE_UNREADABLE: "store_unavailable",
  PICO_TOKEN_MISSING: "invalid_setting",
  file_too_large: "file_too_large",
  media_full: "media_full",
  disk_full: "media_full",
  checksum_mismatch: "invalid_file",
  file_rejected: "invalid_file",
  upload_invalid: "invalid_file",
  upload_slow: "upload_slow",
  upload_incomplete: "aborted_request",
  upload_unauthorized: "unauthorized",
  uploads_busy: "unavailable",
  uploads_unfinished: "unavailable",
  downloads_busy: "unavailable",
  media_unavailable: "unavailable",
  unknown_media: "not_found",
  invalid_key: "invalid_key",
  key_name_taken: "key_rejected",
  too_many_keys: "key_rejected",
  unknown_key: "not_found",
  keys_unavailable: "unavailable",
};
/** Error codes of Fastify, mapped to codes of the dashboard. */
const fastifyErrorCodes: Readonly<Record<string, HttpErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: "body_too_large",
  FST_ERR_CTP_INVALID_MEDIA_TYPE: "unsupported_media_type",
  FST_ERR_CTP_INVALID_JSON_BODY: "invalid_body",
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: "invalid_body",
  FST_ERR_VALIDATION: "invalid_body",
  FST_ERR_BAD_URL: "invalid_request",
};

/**
 * Converts any error to one that a client may see.
 *
 * @param during - The request, for the log line that an unknown error gets.
 */
export function toHttpError(error: unknown, log: Log, during: string): HttpError {
  if (isHttpError(error)) return error;
  const mapped = serviceErrorCodes[codeOf(error)];
  if (mapped) {
    const isTemporary = mapped === "store_unavailable" || mapped === "unavailable";
    const retry = isTemporary ? { retryAfterSeconds: 5 } : {};
    return refuse(mapped, { message: (error as Error).message, ...retry });
  }
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown };
  const fastifyCode = fastifyErrorCodes[String(code)];
  if (fastifyCode) return refuse(fastifyCode);
  if (code === "ECONNRESET" && statusCode === 400) return refuse("aborted_request");
  log.error({ err: error, during }, "request failed");
  return refuse("internal");
}
