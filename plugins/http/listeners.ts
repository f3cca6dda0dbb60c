import type { Log } from "../../kernel/index.ts";
import type { Dispatcher } from "./dispatch.ts";
import { httpErrors } from "./errors.ts";
import { watchConnections, type Closing } from "./closing.ts";
import { linksTo, rememberLinks } from "./links.ts";
import type { ConnectionLimits } from "./connection-limits.ts";
import { createOwnServer, listen, type Bind, type Tls } from "./listening.ts";
import type { ClientFault } from "./log-limiter.ts";
import { createUsher, openFiles } from "./open-files.ts";
import type { Listener } from "./service.ts";

export interface Listeners {
  /** Plans a listener; a name twice is refused. */
  plan(listener: Listener, bind: Bind): void;
  isPlanned(listener: Listener): boolean;
  /** Opens all that were planned, in that order; a failure closes what had opened. */
  open(dispatcher: Dispatcher, tls: Tls | undefined, opened: (url: URL) => void): Promise<void>;
  addresses(listener: Listener): URL[];
  stopAccepting(): void;
  finish(): Promise<void>;
}

interface Entry {
  readonly bind: Bind;
  running?: { readonly closing: Closing; readonly links: () => URL[] };
}

export interface ListenersOptions {
  readonly basePath: string;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly log: Log;
  readonly limits: Pick<ConnectionLimits, "watch">;
  readonly note: (fault: ClientFault) => void;
}

export function createListeners(options: ListenersOptions): Listeners {
  const { basePath, now, log, limits, note } = options;
  const entries = new Map<Listener, Entry>();
  const running = (): Closing[] =>
    [...entries.values()].flatMap((entry) => entry.running?.closing ?? []);

  async function start(
    listener: Listener,
    entry: Entry,
    dispatcher: Dispatcher,
    tls: Tls | undefined,
  ): Promise<void> {
    const server = createOwnServer(listener, dispatcher, { tls, note });
    const closing = watchConnections(server);
    const limit = await openFiles();
    if (limit !== undefined) server.on("connection", createUsher(limit, now, log));
    limits.watch(server);
    await listen(server, entry.bind);
    entry.running = {
      closing,
      links: rememberLinks(now, () => linksTo(server, basePath, entry.bind.host)),
    };
  }

  const all: Listeners = {
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
