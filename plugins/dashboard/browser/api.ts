import { base } from "./dom.ts";

/** An answer of the dashboard that is not 2xx, or none at all (`status` 0). */
export interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly retryAfterSeconds?: number;
}

export type Answer<T> = { readonly body: T } | { readonly refused: Refusal };

const patience = 8000;

/** One request with a JSON answer. Never rejects. */
export async function ask<T>(method: string, path: string, body?: object, etag?: string): Promise<Answer<T>> {
  const headers: Record<string, string> = { accept: "application/json" };
  if (body) headers["content-type"] = "application/json";
  if (etag !== undefined) headers["if-match"] = etag;
  try {
    const response = await fetch(base + path, {
      method,
      headers,
      cache: "no-store",
      signal: AbortSignal.timeout(patience),
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json().catch(() => ({}));
    return response.ok ? { body: answer as T } : { refused: refusalOf(response.status, answer) };
  } catch {
    return { refused: { status: 0, message: "The service does not answer." } };
  }
}

/** Leaves for the sign-in page, which leads back here. */
export function signInAgain(): void {
  const next = encodeURIComponent(location.pathname + location.search);
  location.assign(`${base}/login?error=session_ended&next=${next}`);
}

function refusalOf(status: number, answer: unknown): Refusal {
  const { message, retryAfterSeconds } = answer as { message?: unknown; retryAfterSeconds?: unknown };
  return {
    status,
    message: typeof message === "string" ? message : `The service refused (${status}).`,
    ...(typeof retryAfterSeconds === "number" && { retryAfterSeconds }),
  };
}
