/** Opens and closes the listeners of this process, and explains why a port cannot be opened. */
import { get, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Log } from "../../kernel/index.ts";
import { cacheServerUrls, serverUrls } from "./addresses.ts";
import type { ConnectionLimits } from "./connection-limits.ts";
import { trackConnections, type ServerShutdown } from "./connections.ts";
import { createDescriptorGuard, openFilesLimit } from "./descriptor-guard.ts";
import { httpErrors } from "./errors.ts";
import type { ClientFault } from "./log-limiter.ts";
import type { Router } from "./router.ts";
import { createHttpServer, type Tls } from "./server.ts";
import type { Listener } from "./service.ts";

const probeTimeoutMs = 1_000;

/**
 * Asks the program on a port whether it is a launcher.
 *
 * @returns " (by a launcher that is already running)", or an empty string.
 */
export function describePortOwner(port: number, host = "127.0.0.1"): Promise<string> {
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

export interface BindOptions {
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

export interface ListenersOptions {
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
