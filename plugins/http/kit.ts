/** Reads bodies and writes JSON and heads of event streams, for every plugin that serves HTTP. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock, Release } from "../../kernel/index.ts";
import type { Http } from "./service.ts";

type HeaderMap = Readonly<Record<string, string>>;

/** The slowest allowed rate applies after this time. */
const graceMs = 30_000;
const checkMs = 5_000;
const minBytesPerSecond = 16 * 1024;

/** Why a body was not read. `busy`: the memory budget has no room for it. */
type BodyProblem = "body_too_large" | "request_timeout" | "busy";

export interface BodyOptions {
  readonly maxBytes: number;
  readonly clock: Clock;
  /** Reserves memory for `bytes` more. Returns `false` if there is no room. */
  readonly reserve: (bytes: number) => boolean;
}

/** The media type of the body in lower case, without parameters; empty if there is none. */
export const bodyType = ({ headers }: IncomingMessage): string =>
  (headers["content-type"] ?? "").split(";")[0]!.trim().toLowerCase();

/**
 * Watches the rate of a body: after 30 s, 16 KiB per second must have arrived.
 *
 * @param tooSlow - Called once, if the body is slower.
 * @returns A function that ends the watch.
 */
export function watchRate(clock: Clock, received: () => number, tooSlow: () => void): Release {
  let passedMs = 0; // summed up from the timers, because the clock may be set in the meantime
  let timer: unknown;
  const checkIn = (ms: number): void =>
    void (timer = clock.setTimeout(() => {
      passedMs += ms;
      if (received() >= (passedMs / 1_000) * minBytesPerSecond) checkIn(checkMs);
      else tooSlow();
    }, ms));
  checkIn(graceMs);
  return () => clock.clearTimeout(timer);
}

/**
 * Reads a body within limits on size, memory and rate. A rejected body is not read further.
 *
 * @returns The body, the reason to reject it, or undefined if the client closed the connection.
 */
export function readBody(
  request: IncomingMessage,
  { maxBytes, clock, reserve }: BodyOptions,
): Promise<Buffer | BodyProblem | undefined> {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes)
    return Promise.resolve("body_too_large");
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let received = 0;
    const finish = (result: Buffer | BodyProblem | undefined): void => {
      stopWatch();
      request.off("data", onData).off("end", onEnd).off("close", onClose).off("error", onClose);
      request.pause();
      resolve(result);
    };
    const onData = (chunk: Buffer): void => {
      received += chunk.byteLength;
      if (received > maxBytes) return finish("body_too_large");
      if (!reserve(chunk.byteLength)) return finish("busy");
      chunks.push(chunk);
    };
    const onEnd = (): void => finish(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
    const onClose = (): void => finish(undefined);
    const tooSlow = (): void => finish("request_timeout");
    const stopWatch = watchRate(clock, () => received, tooSlow);
    request.on("data", onData).on("end", onEnd).on("close", onClose).on("error", onClose);
  });
}

/** Seconds after which a client may request a large response again. */
export const retryLargeSeconds = 5;

/** Writes JSON. Does nothing if the response has begun or the client has left. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: HeaderMap,
): void {
  sendText(response, status, JSON.stringify(body), headers);
}

/**
 * Writes JSON of any size.
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

/** Writes the head of an event stream. Proxies pass its events on immediately. */
export function openEventStream(response: ServerResponse, headers: HeaderMap): void {
  response.writeHead(200, {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
    ...headers,
  });
  response.on("error", () => undefined);
  response.flushHeaders();
}

/**
 * Reads the parameters `token` of a request URL. A `+` stays one, as in RFC 3986: tokens in base64
 * contain it, and people paste them into addresses as they are.
 */
export function tokenParameters(url = ""): readonly string[] {
  const search = url.slice(url.indexOf("?") + 1);
  return url.includes("?")
    ? new URLSearchParams(search.replaceAll("+", "%2B")).getAll("token")
    : [];
}
