import type { IncomingMessage, Server } from "node:http";
import type { Server as TlsServer } from "node:https";
import type { Awaitable, Log, Plugin } from "../../kernel/index.ts";
import { isLoopback, loopbackNetworks, serverUrls } from "./addresses.ts";
import {
  gatewaySchema,
  launcherSchema,
  type GatewayConfig,
  type GatewayInput,
  type HttpConfig,
  type HttpInput,
} from "./config.ts";
import { ConnectionLimits } from "./connection-limits.ts";
import { openFilesLimit } from "./descriptor-guard.ts";
import { httpErrors } from "./errors.ts";
import { assertServer, attachToHostServer } from "./host-server.ts";
import { createHostIdentities, createIdentities } from "./identities.ts";
import { createLimiter } from "./limiter.ts";
import { createLogLimiter, type ClientFault } from "./log-limiter.ts";
import { createPeerResolver, createTrust } from "./peers.ts";
import { writeResponse } from "./responses.ts";
import {
  createRouteTable,
  createRouter,
  type RequestHandler,
  type UpgradeHandler,
} from "./router.ts";
import { checkTls, createListenerSet } from "./server.ts";
import type { HostIdentity, Http, HttpEvents, Limiter } from "./service.ts";
import { isBasePath, normaliseBasePath } from "./target.ts";

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
  Verdict,
} from "./service.ts";
export type { ClientFault } from "./log-limiter.ts";

export interface HttpOptions {
  /** A host's own server: our routes are added to it, it is never listened on nor closed by us. */
  readonly server?: Server | TlsServer;
  /** 0: a free port. It wins over the setting, as `host` and `basePath` do. */
  readonly port?: number;
  readonly host?: string;
  readonly basePath?: string;
  /** A host's own session check: who sends the request, or nobody. Asked once for each request that is ours; it stands
   *  beside the dashboard's sign-in. A rejection is nobody, and so is whoever is not named in 5 s. */
  readonly identify?: (request: IncomingMessage) => Awaitable<HostIdentity | undefined>;
}

const restartKeys = ["port", "host", "public", "base_path", "tls"] as const;
type RestartKey = (typeof restartKeys)[number];
const changedKeys = (next: HttpConfig, before: HttpConfig): RestartKey[] =>
  restartKeys.filter((key) => JSON.stringify(next[key]) !== JSON.stringify(before[key]));

