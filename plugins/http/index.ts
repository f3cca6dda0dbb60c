/** The HTTP plugin: listeners or the server of a host, routes, peers and limiters. */
import type { IncomingMessage, Server } from "node:http";
import type { Http2SecureServer } from "node:http2";
import type { Server as TlsServer } from "node:https";
import type { Awaitable, Log, Plugin, Scope } from "../../kernel/index.ts";
import { loopbackNetworks, withoutBrackets, normaliseAddress } from "./addresses.ts";
import { launcherSchema, type HttpConfig, type HttpInput } from "./config.ts";
import { ConnectionLimits, openFilesLimit } from "./connection-limits.ts";
import { httpErrors } from "./errors.ts";
import { assertHostName, assertHostPath, assertServer, attachToHostServer } from "./host-server.ts";
import { createIdentities, registerHost } from "./identities.ts";
import { createLimiters } from "./limiter.ts";
import { createAddresses, ListenerSet } from "./listeners.ts";
import { createLogLimiter, type ClientFault } from "./log-limiter.ts";
import {
  createPeerResolver,
  createTrust,
  fullPath,
  isBasePath,
  normaliseBasePath,
} from "./requests.ts";
import { ResponseBudget, writeResponse } from "./responses.ts";
import { Router } from "./router.ts";
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
  Permission,
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

const createConnectionLimits = (
  config: () => HttpConfig,
  isTrusted: (address: string) => boolean,
  note: (fault: ClientFault) => void,
): ConnectionLimits =>
  new ConnectionLimits({
    limits: () => ({
      total: config().max_unauthenticated_connections,
      perAddress: config().max_unauthenticated_per_address,
    }),
    isTrusted,
    rejected: (address, limit) => note(tooManyConnections(address, limit)),
  });

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
  router: Router,
  listeners: ListenerSet,
): void {
  const { tls } = config();
  onReady(async () => {
    const release = server ? attachToHostServer(server, router) : undefined;
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
      const { config, onStop, clock, log, emit } = scope;
      if ("server" in options) assertServer(options);
      // An HTTP/2 server has the events of one for HTTP/1, and its requests their form.
      const server = options.server as Server | undefined;
      const hostName = assertHostName(options);
      const settings = config();
      const basePath = resolveBasePath(options, settings);
      const given = options.host === undefined ? settings.host : withoutBrackets(options.host);
      const bindHost = given ?? (settings.public ? undefined : "127.0.0.1");

      const faults = createLogLimiter(clock);
      onStop(faults.stop);
      const note = (fault: ClientFault): void => faults.note(log, fault);
      const isTrusted = createTrust(config);
      const limits = createConnectionLimits(config, isTrusted, note);
      const listeners = new ListenerSet({ basePath, now: () => clock.now(), log, limits, note });
      const peer = createPeerResolver(isTrusted, log);
      const identities = createIdentities(peer);
      const { identify: check } = options;
      const router = new Router({
        basePath,
        hostName,
        planned: listeners.planned,
        peer,
        clock,
        log,
        note,
        lost: (address) => emit("http:upgrade-unserved", { address }),
        arrive: check && registerHost(identities, { check, peer, note, clock }),
      });

      const port = options.port ?? settings.port;
      const isOption = options.port !== undefined;
      const remedy = isOption ? "pass another one to http({ port })" : "start with -port N";
      if (!server) listeners.plan("dashboard", { port, host: bindHost, remedy });
      onStop(() => listeners.finish());
      warnOfLoopback(settings, log);
      followSettings(scope, options);
      openWhenReady(scope, server, router, listeners);

      const checkPath = (path: string): void => {
        if (server) assertHostPath(server, router, fullPath(basePath, path));
      };
      const offered: Http = {
        request(prefix, handle, route = {}) {
          const path = normaliseBasePath(prefix) || "/";
          checkPath(path);
          router.requests.add("path", path, handle, route);
        },
        upgrade(path, handle, route = {}) {
          checkPath(path);
          router.upgrades.add("upgrade", path, handle, route);
        },
        intercept: (interceptor) => router.intercept(interceptor),
        rejectUpgrade: writeResponse,
        ...identities,
        peer,
        isFromTrustedProxy: ({ socket }) =>
          socket.remoteAddress !== undefined && isTrusted(normaliseAddress(socket.remoteAddress)),
        markAuthenticated: limits.markAuthenticated,
        noteFault: faults.note,
        clientFaults: faults.counts,
        trustedLoopback: () => loopbackNetworks(config().trusted_proxies)[0],
        listener: (request) => router.listener(request),
        ...createAddresses({ server, basePath, hostName, bindHost, listeners }),
        ...createLimiters(scope),
        holdResponse: new ResponseBudget(peer).hold,
        openFiles: openFilesLimit,
      };
      return { http: offered };
    },
  };
}
