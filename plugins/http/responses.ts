/**
 * Writes JSON errors and security headers, on prepared responses and on bare sockets. Bounds the
 * memory of responses that clients have not read yet.
 */
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex, Readable } from "node:stream";
import type { Release } from "../../kernel/index.ts";
import type { Peer } from "./service.ts";

/** Headers of every response: pages, data, errors, rejected upgrades, and errors of Node. */
const securityHeaders: Readonly<Record<string, string>> = {
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; " +
    "img-src 'self' data: blob:; media-src 'self'; font-src 'self'; " +
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'",
  "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
};
const securityEntries = Object.entries(securityHeaders);

/** Sets the security headers. A handler may replace them. */
export function setSecurityHeaders(response: ServerResponse): void {
  for (const [name, value] of securityEntries) response.setHeader(name, value);
}

export type ErrorResponse = readonly [status: number, error: string, message: string];

/** Errors that this plugin sends itself. */
export const errorResponses = {
  badTarget: [400, "invalid_request", "The URL of the request is not valid."],
  badHost: [400, "invalid_request", "The request needs exactly one Host header."],
  twoAuthorizations: [
    400,
    "invalid_request",
    "The request has more than one Authorization header.",
  ],
  malformed: [400, "invalid_request", "The request is not valid HTTP."],
  notFound: [404, "not_found", "Nothing is served at this address."],
  method: [405, "method_not_allowed", "This method is not supported."],
  timeout: [408, "request_timeout", "The request took too long to arrive."],
  bodyTooLarge: [413, "body_too_large", "The request is too large."],
  expectation: [417, "expectation_failed", "The only supported expectation is 100-continue."],
  headersTooLarge: [431, "headers_too_large", "The headers of the request are too large."],
  internal: [500, "internal", "An internal error occurred; see the log for details."],
} as const satisfies Record<string, ErrorResponse>;

const errorBody = ([, error, message]: ErrorResponse): object => ({ error, message });
const toHeaderValue = (value: string): string => value.replace(/[^\t\x20-\x7e\x80-\xff]/g, " ");
const lingerMs = 1_000;

/**
 * Closes a socket after its last response. A peer that still sends would receive a reset before it
 * has read the response, so the rest is read and discarded, for at most one second.
 */
function closeLingering(socket: Duplex, rest: Readable): void {
  const close = (): void => void socket.destroy();
  const closeSoon = (): void =>
    void (socket.writableFinished ? close() : socket.once("finish", close));
  rest.once("end", closeSoon).resume();
  // After a suspended process wakes up, pending input is processed before `setImmediate` runs.
  const timer = setTimeout(() => setImmediate(close), lingerMs);
  timer.unref();
  socket.once("close", () => clearTimeout(timer));
}

/** Writes a whole response to a bare socket and closes it. No response may be in progress. */
export function writeResponse(
  socket: Duplex,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  socket.on("error", () => socket.destroy());
  if (!socket.writable) return void socket.destroy();
  const text = JSON.stringify(body);
  const all: Record<string, string> = {
    ...securityHeaders,
    "Cache-Control": "no-store",
    "Content-Type": "application/json; charset=utf-8",
    Date: new Date().toUTCString(),
    ...headers,
    "Content-Length": String(Buffer.byteLength(text)),
    Connection: "close",
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${toHeaderValue(value)}\r\n`);
  socket.end(
    Buffer.concat([
      Buffer.from(
        `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Refused"}\r\n${lines.join("")}\r\n`,
        "latin1",
      ),
      Buffer.from(text),
    ]),
  );
  closeLingering(socket, socket);
}

/** Keeps the connection open until the request body has arrived. Node would close it together with
 *  its last response. */
export function deferCloseUntilBody(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request;
  if (isHttp2(request)) return; // only the stream of this request ends
  if (!("destroySoon" in socket)) return; // a host emitted "connection" with another stream
  const { destroySoon } = socket;
  const endSoon = (): void => {
    if (request.complete) return destroySoon.call(socket);
    socket.end();
    closeLingering(socket, request);
  };
  // The listener of Node runs between these two.
  response.prependOnceListener("finish", () => {
    socket.destroySoon = endSoon;
  });
  response.once("finish", () => {
    socket.destroySoon = destroySoon;
  });
}

