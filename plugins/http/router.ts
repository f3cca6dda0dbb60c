import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock, Log } from "../../kernel/index.ts";
import { httpErrors } from "./errors.ts";
import type { ClientFault } from "./log-limiter.ts";
import { closeWithConnection } from "./pipeline.ts";
import {
  abortRequest,
  deferCloseUntilBody,
  errorResponses,
  hasBody,
  sendError,
  setSecurityHeaders,
  writeError,
  type ErrorResponse,
} from "./responses.ts";
import type { Listener, Peer, RouteOptions } from "./service.ts";
import { parseTarget, stripBasePath, type RequestTarget } from "./target.ts";

const defaultBodyTimeoutS = 30;
const hostName = "host";
const authorizationName = "authorization";

export interface Router {
  /** `false`: nobody here serves it, and it was not touched. */
  request(listener: Listener, request: IncomingMessage, answer: ServerResponse): boolean;
  upgrade(listener: Listener, request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  /** What an own server answers to a request that nobody serves; `upgrade`: to a WebSocket. */
  unserved(request: IncomingMessage, kind: "request" | "upgrade"): ErrorResponse;
  /** Whether a request route of the first listener fits. */
  serves(request: IncomingMessage): boolean;
  listener(request: IncomingMessage): Listener;
}

export interface RouterOptions {
  readonly basePath: string;
  readonly requests: RouteTable<RequestHandler>;
  readonly upgrades: RouteTable<UpgradeHandler>;
  readonly peer: (request: IncomingMessage) => Peer;
  readonly clock: Clock;
  readonly log: Log;
  /** Told of a WebSocket that nobody serves, and who it was. */
  readonly lost: (address: string) => void;
  readonly note: (fault: ClientFault) => void;
  /** Asked of each request that is ours before its route; a promise is waited for. */
  readonly arrive?: ((request: IncomingMessage) => Promise<void> | undefined) | undefined;
}

interface MatchedRoute<H> {
  readonly target: RequestTarget;
  readonly route: Route<H>;
}

/** Of two Host or Authorization lines Node takes the first without a word; a proxy may have taken the second. */
function checkHeaders(
  request: IncomingMessage,
  target: RequestTarget,
  options: RouteOptions,
): ErrorResponse | undefined {
  const { rawHeaders, headers } = request;
  let hosts = 0;
  let authorizations = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (name.length === hostName.length && name.toLowerCase() === hostName) hosts += 1;
    if (name.length === authorizationName.length && name.toLowerCase() === authorizationName)
      authorizations += 1;
  }
  if (authorizations > 1 && !options.anyAuthorization) return errorResponses.twoAuthorizations;
  if (options.anyHost) return undefined;
  return hosts === 1 && /^[\w.~:[\]-]+$/.test(target.host ?? headers.host ?? "")
    ? undefined
    : errorResponses.badHost;
}

