import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Release } from "../../kernel/index.ts";
import type { Router } from "./router.ts";
import { httpErrors } from "./errors.ts";
import { serveAsPlain, isWebSocketUpgrade } from "./upgrade.ts";

type Emit = Server["emit"];

/** Throws HTTP_SERVER for a value that hosts pass by mistake in place of a server. */
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
 * Serves our routes on a server that belongs to somebody else. Its `emit` is wrapped, since a listener of ours could
 * not keep a request from the listeners beside it, nor from those that are added later. What is not ours goes on
 * untouched. Never listens, never closes.
 */
export function attachToHostServer(server: Server, router: Router): Release {
  let active = true;
  const before: Emit = server.emit;
  const hadOwn = Object.hasOwn(server, "emit");
  /** Node announces upgrades only to servers with a listener for them; the wrapped `emit` does the work. */
  const marker = (): void => {};

  const request = (request: IncomingMessage, response: ServerResponse): boolean =>
    router.request("dashboard", request, response);

  function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    const isWebSocket = isWebSocketUpgrade(request);
    if (isWebSocket && router.upgrade("dashboard", request, socket, head)) return true;
    const hostTakesUpgrades = server.listenerCount("upgrade") > 1;
    if (hostTakesUpgrades && (isWebSocket || !router.serves(request))) return false;
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
    if (server.emit !== (wrapped as Emit)) return; // wrapped again by somebody else: stays, and does nothing
    if (hadOwn) server.emit = before;
    else delete (server as { emit?: Emit }).emit;
  };
}
