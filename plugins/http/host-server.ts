/** Serves the routes on an HTTP server that belongs to a host application. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Release } from "../../kernel/index.ts";
import type { Router } from "./router.ts";
import { httpErrors } from "./errors.ts";
import { serveAsPlain, isWebSocketUpgrade } from "./upgrade.ts";

type Emit = Server["emit"];

/**
 * Checks that a host has passed an HTTP server.
 *
 * @throws HTTP_SERVER for undefined, a function, a framework object or any other value.
 */
export function assertServer(server: unknown): void {
  if (server === undefined)
    throw httpErrors.HTTP_SERVER("undefined", "create the server first, or leave the option out");
  if (typeof server === "function")
    throw httpErrors.HTTP_SERVER(
      "a function, such as an Express app",
      "pass createServer(app) of node:http, and call listen() of that server",
    );
  const { emit, on, server: inner } = (server ?? {}) as Record<string, unknown>;
  if (typeof emit === "function" && typeof on === "function") return;
  throw inner === undefined
    ? httpErrors.HTTP_SERVER("a value that isn't a server", "pass an http.Server or https.Server")
    : httpErrors.HTTP_SERVER("an app, such as that of Fastify", "pass app.server");
}

/**
 * Serves the routes on a server of a host. It wraps `emit`, because an event listener could not
 * keep a request from the other listeners of the server, such as those added later. Requests
 * without a route reach the host unchanged. It never calls `listen` or `close`.
 */
export function attachToHostServer(server: Server, router: Router): Release {
  let active = true;
  const before: Emit = server.emit;
  const hadOwnEmit = Object.hasOwn(server, "emit");
  /** Node emits "upgrade" only if a listener exists; the wrapped `emit` does the work. */
  const marker = (): void => {};

  const request = (request: IncomingMessage, response: ServerResponse): boolean =>
    router.request("dashboard", request, response);

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

  return () => {
    active = false;
    server.off("upgrade", marker);
    // If other code has wrapped `emit` again, this wrapper stays and only forwards.
    if (server.emit !== (wrapped as Emit)) return;
    if (hadOwnEmit) server.emit = before;
    else delete (server as { emit?: Emit }).emit;
  };
}
