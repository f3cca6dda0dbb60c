/** Detects WebSocket upgrades, and serves other upgrade requests as plain HTTP. */
import { ServerResponse, type IncomingMessage, type Server } from "node:http";
import { Server as TlsServer } from "node:tls";
import type { Duplex } from "node:stream";
import { hasBody } from "./responses.ts";

const headerTokens = (value: string | undefined): string[] =>
  (value ?? "")
    .split(",")
    .map((token) => token.trim().toLowerCase())
    .filter((token) => token !== "");

/** Other upgrades (`h2c`, `TLS/1.0`) are ignored, as RFC 9110 section 7.8 permits. */
export function isWebSocketUpgrade({ headers: { upgrade } }: IncomingMessage): boolean {
  return (
    upgrade === "websocket" ||
    headerTokens(upgrade).some((token) => token.split("/")[0] === "websocket")
  );
}

const upgradeTokens = new Set(["upgrade", "http2-settings"]);

/** Serialises the request without its upgrade headers, with `Connection: close`. */
function plainHead({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`, "Connection: close"];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    const lower = name.toLowerCase();
    if (upgradeTokens.has(lower) || lower === "connection") continue;
    lines.push(`${name}: ${rawHeaders[index + 1]!.replace(/[\r\n]+/g, " ")}`);
  }
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
}

/** Creates the last response of a connection, or undefined if another one is in progress. */
function lastResponse(request: IncomingMessage): ServerResponse | undefined {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  try {
    response.assignSocket(request.socket);
    return response;
  } catch {
    return undefined;
  }
}

/** Serves an upgrade request with a body that Node has parsed (Node 26). Node has removed its
 *  listeners from the socket. */
function serveParsed(
  server: Server,
  request: IncomingMessage,
  response: ServerResponse,
  rest: Duplex,
): void {
  const { socket } = request;
  for (const stream of new Set([socket, rest])) stream.on("error", () => socket.destroy());
  for (const name of upgradeTokens) delete request.headers[name];
  response.once("finish", () => socket.destroySoon());
  server.emit("request", request, response);
}

/**
 * Serves an upgrade request as a plain request and closes its connection after the response. Bytes
 * after the request and its body are discarded, because the client may have meant them for the
 * other protocol. If a response to an earlier request is in progress, it closes the connection
 * immediately.
 */
export function serveAsPlain(
  server: Server,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  const response = lastResponse(request);
  if (response === undefined) return void socket.destroy();
  if (!request.complete || request.readableLength > 0)
    return serveParsed(server, request, response, socket);
  response.detachSocket(request.socket);
  socket.unshift(hasBody(request) ? Buffer.concat([plainHead(request), head]) : plainHead(request));
  server.emit(server instanceof TlsServer ? "secureConnection" : "connection", socket);
}
