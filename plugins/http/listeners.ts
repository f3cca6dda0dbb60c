/** Opens the listeners of this process, tracks their connections and closes them at shutdown. */
import { get, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { Server as TlsServer } from "node:tls";
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
import { createHttpServer, type Tls } from "./server.ts";
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
  isPlanned(listener: Listener): boolean;
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
    isPlanned: (listener) => entries.has(listener),

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

/** A set for thousands of short-lived items. */
interface ItemSet<T extends object> {
  has(item: T): boolean;
  /** The item must not be in the set already. */
  add(item: T): void;
  delete(item: T): void;
  all(): T[];
}

type IndexedItem = Record<symbol, number | undefined>;

/**
 * Creates a set on an array: each item stores its index, and the last item replaces a deleted one.
 * A `Set` keeps memory: when a `Set` in V8's old generation grows, its new table is old as well,
 * and the previous table keeps its items alive until the next full collection.
 */
function createItemSet<T extends object>(): ItemSet<T> {
  const index = Symbol("index");
  const items: (T | undefined)[] = [];
  let count = 0;
  const indexOf = (item: T): number | undefined => (item as IndexedItem)[index];
  const setIndex = (item: T, value: number | undefined): void =>
    void ((item as IndexedItem)[index] = value);

  return {
    has: (item) => indexOf(item) !== undefined,
    add(item) {
      items[count] = item;
      setIndex(item, count);
      count += 1;
    },
    delete(item) {
      const position = indexOf(item);
      if (position === undefined) return;
      count -= 1;
      const last = items[count]!;
      items[position] = last;
      setIndex(last, position);
      setIndex(item, undefined);
      items[count] = undefined; // not popped: a shrunk array is reallocated when it grows again
    },
    all: () => items.slice(0, count) as T[],
  };
}

const finishTimeoutMs = 1_000;

interface ServerShutdown {
  /** Accepts no new connections, and no further requests on open ones. */
  stopAccepting(): void;
  /** Waits up to one second for current responses, then closes all sockets, upgraded ones too. */
  finish(): Promise<void>;
}

function collectSockets(server: Server, event: "connection" | "secureConnection"): ItemSet<Duplex> {
  const sockets = createItemSet<Duplex>();
  /** One function for all sockets, because each idle WebSocket would keep its own closure. */
  function onClose(this: Duplex): void {
    sockets.delete(this);
  }
  server.on(event, (socket: Duplex) => {
    if (sockets.has(socket)) return; // `serveAsPlain` emits the event a second time
    sockets.add(socket);
    socket.on("close", onClose);
  });
  return sockets;
}

/** Tracks a server from its first connection on, so that shutdown closes all of them. */
function trackConnections(server: Server): ServerShutdown {
  const rawSockets = collectSockets(server, "connection");
  /** The sockets that requests refer to; with TLS they differ from the raw ones. */
  const sockets =
    server instanceof TlsServer ? collectSockets(server, "secureConnection") : rawSockets;
  const responses = createItemSet<ServerResponse>();
  /** One function for all responses, as above. */
  function onResponseClose(this: ServerResponse): void {
    responses.delete(this);
    if (closed) server.closeIdleConnections();
  }
  let closed: Promise<void> | undefined;

  server.prependListener("request", (_: IncomingMessage, response: ServerResponse) => {
    responses.add(response);
    if (closed) response.setHeader("Connection", "close");
    response.on("close", onResponseClose);
  });

  const waitForClose = (response: ServerResponse): Promise<void> =>
    new Promise((done) => void response.once("close", () => done()));

  return {
    stopAccepting() {
      if (!server.listening) return;
      closed = new Promise((done) => void server.close(() => done()));
      for (const response of responses.all())
        if (!response.headersSent) response.setHeader("Connection", "close");
      server.closeIdleConnections();
    },

    async finish() {
      const busy = new Set<Duplex>(responses.all().map(({ req }) => req.socket));
      for (const socket of sockets.all()) if (!busy.has(socket)) socket.destroy();
      // A Node timer, because sockets ignore the injected clock of a test.
      const timer = setTimeout(
        () => sockets.all().forEach((socket) => void socket.destroy()),
        finishTimeoutMs,
      );
      await Promise.all(responses.all().map(waitForClose));
      clearTimeout(timer);
      for (const socket of [...sockets.all(), ...rawSockets.all()]) socket.destroy();
      await closed;
    },
  };
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
      if (listener === "gateway" && listeners.isPlanned("gateway"))
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
