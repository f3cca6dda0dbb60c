import { ServerResponse, type IncomingMessage, type Server } from "node:http";
import { Server as TlsServer } from "node:tls";
import type { Duplex } from "node:stream";

const tokensOf = (value: string | undefined): string[] =>
  (value ?? "")
    .split(",")
    .map((token) => token.trim().toLowerCase())
    .filter((token) => token !== "");

/** An upgrade to anything else (`h2c`, `TLS/1.0`) may be ignored, and is: RFC 9110 7.8. */
export function wantsWebSocket({ headers: { upgrade } }: IncomingMessage): boolean {
  return (
    upgrade === "websocket" ||
    tokensOf(upgrade).some((token) => token.split("/")[0] === "websocket")
  );
}

const upgradeTokens = new Set(["upgrade", "http2-settings"]);

function headWithoutUpgrade({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    const value = rawHeaders[at + 1]!.replace(/[\r\n]+/g, " ");
    const lower = name.toLowerCase();
    if (upgradeTokens.has(lower)) continue;
    const kept =
      lower === "connection"
        ? tokensOf(value).filter((token) => !upgradeTokens.has(token))
        : [value];
    if (kept.length > 0) lines.push(`${name}: ${kept.join(", ")}`);
  }
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
}

/** Where the body comes by the request (Node 26), and no more behind it, the request is the last of its connection:
 *  Node has taken its own listeners away. One that did not wait for the answer before it gets none. */
function serveWithBody(server: Server, request: IncomingMessage, rest: Duplex): void {
  const { socket } = request;
  for (const each of new Set([socket, rest])) each.on("error", () => socket.destroy());
  for (const name of upgradeTokens) delete request.headers[name];
  const answer = new ServerResponse(request);
  answer.shouldKeepAlive = false;
  try {
    answer.assignSocket(socket);
  } catch {
    return void socket.destroy();
  }
  answer.once("finish", () => socket.destroySoon());
  server.emit("request", request, answer);
}

/** Gives an upgrade request back to its server as the plain request it also is, with what was read after it. */
export function serveAsPlain(
  server: Server,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  if (!request.complete || request.readableLength > 0)
    return serveWithBody(server, request, socket);
  socket.unshift(Buffer.concat([headWithoutUpgrade(request), head]));
  server.emit(server instanceof TlsServer ? "secureConnection" : "connection", socket);
}
