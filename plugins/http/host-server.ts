/** Serves the routes on an HTTP server that belongs to a host application. */
import {
  Server as HttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { Server as HttpsServer } from "node:https";
import { Server as NetServer } from "node:net";
import type { Duplex } from "node:stream";
import type { Release } from "../../kernel/index.ts";
import { httpErrors } from "./errors.ts";
import { isHttp2 } from "./responses.ts";
import type { Router } from "./router.ts";
import { serveAsPlain, isWebSocketUpgrade } from "./upgrade.ts";

type Emit = Server["emit"];

const hostNamePattern =
  /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

/**
 * Returns the host name that Doorward serves on a server of a host, in lower case.
 *
 * @throws HTTP_HOST_NAME if it is not a host name, or there is no server.
 */
export function assertHostName(options: {
  readonly server?: unknown;
  readonly hostName?: string | undefined;
}): string | undefined {
  const name = options.hostName?.toLowerCase();
  if (name === undefined) return undefined;
  if (options.server === undefined || !hostNamePattern.test(name))
    throw httpErrors.HTTP_HOST_NAME(String(options.hostName));
  return name;
}

interface HostOptions {
  readonly server?: unknown;
  readonly port?: number;
}

/**
 * Checks that a host has passed an HTTP server.
 *
 * @throws HTTP_SERVER for undefined, a function, a framework object or any other value, and for a
 * port in addition.
 */
export function assertServer({ server, port }: HostOptions): void {
  if (server === undefined)
    throw httpErrors.HTTP_SERVER("undefined", "create the server first, or leave the option out");
  if (typeof server === "function")
    throw httpErrors.HTTP_SERVER(
      "a function, such as an Express app",
      "pass createServer(app) of node:http, and call listen() of that server",
    );
  const { emit, on, server: inner } = (server ?? {}) as Record<string, unknown>;
  if (typeof emit === "function" && typeof on === "function") {
    assertHttp1(server as object);
    if (port === undefined) return;
    const fix = "leave it out, and pass it to listen() of your server";
    throw httpErrors.HTTP_SERVER("also a port, which it would ignore", fix);
  }
  throw inner === undefined
    ? httpErrors.HTTP_SERVER("a value that isn't a server", "pass an http.Server or https.Server")
    : httpErrors.HTTP_SERVER("an app, such as that of Fastify", "pass app.server");
}

/**
 * WebSockets need HTTP/1. Node has no class to recognise a server of HTTP/2 by; only one that also
 * accepts HTTP/1 has timeouts for it.
 */
function assertHttp1(server: object): void {
  if (!(server instanceof NetServer)) return;
  if (server instanceof HttpServer || server instanceof HttpsServer) return;
  const { name } = server.constructor;
  if (name === "Http2SecureServer") {
    if ("headersTimeout" in server) return;
    const fix = "pass allowHTTP1: true to createSecureServer, because WebSockets need HTTP/1";
    throw httpErrors.HTTP_SERVER("an HTTP/2 server without HTTP/1", fix);
  }
  if (name === "Http2Server") {
    const fix = "pass a server of node:http, because browsers and WebSockets do not use it";
    throw httpErrors.HTTP_SERVER("an HTTP/2 server without TLS (h2c)", fix);
  }
  throw httpErrors.HTTP_SERVER("a server of node:net or node:tls", "pass one of node:http");
}

/** The routers of the kernels on a server. */
const routersOf = new WeakMap<Server, Set<Router>>();

const covers = (prefix: string, path: string): boolean =>
  prefix === "/" || prefix === path || path.startsWith(`${prefix}/`);

/**
 * Checks a path that a plugin registers on a server of a host.
 *
 * @throws HTTP_HOST_PATH if it would take every path of the host.
 * @throws HTTP_PATH_TAKEN if another kernel on the server serves it, a path below or one above.
 */
export function assertHostPath(server: Server, own: Router, path: string): void {
  if (path === "/" && own.hostName === undefined) throw httpErrors.HTTP_HOST_PATH();
  assertPathsFree(server, own, [path]);
}

function assertPathsFree(server: Server, own: Router, added = own.paths()): void {
  for (const other of routersOf.get(server) ?? []) {
    if (other === own) continue;
    const [name, otherName] = [own.hostName, other.hostName];
    if (name !== undefined && otherName !== undefined && name !== otherName) continue;
    const taken = other.paths();
    const clash = added.find((path) => taken.some((at) => covers(at, path) || covers(path, at)));
    if (clash !== undefined) throw httpErrors.HTTP_PATH_TAKEN(clash);
  }
}

const isHttp2Server = (server: object): boolean => server.constructor.name === "Http2SecureServer";

/** Headers of a connection, which HTTP/2 does not have. */
const connectionHeaders: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "transfer-encoding",
]);

