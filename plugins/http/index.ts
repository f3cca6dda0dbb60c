/** The HTTP plugin: listeners or the server of a host, routes, peers and limiters. */
import type { IncomingMessage, Server } from "node:http";
import type { Http2SecureServer } from "node:http2";
import type { Server as TlsServer } from "node:https";
import type { Awaitable, Log, Plugin, Scope } from "../../kernel/index.ts";
import { loopbackNetworks } from "./addresses.ts";
import { launcherSchema, type HttpConfig, type HttpInput } from "./config.ts";
import { ConnectionLimits, openFilesLimit } from "./connection-limits.ts";
import { httpErrors } from "./errors.ts";
import {
  assertHostName,
  assertHostPath,
  assertServer,
  attachToHostServer,
  type HostPaths,
} from "./host-server.ts";
import { createHostIdentities, createIdentities, hostKind } from "./identities.ts";
import { createLimiters } from "./limiter.ts";
import { createLogLimiter, type ClientFault, type LogLimiter } from "./log-limiter.ts";
import { createPublicUrl } from "./public-url.ts";
import {
  createPeerResolver,
  createTrust,
  fullPath,
  isBasePath,
  normaliseBasePath,
} from "./requests.ts";
import { ResponseBudget, writeResponse } from "./responses.ts";
import {
  createRouteTable,
  createRouter,
  type RequestHandler,
  type Router,
  type RouteTable,
  type UpgradeHandler,
} from "./router.ts";
import { createAddresses, createListenerSet, type ListenerSet } from "./listeners.ts";
import { checkTls } from "./server.ts";
import type { HostIdentity, Http, HttpEvents } from "./service.ts";

export { isLoopback, loopbackNetworks } from "./addresses.ts";
export type { HttpConfig, GatewayConfig } from "./config.ts";
export type {
  HttpEvents,
  HostIdentity,
  Http,
  Identity,
  Limiter,
  Listener,
  Peer,
  RouteOptions,
  SessionAccess,
  Verdict,
} from "./service.ts";
export { gateway } from "./gateway.ts";
export type { ClientFault } from "./log-limiter.ts";

/** Options of `http()`. They override the settings. */
export interface HttpOptions {
  /** The server of a host. The routes are added to it; Doorward never opens or closes it. One of
   *  HTTP/2 needs `allowHTTP1: true`, because WebSockets use HTTP/1. */
  readonly server?: Server | TlsServer | Http2SecureServer;
  /** TCP port; 0 selects a free port. */
  readonly port?: number;
  /** Address to listen on. */
  readonly host?: string;
  /** Prefix of all paths, such as `/agent`. */
  readonly basePath?: string;
  /** With `server`: the host name that Doorward serves, such as `chat.example.org`. Requests for
   *  other names reach the host. @defaultValue every host name */
  readonly hostName?: string;
  /** Session check of a host, in addition to the sign-in of the dashboard: names the person of a
   *  request and the sessions they may use. It runs once for each routed request. If it rejects,
   *  takes longer than 5 s or returns an invalid identity, the request is unauthenticated. */
  readonly identify?: (request: IncomingMessage) => Awaitable<HostIdentity | undefined>;
}

type HttpShape = {
  config: HttpConfig;
  section: { launcher: HttpInput };
  emits: HttpEvents;
  offers: { http: Http };
};

const restartKeys = ["port", "host", "public", "base_path", "tls"] as const;
type RestartKey = (typeof restartKeys)[number];
const changedKeys = (next: HttpConfig, before: HttpConfig): RestartKey[] =>
  restartKeys.filter((key) => JSON.stringify(next[key]) !== JSON.stringify(before[key]));

/** Returns the settings that an option overrides; a change of them has no effect. */
function overriddenKeys({ server, port, host, basePath }: HttpOptions): ReadonlySet<RestartKey> {
  const keys: RestartKey[] = server ? ["port", "host", "public", "tls"] : [];
  if (port !== undefined) keys.push("port");
  if (host !== undefined) keys.push("host", "public");
  if (basePath !== undefined) keys.push("base_path");
  return new Set(keys);
}

