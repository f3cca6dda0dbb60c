import { STATUS_CODES, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex, Readable } from "node:stream";

/** Carried by every answer: pages, data, errors, refused upgrades, and what Node would answer by itself. */
export const securityHeaders: Readonly<Record<string, string>> = {
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
};

const securityHeaderEntries = Object.entries(securityHeaders);

export function setSecurityHeaders(answer: ServerResponse): void {
  for (const [name, value] of securityHeaderEntries) answer.setHeader(name, value);
}

export type ErrorResponse = readonly [status: number, error: string, message: string];

/** What this plugin answers by itself. */
export const errorResponses = {
  badTarget: [400, "invalid_request", "The address of the request is not valid."],
  badHost: [400, "invalid_request", "The request needs exactly one Host header."],
  twoAuthorizations: [
    400,
    "invalid_request",
    "The request has more than one Authorization header.",
  ],
  malformed: [400, "invalid_request", "The request is not valid HTTP."],
  notFound: [404, "not_found", "Nothing is served at this address."],
  method: [405, "method_not_allowed", "This method is not served."],
  timeout: [408, "request_timeout", "The request took too long to arrive."],
  bodyTooLarge: [413, "body_too_large", "The request is larger than accepted."],
  expectation: [417, "expectation_failed", "The only expectation that can be met is 100-continue."],
  headersTooLarge: [
    431,
    "headers_too_large",
    "The headers of the request are larger than accepted.",
  ],
  internal: [500, "internal", "Something went wrong here; the log has the details."],
} as const satisfies Record<string, ErrorResponse>;

const errorBody = ([, error, message]: ErrorResponse): object => ({ error, message });
const toHeaderValue = (value: string): string => value.replace(/[^\t\x20-\x7e\x80-\xff]/g, " ");
const lingerMs = 1_000;

/** After the last answer. A peer that goes on sending would be reset before it has read that: until `rest` is over, for
 *  a second at most, it is read and thrown away. */
function closeLingering(socket: Duplex, rest: Readable): void {
  const close = (): void => void socket.destroy();
  const closeSoon = (): void =>
    void (socket.writableFinished ? close() : socket.once("finish", close));
  rest.once("end", closeSoon).resume();
  // A process that was held up reads and writes first what came meanwhile.
  const cut = setTimeout(() => setImmediate(close), lingerMs);
  cut.unref();
  socket.once("close", () => clearTimeout(cut));
}

/** Writes a whole answer to a bare socket and closes it. `socket` must be at the start of an answer. */
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

/** Node ends a connection together with its last answer, whatever still comes of the request: here the request may come
 *  to its end first. */
export function deferCloseUntilBody(request: IncomingMessage, answer: ServerResponse): void {
  const { socket } = request;
  if (!("destroySoon" in socket)) return; // a stream that a host serves as a connection
  const { destroySoon } = socket;
  const endSoon = (): void => {
    if (request.complete) return destroySoon.call(socket);
    socket.end();
    closeLingering(socket, request);
  };
  // Node's own listener stands between these two.
  answer.prependOnceListener("finish", () => {
    socket.destroySoon = endSoon;
  });
  answer.once("finish", () => {
    socket.destroySoon = destroySoon;
  });
}

export const writeError = (socket: Duplex, errorResponse: ErrorResponse): void =>
  writeResponse(socket, errorResponse[0], errorBody(errorResponse));

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;

/** The same, on an answer that Node has prepared. A connection whose body nobody will read is not used again. */
export function sendError(
  request: IncomingMessage,
  answer: ServerResponse,
  errorResponse: ErrorResponse,
): void {
  if (answer.headersSent) return void answer.destroy();
  if (hasBody(request)) deferCloseUntilBody(request, answer);
  const text = JSON.stringify(errorBody(errorResponse));
  answer.writeHead(errorResponse[0], {
    "Cache-Control": "no-store",
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": Buffer.byteLength(text),
    ...(errorResponse[0] === 404 && !hasBody(request) ? {} : { Connection: "close" }),
  });
  answer.end(text);
}

/** Answers in the middle of a request and ends it: nothing may follow on this connection. */
export function abortRequest(
  request: IncomingMessage,
  answer: ServerResponse,
  errorResponse: ErrorResponse,
): void {
  const { socket } = request;
  const isNext = answer.socket === socket && !answer.headersSent; // else an earlier answer is still on its way
  if (isNext) writeError(socket, errorResponse);
  else socket.destroy();
}
