/** Routes requests and WebSocket upgrades to their handlers, and checks their headers. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { nextTick } from "node:process";
import type { Duplex } from "node:stream";
import type { Clock, Log, Release } from "../../kernel/index.ts";
import { runningTimerOf } from "../../lib/running-time.ts";
import { httpErrors } from "./errors.ts";
import type { ClientFault } from "./log-limiter.ts";
import { closeWithConnection } from "./connection-limits.ts";
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
import { fullPath, parseTarget, stripBasePath, type RequestTarget } from "./requests.ts";

const defaultBodyTimeoutS = 30;
const hostHeader = "host";
const authorizationHeader = "authorization";

interface RouterOptions {
  readonly basePath: string;
  /** The only host name that is served. Undefined for every host name. */
  readonly hostName: string | undefined;
  /** The listeners that are open, or will be. */
  readonly planned: Planned;
  readonly peer: (request: IncomingMessage) => Peer;
  readonly clock: Clock;
  readonly log: Log;
  /** Runs for a WebSocket upgrade without a route. */
  readonly lost: (address: string) => void;
  readonly note: (fault: ClientFault) => void;
  /** Runs for each routed request before its handler, which waits for a returned promise. */
  readonly arrive: ((request: IncomingMessage) => Promise<void> | undefined) | undefined;
}
type Planned = Pick<ReadonlySet<Listener>, "has">;

interface MatchedRoute<H> {
  readonly target: RequestTarget;
  readonly route: Route<H>;
}

/** Counts headers, because Node silently takes the first of two lines and a proxy may take the
 *  second. */
function checkHeaders(
  request: IncomingMessage,
  target: RequestTarget,
  options: Pick<RouteOptions, "anyAuthorization" | "anyHost">,
): ErrorResponse | undefined {
  const { rawHeaders, headers } = request;
  let hosts = 0;
  let authorizations = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === hostHeader.length && name.toLowerCase() === hostHeader) hosts += 1;
    if (name === ":authority") hosts += 1;
    if (name.length === authorizationHeader.length && name.toLowerCase() === authorizationHeader)
      authorizations += 1;
  }
  if (authorizations > 1 && !options.anyAuthorization) return errorResponses.twoAuthorizations;
  if (options.anyHost) return undefined;
  return hosts === 1 && /^[\w.~:[\]-]+$/.test(target.host ?? headers.host ?? "")
    ? undefined
    : errorResponses.badHost;
}

/** A proxy that removes the prefix is the usual reason. */
const outsideBasePath = (basePath: string): ErrorResponse => [
  404,
  "not_found",
  `All paths of Doorward begin with ${basePath} ("base_path" in launcher-config.json). ` +
    "A proxy must pass them on unchanged.",
];

export class Router {
  readonly requests: RouteTable<RequestHandler>;
  readonly upgrades: RouteTable<UpgradeHandler>;
  readonly hostName: string | undefined;
  private readonly options: RouterOptions;
  private readonly interceptors = new Set<Interceptor>();
  /** Requests of other listeners than that of the dashboard. */
  private readonly listeners = new WeakMap<IncomingMessage, Listener>();

  constructor(options: RouterOptions) {
    this.options = options;
    this.hostName = options.hostName;
    this.requests = new RouteTable(options.planned);
    this.upgrades = new RouteTable(options.planned);
  }

  /** @returns The prefixes that the dashboard listener serves, with the base path. */
  paths(): string[] {
    const paths = [...this.requests.paths(), ...this.upgrades.paths()];
    return paths.map((path) => fullPath(this.options.basePath, path));
  }

  listener(request: IncomingMessage): Listener {
    return this.listeners.get(request) ?? "dashboard";
  }

  /** @returns The error for a request, or for a WebSocket upgrade, without a route. */
  unserved(request: IncomingMessage, kind: "request" | "upgrade"): ErrorResponse {
    const target = parseTarget(request.url ?? "");
    if (target === undefined && request.url !== "*") return errorResponses.badTarget;
    const fault = target && checkHeaders(request, target, {});
    if (fault) return fault;
    if (kind === "upgrade") this.options.lost(this.options.peer(request).address);
    const { basePath } = this.options;
    const isOutside = target !== undefined && stripBasePath(basePath, target.path) === undefined;
    return isOutside ? outsideBasePath(basePath) : errorResponses.notFound;
  }