function resolveBasePath(options: HttpOptions, settings: HttpConfig): string {
  const path = options.basePath ?? settings.base_path;
  if (!isBasePath(path)) throw httpErrors.HTTP_BASE_PATH(path);
  return normaliseBasePath(path);
}

function createConnectionLimits(
  { config, log }: Scope<HttpShape>,
  isTrusted: (address: string) => boolean,
  faults: LogLimiter,
): ConnectionLimits {
  return new ConnectionLimits({
    limits: () => ({
      total: config().max_unauthenticated_connections,
      perAddress: config().max_unauthenticated_per_address,
    }),
    isTrusted,
    rejected: (address, limit) => faults.note(log, tooManyConnections(address, limit)),
  });
}

function tooManyConnections(address: string, limit: "total" | "address"): ClientFault {
  const setting =
    limit === "total" ? "max_unauthenticated_connections" : "max_unauthenticated_per_address";
  const text = "a new connection was closed: too many connections have not authenticated";
  return { reason: "too_many_connections", address, text, fields: { setting } };
}

function warnOfLoopback({ trusted_proxies }: HttpConfig, log: Log): void {
  const [network] = loopbackNetworks(trusted_proxies);
  if (network === undefined) return;
  const text =
    "trusted_proxies contains a loopback address: any program on this machine can set the client " +
    "address, and so evade the limit on wrong tokens";
  log.warn({ setting: "trusted_proxies", network }, text);
}

/** Reports which changed settings need a restart, and which have no effect. */
function followSettings({ onConfig, log }: Scope<HttpShape>, options: HttpOptions): void {
  const overridden = overriddenKeys(options);
  onConfig((next, before) => {
    if (String(next.trusted_proxies) !== String(before.trusted_proxies)) warnOfLoopback(next, log);
    const changed = changedKeys(next, before);
    const afterRestart = changed.filter((key) => !overridden.has(key));
    // Unusable files are rejected now, because the next start would fail.
    if (next.tls && afterRestart.includes("tls")) checkTls(next.tls);
    return { afterRestart, ignored: changed.filter((key) => overridden.has(key)) };
  });
}

/** Opens the listeners when all plugins have started, and closes them at stop. */
function openWhenReady(
  { onReady, emit, config }: Scope<HttpShape>,
  server: Server | undefined,
  { router, paths }: Routing,
  listeners: ListenerSet,
): void {
  const { tls } = config();
  onReady(async () => {
    const release = server ? attachToHostServer(server, router, paths) : undefined;
    try {
      await listeners.open(router, tls, (url) => emit("http:listening", { url: url.href }));
    } catch (error) {
      release?.();
      throw error;
    }
    return () => {
      release?.();
      listeners.stopAccepting();
    };
  });
}

interface Routing {
  readonly router: Router;
  readonly paths: HostPaths;
  readonly requests: RouteTable<RequestHandler>;
  readonly upgrades: RouteTable<UpgradeHandler>;
  readonly identities: ReturnType<typeof createIdentities>;
  readonly peer: Http["peer"];
}

interface RoutingOptions {
  readonly basePath: string;
  readonly hostName: string | undefined;
  readonly identify: HttpOptions["identify"];
  readonly isTrusted: (address: string) => boolean;
  readonly faults: LogLimiter;
  readonly listeners: ListenerSet;
}

/** Creates route tables and router, and registers the session check of the host. */
function createRouting(
  { clock, log, emit }: Scope<HttpShape>,
  { basePath, hostName, identify, isTrusted, faults, listeners }: RoutingOptions,
): Routing {
  const requests = createRouteTable<RequestHandler>(listeners.planned);
  const upgrades = createRouteTable<UpgradeHandler>(listeners.planned);
  const peer = createPeerResolver(isTrusted, log);
  const identities = createIdentities(peer);
  const noteFailure = (request: IncomingMessage, why: string): void =>
    faults.note(log, {
      reason: "identify_failed",
      address: peer(request).address,
      text: "identify() of the host failed, so the request was rejected",
      fields: { why },
    });
  const host = identify && createHostIdentities(identify, noteFailure, clock);
  if (host) {
    identities.registerIdentity("owner", host.findOwner);
    identities.registerIdentity(hostKind, host.find);
  }
  const router = createRouter({
    basePath,
    hostName,
    requests,
    upgrades,
    peer,
    clock,
    log,
    lost: (address) => emit("http:upgrade-unserved", { address }),
    note: (fault) => faults.note(log, fault),
    arrive: host?.ask,
  });
  const paths: HostPaths = {
    hostName,
    list: () => [...requests.paths(), ...upgrades.paths()].map((path) => fullPath(basePath, path)),
  };
  return { router, paths, requests, upgrades, identities, peer };
}

