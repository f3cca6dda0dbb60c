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

export class ListenerSet {
  private readonly options: ListenersOptions;
  private readonly entries = new Map<Listener, ListenerEntry>();
  /** The listeners that `plan` has added. */
  readonly planned: Pick<ReadonlyMap<Listener, unknown>, "has"> = this.entries;

  constructor(options: ListenersOptions) {
    this.options = options;
  }

  /** Plans a listener. @throws HTTP_LISTENER_TAKEN if it is planned already. */
  plan(listener: Listener, bind: BindOptions): void {
    if (this.entries.has(listener)) throw httpErrors.HTTP_LISTENER_TAKEN(listener);
    this.entries.set(listener, { bind });
  }

  /** Opens all planned listeners in order. A failure closes those that are open. */
  async open(router: Router, tls: Tls | undefined, opened: (url: URL) => void): Promise<void> {
    try {
      for (const [listener, entry] of this.entries) await this.start(listener, entry, router, tls);
    } catch (error) {
      this.stopAccepting();
      await this.finish();
      throw error;
    }
    for (const listener of this.entries.keys())
      this.addresses(listener).slice(0, 1).forEach(opened);
  }

  addresses(listener: Listener): URL[] {
    return this.entries.get(listener)?.running?.urls() ?? [];
  }

  stopAccepting(): void {
    for (const shutdown of this.running()) shutdown.stopAccepting();
  }

  async finish(): Promise<void> {
    await Promise.all(this.running().map((shutdown) => shutdown.finish()));
    for (const entry of this.entries.values()) delete entry.running;
  }

  private running(): ServerShutdown[] {
    return [...this.entries.values()].flatMap((entry) => entry.running?.shutdown ?? []);
  }

  private async start(
    listener: Listener,
    entry: ListenerEntry,
    router: Router,
    tls: Tls | undefined,
  ): Promise<void> {
    const { basePath, now, log, limits, note } = this.options;
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
}

type Addresses = Pick<
  Http,
  | "url"
  | "addresses"
  | "nameHosts"
  | "isNamedHost"
  | "publish"
  | "publicUrl"
  | "isPublic"
  | "sharesOrigin"
  | "open"
>;

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
  let findPublicUrl = (): string | undefined => undefined;
  let isNamedHost = (_: string): boolean => false;
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
    nameHosts: (isNamed) => void (isNamedHost = isNamed),
    isNamedHost: (name) => isNamedHost(name),
    publish: (publicUrl) => void (findPublicUrl = publicUrl),
    publicUrl(path) {
      const text = findPublicUrl();
      if (text === undefined) return undefined;
      const { origin, pathname } = new URL(text);
      const base = pathname === "/" ? basePath : pathname.replace(/\/$/, "");
      return origin + base + path;
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