export const writeError = (socket: Duplex, errorResponse: ErrorResponse): void =>
  writeResponse(socket, errorResponse[0], errorBody(errorResponse));

export const isHttp2 = ({ httpVersionMajor }: IncomingMessage): boolean => httpVersionMajor >= 2;

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;

/** Sends an error on a prepared response. If the request has a body, the connection closes, because
 *  no handler reads that body. */
export function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  errorResponse: ErrorResponse,
): void {
  if (response.headersSent) return void response.destroy();
  if (hasBody(request)) deferCloseUntilBody(request, response);
  const text = JSON.stringify(errorBody(errorResponse));
  response.writeHead(errorResponse[0], {
    "Cache-Control": "no-store",
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": Buffer.byteLength(text),
    ...(errorResponse[0] === 404 && !hasBody(request) ? {} : { Connection: "close" }),
  });
  response.end(text);
}

/** Sends an error before the request is complete, and closes the connection. */
export function abortRequest(
  request: IncomingMessage,
  response: ServerResponse,
  errorResponse: ErrorResponse,
): void {
  if (isHttp2(request)) return sendError(request, response, errorResponse);
  const { socket } = request;
  // Otherwise an earlier response of this connection is still being written.
  const isCurrent = response.socket === socket && !response.headersSent;
  if (isCurrent) writeError(socket, errorResponse);
  else socket.destroy();
}

/** Smaller responses are not counted: the operating system takes most of them immediately. */
const minBytes = 64 * 1024;
const maxBytes = 64 * 1024 * 1024;
const maxResponses = 256;
/** One address may use this part of both limits. */
const addressShare = 1 / 2;

interface Usage {
  bytes: number;
  responses: number;
}

const fits = ({ bytes, responses }: Usage, added: number, share: number): boolean =>
  responses === 0 || (bytes + added <= maxBytes * share && responses + 1 <= maxResponses * share);

/**
 * Counts large responses from when their handler passes them on until the operating system has
 * taken their last byte, or the connection closes. A single response may exceed the limit.
 */
export class ResponseBudget {
  private readonly peer: (request: ServerResponse["req"]) => Peer;
  private readonly total: Usage = { bytes: 0, responses: 0 };
  private readonly addresses = new Map<string, Usage>();
  /** The parts that each response holds. All of a response share one listener. */
  private readonly held = new WeakMap<ServerResponse, Set<Release>>();

  constructor(peer: (request: ServerResponse["req"]) => Peer) {
    this.peer = peer;
  }

  /** @returns Undefined, without any effect, if the response does not fit. Needs no `this`. */
  readonly hold = (response: ServerResponse, bytes: number): Release | undefined => {
    if (bytes <= minBytes || response.destroyed || response.writableFinished)
      return () => undefined;
    const { total, addresses } = this;
    const { key } = this.peer(response.req);
    const own = addresses.get(key) ?? { bytes: 0, responses: 0 };
    if (!fits(total, bytes, 1) || !fits(own, bytes, addressShare)) return undefined;
    addresses.set(key, own);
    for (const usage of [total, own]) {
      usage.bytes += bytes;
      usage.responses += 1;
    }
    const held = this.heldBy(response);
    const release = (): void => {
      if (!held.delete(release)) return;
      for (const usage of [total, own]) {
        usage.bytes -= bytes;
        usage.responses -= 1;
      }
      if (own.responses === 0) addresses.delete(key);
    };
    held.add(release);
    return release;
  };

  private heldBy(response: ServerResponse): Set<Release> {
    const known = this.held.get(response);
    if (known) return known;
    const held = new Set<Release>();
    this.held.set(response, held);
    const releaseAll = (): void => held.forEach((release) => release());
    response.once("finish", releaseAll).once("close", releaseAll);
    return held;
  }
}
