// Writes a JSON response.
import type { ServerResponse } from "node:http";
import type { Http } from "../../http/index.ts";

type HeaderMap = Readonly<Record<string, string>>;

/** Seconds after which a client may request a large response again. */
export const retryLargeSeconds = 5;

/** Does nothing if the response has begun or the client has left. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: HeaderMap,
): void {
  sendText(response, status, JSON.stringify(body), headers);
}

/**
 * Does the same for a body of any size.
 *
 * @returns `false`, without any effect, if too many large responses are unread.
 */
export function sendLargeJson(
  http: Pick<Http, "holdResponse">,
  response: ServerResponse,
  body: object,
  headers: HeaderMap,
): boolean {
  const text = JSON.stringify(body);
  if (!http.holdResponse(response, Buffer.byteLength(text))) return false;
  sendText(response, 200, text, headers);
  return true;
}

function sendText(
  response: ServerResponse,
  status: number,
  text: string,
  headers: HeaderMap,
): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, {
    "Cache-Control": "no-store",
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}