type Headers = Record<string, unknown> | undefined;

const withoutConnection = (headers: Headers): Headers =>
  headers &&
  Object.fromEntries(
    Object.entries(headers).filter(([name]) => !connectionHeaders.has(name.toLowerCase())),
  );

/** Gives a request over HTTP/2 its `Host`; its response has no headers of a connection. */
function adaptHttp2(request: IncomingMessage, response: ServerResponse): void {
  const { headers } = request;
  const authority = headers[":authority"];
  if (typeof authority === "string") headers.host ??= authority;
  const writeHead = response.writeHead.bind(response) as (...given: unknown[]) => ServerResponse;
  const adapted = (status: number, second?: unknown, third?: unknown): ServerResponse =>
    writeHead(status, withoutConnection((typeof second === "string" ? third : second) as Headers));
  response.writeHead = adapted as typeof response.writeHead;
}

const respondNotFound = (_: IncomingMessage, response: ServerResponse): void =>
  void response.writeHead(404).end();

/**
 * Serves the routes on a server of a host. It wraps `emit`, because an event listener could not
 * keep a request from the other listeners of the server, such as those added later. Requests
 * without a route reach the host unchanged. It never calls `listen` or `close`.
 *
 * @throws HTTP_PATH_TAKEN if another kernel on the server serves one of the paths.
 */
export function attachToHostServer(server: Server, router: Router): Release {
  assertPathsFree(server, router);
  const routers = routersOf.get(server) ?? new Set();
  routersOf.set(server, routers.add(router));
  let active = true;
  const before: Emit = server.emit;
  const hadOwnEmit = Object.hasOwn(server, "emit");
  /** Node emits "upgrade" only if a listener exists; the wrapped `emit` does the work. */
  const marker = (): void => {};

  function request(request: IncomingMessage, response: ServerResponse): boolean {
    if (isHttp2(request) && router.serves(request)) adaptHttp2(request, response);
    return router.request("dashboard", request, response);
  }

  function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    const isWebSocket = isWebSocketUpgrade(request);
    if (isWebSocket && router.upgrade("dashboard", request, socket, head)) return true;
    const hostHandlesUpgrades = server.listenerCount("upgrade") > 1;
    if (hostHandlesUpgrades && (isWebSocket || !router.serves(request))) return false;
    serveAsPlain(server, request, socket, head);
    return true;
  }

  const wrapped = function (this: Server, type: string, ...args: unknown[]): boolean {
    if (active && type === "request" && request(...(args as [IncomingMessage, ServerResponse])))
      return true;
    if (active && type === "upgrade" && upgrade(...(args as [IncomingMessage, Duplex, Buffer])))
      return true;
    return Reflect.apply(before, this, [type, ...args]) as boolean;
  };
  server.emit = wrapped as Emit;
  server.on("upgrade", marker);
  // Node passes requests over HTTP/2 on only if the server has a listener.
  const answersAlone = isHttp2Server(server) && server.listenerCount("request") === 0;
  if (answersAlone) server.on("request", respondNotFound);

  return () => {
    active = false;
    routers.delete(router);
    server.off("upgrade", marker);
    if (answersAlone) server.off("request", respondNotFound);
    // If other code has wrapped `emit` again, this wrapper stays and only forwards.
    if (server.emit !== (wrapped as Emit)) return;
    if (hadOwnEmit) server.emit = before;
    else delete (server as { emit?: Emit }).emit;
  };
}
