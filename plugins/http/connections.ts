/** Tracks the connections and responses of a server, and closes them in order at shutdown. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { Server as TlsServer } from "node:tls";

/** A set for thousands of short-lived items. */
export interface ItemSet<T extends object> {
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
export function createItemSet<T extends object>(): ItemSet<T> {
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

export interface ServerShutdown {
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
export function trackConnections(server: Server): ServerShutdown {
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