  /** @returns Whether a request route of the dashboard listener matches. */
  serves(request: IncomingMessage): boolean {
    return this.findRequest("dashboard", request) !== undefined;
  }

  /** @returns `false`, without any effect on the request, if no route matches. */
  request(listener: Listener, request: IncomingMessage, response: ServerResponse): boolean {
    const matchedRoute = this.findRequest(listener, request);
    if (matchedRoute === undefined) return false;
    closeWithConnection(request, response);
    if (request.socket.writableEnded) return true; // follows the last response of its connection
    const { target, route } = matchedRoute;
    setSecurityHeaders(response);
    this.prepare(listener, request, target);
    const fault = checkHeaders(request, target, route.options);
    if (fault) {
      this.noteMalformed(request, fault);
      sendError(request, response, fault);
    } else if (!this.isIntercepted(request, response)) {
      this.limitBody(request, response, route.options.bodySeconds ?? defaultBodyTimeoutS);
      const wait = this.options.arrive?.(request);
      if (wait) void wait.then(() => this.runRequest(route, request, response));
      else this.runRequest(route, request, response);
    }
    return true;
  }

  /** Lets a function see each routed request before its handler. */
  intercept(interceptor: Interceptor): Release {
    this.interceptors.add(interceptor);
    return () => void this.interceptors.delete(interceptor);
  }

  private isIntercepted(request: IncomingMessage, response: ServerResponse): boolean {
    for (const intercept of this.interceptors) if (intercept(request, response)) return true;
    return false;
  }

  /** @returns `false`, without any effect on the socket, if no route matches. */
  upgrade(listener: Listener, request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    const { arrive } = this.options;
    const matchedRoute = this.find(request, (path) => this.upgrades.exact(listener, path));
    if (matchedRoute === undefined) return false;
    const { target, route } = matchedRoute;
    this.prepare(listener, request, target);
    const { anyAuthorization = false } = route.options;
    const fault = checkHeaders(request, target, { anyAuthorization, anyHost: false });
    if (fault) {
      this.noteMalformed(request, fault);
      writeError(socket, fault);
      return true;
    }
    const wait = arrive?.(request);
    if (wait)
      void waitGuardingSocket(socket, wait).then(
        (isAlive) => isAlive && this.runUpgrade(route, request, socket, head),
      );
    else this.runUpgrade(route, request, socket, head);
    return true;
  }

  private find<H>(
    request: IncomingMessage,
    match: (path: string) => Route<H> | undefined,
  ): MatchedRoute<H> | undefined {
    const target = parseTarget(request.url ?? "");
    const { hostName } = this;
    if (hostName !== undefined && target && this.hostNameOf(request, target) !== hostName)
      return undefined;
    const path = target && stripBasePath(this.options.basePath, target.path);
    const route = path === undefined ? undefined : match(path);
    return target && route && { target, route };
  }

  private hostNameOf(request: IncomingMessage, target: RequestTarget): string {
    const host = target.host?.toLowerCase() ?? this.options.peer(request).host;
    return host.replace(/:\d*$/, "");
  }

  private findRequest(
    listener: Listener,
    request: IncomingMessage,
  ): MatchedRoute<RequestHandler> | undefined {
    return this.find(request, (path) => this.requests.longest(listener, path, request.method));
  }

  /** Removes the base path from the URL, and resolves the peer while the socket is open. */
  private prepare(listener: Listener, request: IncomingMessage, target: RequestTarget): void {
    const { basePath, peer } = this.options;
    request.url = `${stripBasePath(basePath, target.path) ?? "/"}${target.search}`;
    // RFC 9112 section 3.2.2: the host of an absolute target replaces the header.
    if (target.host !== undefined) request.headers.host = target.host;
    if (listener !== "dashboard") this.listeners.set(request, listener);
    peer(request);
  }

  private noteMalformed(request: IncomingMessage, [, , text]: ErrorResponse): void {
    const { address } = this.options.peer(request);
    this.options.note({ reason: "malformed_request", address, text, level: "info" });
  }