export function createRouter(options: RouterOptions): Router {
  const { basePath, requests, upgrades, peer, clock, log, lost, note, arrive } = options;
  const arrivedBy = new WeakMap<IncomingMessage, Listener>();

  function find<H>(
    request: IncomingMessage,
    match: (path: string) => Route<H> | undefined,
  ): MatchedRoute<H> | undefined {
    const target = parseTarget(request.url ?? "");
    const path = target && stripBasePath(basePath, target.path);
    const route = path === undefined ? undefined : match(path);
    return target && route && { target, route };
  }

  /** From here on the request is ours: it loses the base path, and its peer is fixed while the socket lives. */
  function take(listener: Listener, request: IncomingMessage, target: RequestTarget): void {
    request.url = `${stripBasePath(basePath, target.path) ?? "/"}${target.search}`;
    if (target.host !== undefined) request.headers.host = target.host; // RFC 9112 3.2.2: it replaces the header
    arrivedBy.set(request, listener);
    peer(request);
  }

  function noteMalformed(request: IncomingMessage, [, , text]: ErrorResponse): void {
    note({ reason: "malformed_request", address: peer(request).address, text, level: "info" });
  }

  function limitBody(request: IncomingMessage, answer: ServerResponse, seconds: number): void {
    if (!hasBody(request)) return;
    deferCloseUntilBody(request, answer);
    const { address } = peer(request);
    const aborted = (): void => {
      if (answer.headersSent) return;
      const text = "a client closed its connection in the middle of a request";
      note({ reason: "aborted_request", address, text, level: "info" });
    };
    request.once("aborted", aborted);
    const timer = clock.setTimeout(() => {
      if (request.complete) return;
      request.off("aborted", aborted);
      const text = "the body of a request took too long to arrive";
      note({ reason: "request_timeout", address, text, level: "info" });
      abortRequest(request, answer, errorResponses.timeout);
    }, seconds * 1_000);
    const done = (): void => clock.clearTimeout(timer);
    request.once("end", done).once("close", done); // not the answer's: a body may drip on after it
  }

  function run(
    route: Route<RequestHandler>,
    request: IncomingMessage,
    answer: ServerResponse,
  ): void {
    const failed = (error: unknown): void => {
      log.error({ err: error, route: route.path }, "a request handler failed");
      sendError(request, answer, errorResponses.internal);
    };
    try {
      Promise.resolve<unknown>(route.handle(request, answer)).catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  function hand(
    route: Route<UpgradeHandler>,
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): void {
    try {
      route.handle(request, socket, head);
    } catch (error) {
      log.error({ err: error, route: route.path }, "an upgrade handler failed");
      socket.destroy();
    }
  }

  return {
    listener: (request) => arrivedBy.get(request) ?? "dashboard",

    unserved(request, kind) {
      const target = parseTarget(request.url ?? "");
      if (target === undefined && request.url !== "*") return errorResponses.badTarget;
      const fault = target && checkHeaders(request, target, {});
      if (fault) return fault;
      if (kind === "upgrade") lost(peer(request).address);
      return errorResponses.notFound;
    },

    serves: (request) => find(request, (path) => requests.longest("dashboard", path)) !== undefined,

    request(listener, request, answer) {
      const matchedRoute = find(request, (path) => requests.longest(listener, path));
      if (matchedRoute === undefined) return false;
      closeWithConnection(request, answer);
      if (request.socket.writableEnded) return true; // behind the last answer of its connection
      const { target, route } = matchedRoute;
      setSecurityHeaders(answer);
      take(listener, request, target);
      const fault = checkHeaders(request, target, route.options);
      if (fault) {
        noteMalformed(request, fault);
        sendError(request, answer, fault);
      } else {
        limitBody(request, answer, route.options.bodySeconds ?? defaultBodyTimeoutS);
        const wait = arrive?.(request);
        if (wait) void wait.then(() => run(route, request, answer));
        else run(route, request, answer);
      }
      return true;
    },

    upgrade(listener, request, socket, head) {
      const matchedRoute = find(request, (path) => upgrades.exact(listener, path));
      if (matchedRoute === undefined) return false;
      const { target, route } = matchedRoute;
      take(listener, request, target);
      const fault = checkHeaders(request, target, { ...route.options, anyHost: false });
      if (fault) {
        noteMalformed(request, fault);
        writeError(socket, fault);
        return true;
      }
      const wait = arrive?.(request);
      if (wait)
        void waitGuardingSocket(socket, wait).then(
          (alive) => alive && hand(route, request, socket, head),
        );
      else hand(route, request, socket, head);
      return true;
    },
  };
}

/** A socket without a listener for its errors ends the process. Answers whether it lived through the wait. */
async function waitGuardingSocket(socket: Duplex, wait: Promise<void>): Promise<boolean> {
  const broken = (): void => void socket.destroy();
  socket.on("error", broken);
  await wait;
  socket.off("error", broken);
  return !socket.destroyed;
}

export type RequestHandler = (request: IncomingMessage, answer: ServerResponse) => void;
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

export interface Route<H> {
  readonly path: string;
  readonly handle: H;
  readonly options: RouteOptions;
}

/** The routes of one kind (requests, upgrades), apart for each listener. */
export interface RouteTable<H> {
  add(kind: string, path: string, handle: H, options: RouteOptions): void;
  exact(listener: Listener, path: string): Route<H> | undefined;
  /** The longest registered path that is the path or ends at one of its slashes. */
  longest(listener: Listener, path: string): Route<H> | undefined;
}

/** While `gatewayOpen` is false, routes of the gateway are served on the only listener, after that one's own. */
export function createRouteTable<H>(gatewayOpen: () => boolean): RouteTable<H> {
  const tables = { dashboard: new Map<string, Route<H>>(), gateway: new Map<string, Route<H>>() };

  function exact(listener: Listener, path: string): Route<H> | undefined {
    const own = tables[listener].get(path);
    return (
      own ?? (listener === "dashboard" && !gatewayOpen() ? tables.gateway.get(path) : undefined)
    );
  }

  return {
    exact,

    add(kind, path, handle, options) {
      const table = tables[options.listener ?? "dashboard"];
      if (table.has(path)) throw httpErrors.HTTP_ROUTE_TAKEN(kind, path);
      table.set(path, { path, handle, options });
    },

    longest(listener, path) {
      for (
        let prefix = path.replace(/\/$/, "");
        prefix !== "";
        prefix = prefix.slice(0, prefix.lastIndexOf("/"))
      ) {
        const route = exact(listener, prefix);
        if (route) return route;
      }
      return exact(listener, "/");
    },
  };
}
