import type { ServerResponse } from "node:http";

export interface JsonResponse {
  readonly status: number;
  readonly body: object;
}

/** Another site's page may read what is answered here; nothing is said to sites that may not use the channel. */
export const corsHeaders = (origin: string): Readonly<Record<string, string>> => ({
  "Access-Control-Allow-Origin": origin,
  Vary: "Origin",
  "Access-Control-Expose-Headers": "Retry-After, WWW-Authenticate",
  "Cross-Origin-Resource-Policy": "cross-origin",
});

export const preflightHeaders = {
  "Access-Control-Allow-Methods": "GET, HEAD, POST",
  "Access-Control-Allow-Headers": "authorization, content-type, last-event-id",
  "Access-Control-Max-Age": "600",
} as const;

export function sendJson(
  r: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>>,
): void {
  if (r.headersSent || r.destroyed) return;
  const text = JSON.stringify(body);
  r.writeHead(status, {
    "Cache-Control": "no-store",
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": Buffer.byteLength(text),
    ...headers,
  });
  r.end(text);
}