/** Settings that the options stand above: nothing waits for them. */
function overriddenKeys({ server, port, host, basePath }: HttpOptions): ReadonlySet<RestartKey> {
  const keys: RestartKey[] = server ? ["port", "host", "public", "tls"] : [];
  if (port !== undefined) keys.push("port");
  if (host !== undefined) keys.push("host", "public");
  if (basePath !== undefined) keys.push("base_path");
  return new Set(keys);
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

/** The listener, or a host's server: everybody's routes and upgrades, peers, limiters, links. Opened when all have
 *  started. */
export function http(options: HttpOptions = {}): Plugin<{
  config: HttpConfig;
  section: { launcher: HttpInput };
  emits: HttpEvents;
  offers: { http: Http };
}> {
  return {
    name: "http",
    api: 1,
    config: { section: "launcher", schema: launcherSchema },

    start({ config, onConfig, onReady, onStop, emit, clock, log, random }) {
      if ("server" in options) assertServer(options.server);
      const settings = config();
      const fixed = overriddenKeys(options);
      const givenPath = options.basePath ?? settings.base_path;
      if (!isBasePath(givenPath)) throw httpErrors.HTTP_BASE_PATH(givenPath);
      const basePath = normaliseBasePath(givenPath);
      const bindHost = options.host ?? settings.host ?? (settings.public ? undefined : "127.0.0.1");

      const faults = createLogLimiter(clock);
      onStop(faults.stop);
      const note = (fault: ClientFault): void => faults.note(log, fault);
      const isTrusted = createTrust(() => config().trusted_proxies);
      const limits = new ConnectionLimits({
        limits: () => ({
          total: config().max_unauthenticated_connections,
          perAddress: config().max_unauthenticated_per_address,
        }),
        isTrusted,
        rejected: (address, limit) => note(tooManyConnections(address, limit)),
      });
      const listeners = createListenerSet({ basePath, now: () => clock.now(), log, limits, note });
      const limiters: Limiter[] = [];
      const gatewayOpen = (): boolean => listeners.isPlanned("gateway");
      const requests = createRouteTable<RequestHandler>(gatewayOpen);
      const upgrades = createRouteTable<UpgradeHandler>(gatewayOpen);
      const peer = createPeerResolver(isTrusted, log);
      const identities = createIdentities(peer);
      const host = options.identify && createHostIdentities(options.identify, log, clock);
      if (host) {
        identities.registerIdentity("owner", host.findOwner);
        identities.registerIdentity("host", host.find);
      }
      const lost = (address: string): void => emit("http:upgrade-unserved", { address });
      const dispatcher = createRouter({
        basePath,
        requests,
        upgrades,
        peer,
        clock,
        log,
        lost,
        note,
        arrive: host?.ask,
      });

      const port = options.port ?? settings.port;
      const isOption = options.port !== undefined;
      const remedy = isOption ? "pass another one to http({ port })" : "start with -port N";
      if (!options.server) listeners.plan("dashboard", { port, host: bindHost, remedy });
      onStop(listeners.finish);
      warnOfLoopback(settings, log);
      onConfig((next, before) => {
        if (String(next.trusted_proxies) !== String(before.trusted_proxies))
          warnOfLoopback(next, log);
        const changed = changedKeys(next, before);
        const afterRestart = changed.filter((key) => !fixed.has(key));
        if (next.tls && afterRestart.includes("tls")) checkTls(next.tls); // else the next start would fail
        return { afterRestart, ignored: changed.filter((key) => fixed.has(key)) };
      });
      onReady(async () => {
        const release = options.server ? attachToHostServer(options.server, dispatcher) : undefined;
        const announce = (url: URL): void => emit("http:listening", { url: url.href });
        try {
          await listeners.open(dispatcher, settings.tls, announce);
        } catch (error) {
          release?.();
          throw error;
        }
        return () => {
          release?.();
          listeners.stopAccepting();
        };
      });

      const offered: Http = {
        request: (prefix, handle, route = {}) =>
          requests.add("path", normaliseBasePath(prefix) || "/", handle, route),
        upgrade: (path, handle, route = {}) => upgrades.add("upgrade", path, handle, route),
        rejectUpgrade: writeResponse,
        ...identities,
        peer,
        markAuthenticated: ({ socket }) => limits.markAuthenticated(socket),
        noteFault: faults.note,
        clientFaults: faults.counts,
        listener: dispatcher.listener,
        url: (path) => `${basePath}${path.startsWith("/") ? "" : "/"}${path}`,
        addresses: (listener = "dashboard") => {
          if (listener === "gateway" && gatewayOpen()) return listeners.addresses("gateway");
          return options.server
            ? serverUrls(options.server, basePath)
            : listeners.addresses("dashboard");
        },
        isPublic: () => {
          const hosts = options.server
            ? serverUrls(options.server, basePath).map(({ hostname }) => hostname)
            : [bindHost];
          return hosts.some((name) => name === undefined || !isLoopback(name));
        },
        sharesOrigin: () => basePath !== "" || options.server !== undefined,
        open: (listener, where) =>
          listeners.plan(listener, {
            port: where.port,
            host: where.host ?? bindHost,
            remedy: "choose another in the setting gateway.port",
          }),
        limiter: ({ attempts } = {}) => {
          const limiter = createLimiter({
            clock,
            secret: random(32),
            ...(attempts ? { attempts } : {}),
          });
          limiters.push(limiter);
          return limiter;
        },
        openFiles: openFilesLimit,
        unblock: (address) => limiters.forEach((limiter) => limiter.unblock(address)),
      };
      return { http: offered };
    },
  };
}

/** A listener of its own for the channels, apart from the dashboard's: opened when `gateway.port` is set. */
export function gateway(): Plugin<{
  config: GatewayConfig;
  section: { gateway: GatewayInput };
  needs: { http: Http };
}> {
  return {
    name: "gateway",
    api: 1,
    needs: { http: true },
    config: { section: "gateway", schema: gatewaySchema },

    start({ needs, config, onConfig }) {
      const { port, host } = config();
      if (port !== undefined) needs.http.open("gateway", { port, host });
      onConfig((next, before) => ({
        afterRestart: (["port", "host"] as const).filter((key) => next[key] !== before[key]),
      }));
    },
  };
}
