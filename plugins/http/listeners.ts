/** Opens and closes the listeners of this process. */
import { get, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Log } from "../../kernel/index.ts";
import { cacheServerUrls, isLoopback, serverUrls } from "./addresses.ts";
import {
  createDescriptorGuard,
  openFilesLimit,
  type ConnectionLimits,
} from "./connection-limits.ts";
import { httpErrors } from "./errors.ts";
import type { ClientFault } from "./log-limiter.ts";
import type { Router } from "./router.ts";
import { createHttpServer, trackConnections, type ServerShutdown, type Tls } from "./server.ts";
import type { Http, Listener } from "./service.ts";

const probeTimeoutMs = 1_000;

/**
 * Asks the program on a port whether it is a launcher.
 *
 * @returns " (by a launcher that is already running)", or an empty string.
 */
function describePortOwner(port: number, host = "127.0.0.1"): Promise<string> {
  return new Promise((resolve) => {
    const unknown = (): void => resolve("");
    const options = {
      host,
      port,
      path: "/healthz",
      agent: false,
      signal: AbortSignal.timeout(probeTimeoutMs),
    };
    const request = get(options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text = `${text}${part}`.slice(0, 100);
      });
      response.on("error", unknown).on("end", () => {
        const isLauncher =
          text.startsWith('{"status":"ok"') &&
          response.headers["referrer-policy"] === "no-referrer";
        resolve(isLauncher ? " (by a launcher that is already running)" : "");
      });
    });
    request.on("error", unknown);
  });
}

interface BindOptions {
  readonly port: number;
  /** Undefined for all interfaces. */
  readonly host: string | undefined;
  /** How to fix an unavailable port, as the end of a sentence. */
  readonly remedy: string;
}

async function bindError(
  code: string | undefined,
  { port, host, remedy }: BindOptions,
): Promise<Error> {
  if (code === "EADDRINUSE")
    return httpErrors.HTTP_PORT_IN_USE(port, await describePortOwner(port, host), remedy);
  if (code === "EACCES") return httpErrors.HTTP_PORT_FORBIDDEN(port, remedy);
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
    return httpErrors.HTTP_ADDRESS_UNAVAILABLE(host ?? "");
  return httpErrors.HTTP_LISTEN_FAILED(port, code ?? "unknown");
}

/** Starts listening. Rejects with an error that names the fix. */
export function listen(server: Server, { port, host, remedy }: BindOptions): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    const onError = ({ code }: NodeJS.ErrnoException): void =>
      void bindError(code, { port, host, remedy }).then(reject);
    server.once("error", onError);
    server.listen({ port, ...(host === undefined ? {} : { host }) }, () => {
      server.off("error", onError);
      resolve(server.address() as AddressInfo);
    });
  });
}

export interface ListenerSet {
  /** Plans a listener. @throws HTTP_LISTENER_TAKEN if it is planned already. */
  plan(listener: Listener, bind: BindOptions): void;
  /** The listeners that `plan` has added. */
  readonly planned: { has(listener: Listener): boolean };
  /** Opens all planned listeners in order. A failure closes those that are open. */
  open(router: Router, tls: Tls | undefined, opened: (url: URL) => void): Promise<void>;
  addresses(listener: Listener): URL[];
  stopAccepting(): void;
  finish(): Promise<void>;
}

interface ListenerEntry {
  readonly bind: BindOptions;
  running?: { readonly shutdown: ServerShutdown; readonly urls: () => URL[] };
}

interface ListenersOptions {
  readonly basePath: string;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly log: Log;
  readonly limits: Pick<ConnectionLimits, "watch">;
  readonly note: (fault: ClientFault) => void;
}

export function createListenerSet(options: ListenersOptions): ListenerSet {
  const { basePath, now, log, limits, note } = options;
  const entries = new Map<Listener, ListenerEntry>();
  const running = (): ServerShutdown[] =>
    [...entries.values()].flatMap((entry) => entry.running?.shutdown ?? []);

  async function start(
    listener: Listener,
    entry: ListenerEntry,
    router: Router,
    tls: Tls | undefined,
  ): Promise<void> {
    const server = createHttpServer(listener, router, { tls, note });
    const shutdown = trackConnections(server);
    const limit = await openFilesLimit();
    if (limit !== undefined) server.on("connection", createDescriptorGuard(limit, now, log));
    limits.watch(server);
    await listen(server, entry.bind);
    entry.running = {
      shutdown,
      urls: cacheServerUrls(now, () => serverUrls(server, basePath, entry.bind.host)),
    };
  }

  const listeners: ListenerSet = {
    planned: entries,

    plan(listener, bind) {
      if (entries.has(listener)) throw httpErrors.HTTP_LISTENER_TAKEN(listener);
      entries.set(listener, { bind });
    },

    async open(router, tls, opened) {
      try {
        for (const [listener, entry] of entries) await start(listener, entry, router, tls);
      } catch (error) {
        listeners.stopAccepting();
        await listeners.finish();
        throw error;
      }
      for (const listener of entries.keys())
        listeners.addresses(listener).slice(0, 1).forEach(opened);
    },

    addresses(listener) {
      return entries.get(listener)?.running?.urls() ?? [];
    },

    stopAccepting: () => running().forEach((shutdown) => shutdown.stopAccepting()),

    async finish() {
      await Promise.all(running().map((shutdown) => shutdown.finish()));
      for (const entry of entries.values()) delete entry.running;
    },
  };
  return listeners;
}

type Addresses = Pick<Http, "url" | "addresses" | "isPublic" | "sharesOrigin" | "open">;

interface AddressOptions {
  readonly server: Server | undefined;
  readonly basePath: string;
  readonly hostName: string | undefined;
  /** Undefined for all interfaces. */
  readonly bindHost: string | undefined;
  readonly listeners: ListenerSet;
}

/** Creates the part of the service that answers where Doorward is reachable. */
export function createAddresses({
  server,
  basePath,
  hostName,
  bindHost,
  listeners,
}: AddressOptions): Addresses {
  const hostUrls = (of: Server): URL[] => {
    const urls = serverUrls(of, basePath);
    if (hostName === undefined) return urls;
    for (const url of urls) url.hostname = hostName;
    return urls.slice(0, 1);
  };
  return {
    url: (path) => `${basePath}${path.startsWith("/") ? "" : "/"}${path}`,
    addresses: (listener = "dashboard") => {
      if (listener === "gateway" && listeners.planned.has("gateway"))
        return listeners.addresses("gateway");
      return server ? hostUrls(server) : listeners.addresses("dashboard");
    },
    isPublic: () => {
      const hosts = server
        ? serverUrls(server, basePath).map(({ hostname }) => hostname)
        : [bindHost];
      return hosts.some((name) => name === undefined || !isLoopback(name));
    },
    sharesOrigin: () => basePath !== "" || (server !== undefined && hostName === undefined),
    open: (listener, { port, host }) =>
      listeners.plan(listener, {
        port,
        host: host ?? bindHost,
        remedy: "choose another port in the setting gateway.port",
      }),
  };
}