  /**
   * Limits the time until the body has arrived. Most bodies arrive with their head: they are
   * complete in the next tick, before the response can be.
   */
  private limitBody(request: IncomingMessage, response: ServerResponse, seconds: number): void {
    if (!hasBody(request)) return;
    nextTick(() => {
      if (!request.complete && !request.destroyed) this.awaitBody(request, response, seconds);
    });
  }

  private awaitBody(request: IncomingMessage, response: ServerResponse, seconds: number): void {
    const { clock, peer, note } = this.options;
    deferCloseUntilBody(request, response);
    const { address } = peer(request);
    const onAborted = (): void => {
      if (response.headersSent) return;
      const text = "a client closed its connection before its request was complete";
      note({ reason: "aborted_request", address, text, level: "info" });
    };
    request.once("aborted", onAborted);
    const stopTimer = runningTimerOf(clock)(seconds * 1_000, () => {
      if (request.complete) return;
      request.off("aborted", onAborted);
      const text = "the body of a request took too long to arrive";
      note({ reason: "request_timeout", address, text, level: "info" });
      abortRequest(request, response, errorResponses.timeout);
    });
    // Not the events of the response: body bytes may still arrive after it.
    request.once("end", stopTimer).once("close", stopTimer);
  }

  private runRequest(
    route: Route<RequestHandler>,
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    const onFailure = (error: unknown): void => {
      this.options.log.error({ err: error, route: route.path }, "a request handler failed");
      sendError(request, response, errorResponses.internal);
    };
    try {
      Promise.resolve<unknown>(route.handle(request, response)).catch(onFailure);
    } catch (error) {
      onFailure(error);
    }
  }

  private runUpgrade(
    route: Route<UpgradeHandler>,
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): void {
    try {
      route.handle(request, socket, head);
    } catch (error) {
      this.options.log.error({ err: error, route: route.path }, "an upgrade handler failed");
      socket.destroy();
    }
  }
}

/**
 * Waits with an error listener on the socket: an unhandled socket error would end the process.
 *
 * @returns Whether the socket is still open.
 */
async function waitGuardingSocket(socket: Duplex, wait: Promise<void>): Promise<boolean> {
  const onError = (): void => void socket.destroy();
  socket.on("error", onError);
  await wait;
  socket.off("error", onError);
  return !socket.destroyed;
}

type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;
type Interceptor = (request: IncomingMessage, response: ServerResponse) => boolean;
type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

interface Route<H> {
  readonly path: string;
  readonly handle: H;
  readonly options: RouteOptions;
}

/**
 * Routes of one kind (requests or upgrades), one table per listener. Unless a listener is planned
 * for the gateway, the dashboard listener also serves its routes; its own routes precede them.
 */
class RouteTable<H> {
  private readonly planned: Planned;
  private readonly tables = {
    dashboard: new Map<string, Route<H>>(),
    gateway: new Map<string, Route<H>>(),
  };

  constructor(planned: Planned) {
    this.planned = planned;
  }

  add(kind: string, path: string, handle: H, options: RouteOptions): void {
    const table = this.tables[options.listener ?? "dashboard"];
    if (table.has(path)) throw httpErrors.HTTP_ROUTE_TAKEN(kind, path);
    table.set(path, { path, handle, options });
  }

  exact(listener: Listener, path: string): Route<H> | undefined {
    const { planned, tables } = this;
    const isShared = listener === "dashboard" && !planned.has("gateway");
    return tables[listener].get(path) ?? (isShared ? tables.gateway.get(path) : undefined);
  }

  /** Finds the longest registered path that equals the path or a prefix of whole segments. */
  longest(listener: Listener, path: string, method = ""): Route<H> | undefined {
    for (
      let prefix = path.endsWith("/") ? path.slice(0, -1) : path;
      prefix !== "";
      prefix = prefix.slice(0, prefix.lastIndexOf("/"))
    ) {
      const route = this.exact(listener, prefix);
      if (route?.options.methods?.includes(method) ?? route !== undefined) return route;
    }
    return this.exact(listener, "/");
  }

  /** @returns The registered paths that the dashboard listener serves. */
  paths(): string[] {
    const { dashboard, gateway } = this.tables;
    return [...dashboard.keys(), ...(this.planned.has("gateway") ? [] : gateway.keys())];
  }
}
