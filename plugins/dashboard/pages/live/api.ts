/** Sends requests of a page to the dashboard API. @module */
import { base } from "./base.ts";

/** A response that is not 2xx, or no response (`status` 0). */
export interface ApiError {
  readonly status: number;
  readonly message: string;
  /** A setting or command that helps. */
  readonly hint?: string;
  /** Error code in the response body. */
  readonly code?: string;
  readonly retryAfterSeconds?: number;
  /** Rejected setting. */
  readonly field?: string;
}

export type ApiResult<T> = { readonly body: T } | { readonly error: ApiError };

const readTimeoutMs = 8000;
/**
 * Timeout of requests that change something. Their response may be the only copy of a new token.
 * The server waits up to 15 s for a file and up to 5 s for each of four handshakes.
 */
const writeTimeoutMs = 60_000;

/** Sends one request and parses the JSON response. Never rejects. */
export async function sendRequest<T>(
  method: string,
  path: string,
  body?: object,
  etag?: string,
): Promise<ApiResult<T>> {
  const headers: Record<string, string> = { accept: "application/json" };
  if (body) headers["content-type"] = "application/json";
  if (etag !== undefined) headers["if-match"] = etag;
  try {
    const response = await fetch(base() + path, {
      method,
      headers,
      cache: "no-store",
      signal: AbortSignal.timeout(method === "GET" ? readTimeoutMs : writeTimeoutMs),
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json().catch(() => ({}));
    return response.ok ? { body: answer as T } : { error: toApiError(response.status, answer) };
  } catch {
    return { error: { status: 0, message: "The service does not respond." } };
  }
}

function toApiError(status: number, answer: unknown): ApiError {
  const { error, message, hint, retryAfterSeconds, field } = answer as Readonly<
    Record<string, unknown>
  >;
  return {
    status,
    message:
      typeof message === "string" ? message : `The service rejected the request (${status}).`,
    ...(typeof error === "string" && { code: error }),
    ...(typeof hint === "string" && { hint }),
    ...(typeof retryAfterSeconds === "number" && { retryAfterSeconds }),
    ...(typeof field === "string" && { field }),
  };
}
