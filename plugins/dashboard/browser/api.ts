import { base } from "./dom.ts";

/** An answer of the dashboard that is not 2xx, or none at all (`status` 0). */
export interface Refusal {
  readonly status: number;
  readonly message: string;
  /** The code of the answer's body. */
  readonly code?: string;
  readonly retryAfterSeconds?: number;
  /** The setting that was refused. */
  readonly field?: string;
}

export type Answer<T> = { readonly body: T } | { readonly refused: Refusal };

const patience = 8000;
/** What changes something or takes its time is waited for, since its answer may come but once: a new token. The server
 *  waits up to 15 s for a file and 5 s for each of four handshakes. */
const longPatience = 60_000;

/** One request with a JSON answer. Never rejects. */
export async function ask<T>(
  method: string,
  path: string,
  body?: object,
  etag?: string,
): Promise<Answer<T>> {
  const headers: Record<string, string> = { accept: "application/json" };
  if (body) headers["content-type"] = "application/json";
  if (etag !== undefined) headers["if-match"] = etag;
  try {
    const response = await fetch(base + path, {
      method,
      headers,
      cache: "no-store",
      signal: AbortSignal.timeout(method === "GET" ? patience : longPatience),
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json().catch(() => ({}));
    return response.ok ? { body: answer as T } : { refused: refusalOf(response.status, answer) };
  } catch {
    return { refused: { status: 0, message: "The service does not answer." } };
  }
}

function refusalOf(status: number, answer: unknown): Refusal {
  const { error, message, retryAfterSeconds, field } = answer as Readonly<Record<string, unknown>>;
  return {
    status,
    message: typeof message === "string" ? message : `The service refused (${status}).`,
    ...(typeof error === "string" && { code: error }),
    ...(typeof retryAfterSeconds === "number" && { retryAfterSeconds }),
    ...(typeof field === "string" && { field }),
  };
}
