import { ServerResponse, type IncomingMessage, type Server } from "node:http";
import { Server as TlsServer } from "node:tls";
import type { Duplex } from "node:stream";
import { hasBody } from "./responses.ts";

const headerTokens = (value: string | undefined): string[] =>
  (value ?? "")
    .split(",")
    .map((token) => token.trim().toLowerCase())
    .filter((token) => token !== "");

/** An upgrade to anything else (`h2c`, `TLS/1.0`) may be ignored, and is: RFC 9110 7.8. */
export function isWebSocketUpgrade({ headers: { upgrade } }: IncomingMessage): boolean {
  return (
    upgrade === "websocket" ||
    headerTokens(upgrade).some((token) => token.split("/")[0] === "websocket")
  );
}

const upgradeTokens = new Set(["upgrade", "http2-settings"]);

/** The request without its upgrade, as the last one of its connection. */
function plainHead({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`, "Connection: close"];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    const lower = name.toLowerCase();
    if (upgradeTokens.has(lower) || lower === "connection") continue;
    lines.push(`${name}: ${rawHeaders[at + 1]!.replace(/[\r\n]+/g, " ")}`);
  }
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
}

/** A response for the last request of a connection; undefined while another one is under way. */
function lastResponse(request: IncomingMessage): ServerResponse | undefined {
  const answer = new ServerResponse(request);
  answer.shouldKeepAlive = false;
  try {
    answer.assignSocket(request.socket);
    return answer;
  } catch {
    return undefined;
  }
}

/** Serves an upgrade request whose body Node has parsed (Node 26). Node has removed its own
 *  listeners from the socket. */
function serveParsed(
  server: Server,
  request: IncomingMessage,
  answer: ServerResponse,
  rest: Duplex,
): void {
  const { socket } = request;
  for (const each of new Set([socket, rest])) each.on("error", () => socket.destroy());
  for (const name of upgradeTokens) delete request.headers[name];
  answer.once("finish", () => socket.destroySoon());
  server.emit("request", request, answer);
}

/**
 * Serves an upgrade request as the plain request it also is, and closes its connection after the
 * response: what follows the request and its body is discarded, since the client may have meant it
 * for the other protocol. Closes the connection immediately if the client did not wait for the
 * response to an earlier request.
 */
export function serveAsPlain(
  server: Server,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  const answer = lastResponse(request);
  if (answer === undefined) return void socket.destroy();
  if (!request.complete || request.readableLength > 0)
    return serveParsed(server, request, answer, socket);
  answer.detachSocket(request.socket);
  socket.unshift(hasBody(request) ? Buffer.concat([plainHead(request), head]) : plainHead(request));
  server.emit(server instanceof TlsServer ? "secureConnection" : "connection", socket);
}