/**
 * Creates the HTTP plugin. It listens when all plugins have started, or serves on the server of a
 * host.
 *
 * @throws HTTP_SERVER if `options.server` is not an HTTP server.
 * @throws HTTP_BASE_PATH if the base path is not valid.
 * @throws HTTP_PORT_IN_USE if another program uses the port.
 * @throws HTTP_PORT_FORBIDDEN if this user may not open the port.
 * @throws HTTP_ADDRESS_UNAVAILABLE if the host is not an address of this machine.
 * @throws HTTP_LISTEN_FAILED if the port cannot be opened for another reason.
 * @throws HTTP_TLS_UNREADABLE if certificate or key cannot be used.
 * @example
 * import { createKernel } from "doorward";
 * import { http } from "doorward/plugins/http";
 * import { memory, tokenStore } from "doorward/plugins/token-store";
 * const kernel = createKernel([tokenStore(memory()), http({ port: 0, basePath: "/agent" })]);
 */
export function http(options: HttpOptions = {}): Plugin<HttpShape> {
  return {
    name: "http",
    api: 1,
    config: { section: "launcher", schema: launcherSchema },

    start(scope) {
      const { config, onStop, clock, log } = scope;
      if ("server" in options) assertServer(options);
      // An HTTP/2 server has the events of one for HTTP/1, and its requests their form.
      const server = options.server as Server | undefined;
      const hostName = assertHostName(options);
      const settings = config();
      const basePath = resolveBasePath(options, settings);
      const bindHost = options.host ?? settings.host ?? (settings.public ? undefined : "127.0.0.1");

      const faults = createLogLimiter(clock);
      onStop(faults.stop);
      const note = (fault: ClientFault): void => faults.note(log, fault);
      const isTrusted = createTrust(config);
      const limits = createConnectionLimits(scope, isTrusted, faults);
      const listeners = createListenerSet({ basePath, now: () => clock.now(), log, limits, note });
      const routing = createRouting(scope, {
        basePath,
        hostName,
        identify: options.identify,
        isTrusted,
        faults,
        listeners,
      });

      const port = options.port ?? settings.port;
      const isOption = options.port !== undefined;
      const remedy = isOption ? "pass another one to http({ port })" : "start with -port N";
      if (!server) listeners.plan("dashboard", { port, host: bindHost, remedy });
      onStop(listeners.finish);
      warnOfLoopback(settings, log);
      followSettings(scope, options);
      openWhenReady(scope, server, routing, listeners);

      const { router, requests, upgrades, identities, peer } = routing;
      const checkPath = (path: string): void => {
        if (server) assertHostPath(server, routing.paths, fullPath(basePath, path));
      };
      const offered: Http = {
        request(prefix, handle, route = {}) {
          const path = normaliseBasePath(prefix) || "/";
          checkPath(path);
          requests.add("path", path, handle, route);
        },
        upgrade(path, handle, route = {}) {
          checkPath(path);
          upgrades.add("upgrade", path, handle, route);
        },
        rejectUpgrade: writeResponse,
        ...identities,
        peer,
        markAuthenticated: limits.markAuthenticated,
        noteFault: faults.note,
        clientFaults: faults.counts,
        trustedLoopback: () => loopbackNetworks(config().trusted_proxies)[0],
        listener: (request) => router.listener(request),
        ...createAddresses({ server, basePath, hostName, bindHost, listeners }),
        ...createPublicUrl(basePath),
        ...createLimiters(scope),
        holdResponse: new ResponseBudget(peer).hold,
        openFiles: openFilesLimit,
      };
      return { http: offered };
    },
  };
}
