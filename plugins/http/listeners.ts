import type { Log } from "../../kernel/index.ts";
import type { Router } from "./dispatch.ts";
import { httpErrors } from "./errors.ts";
import { trackConnections, type ServerShutdown } from "./closing.ts";
import { serverUrls, cacheServerUrls } from "./links.ts";
import type { ConnectionLimits } from "./connection-limits.ts";
import { createHttpServer, listen, type BindOptions, type Tls } from "./listening.ts";
import type { ClientFault } from "./log-limiter.ts";
import { createDescriptorGuard, openFilesLimit } from "./open-files.ts";
import type { Listener } from "./service.ts";

export interface ListenerSet {
  /** Plans a listener; a name twice is refused. */
  plan(listener: Listener, bind: BindOptions): void;
  isPlanned(listener: Listener): boolean;
  /** Opens all that were planned, in that order; a failure closes what had opened. */
  open(dispatcher: Router, tls: Tls | undefined, opened: (url: URL) => void): Promise<void>;
  addresses(listener: Listener): URL[];
  stopAccepting(): void;
  finish(): Promise<void>;
}

interface ListenerEntry {
  readonly bind: BindOptions;
  running?: { readonly closing: ServerShutdown; readonly links: () => URL[] };
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
    [...entries.values()].flatMap((entry) => entry.running?.closing ?? []);

  async function start(
    listener: Listener,
    entry: ListenerEntry,
    dispatcher: Router,
    tls: Tls | undefined,
  ): Promise<void> {
    const server = createHttpServer(listener, dispatcher, { tls, note });
    const closing = trackConnections(server);
    const limit = await openFilesLimit();
    if (limit !== undefined) server.on("connection", createDescriptorGuard(limit, now, log));
    limits.watch(server);
    await listen(server, entry.bind);
    entry.running = {
      closing,
      links: cacheServerUrls(now, () => serverUrls(server, basePath, entry.bind.host)),
    };
  }

  const all: ListenerSet = {
    isPlanned: (listener) => entries.has(listener),

    plan(listener, bind) {
      if (entries.has(listener)) throw httpErrors.HTTP_LISTENER_TAKEN(listener);
      entries.set(listener, { bind });
    },

    async open(dispatcher, tls, opened) {
      try {
        for (const [listener, entry] of entries) await start(listener, entry, dispatcher, tls);
      } catch (error) {
        all.stopAccepting();
        await all.finish();
        throw error;
      }
      for (const listener of entries.keys()) all.addresses(listener).slice(0, 1).forEach(opened);
    },

    addresses(listener) {
      return entries.get(listener)?.running?.links() ?? [];
    },

    stopAccepting: () => running().forEach((closing) => closing.stopAccepting()),

    async finish() {
      await Promise.all(running().map((closing) => closing.finish()));
      for (const entry of entries.values()) delete entry.running;
    },
  };
  return all;
}
