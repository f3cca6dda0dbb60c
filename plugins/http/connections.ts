import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { Server as TlsServer } from "node:tls";

/** Things that come and go by the thousand. */
export interface ItemSet<T extends object> {
  has(item: T): boolean;
  /** Once at a time. */
  add(item: T): void;
  delete(item: T): void;
  all(): T[];
}

type IndexedItem = Record<symbol, number | undefined>;

/** Each item knows its place, and leaves it to the last one. A set would not do: when one that has become old grows
 *  anew, V8 makes its new table old, too, and what stood in the one before lives on until the next full collection,
 *  with all that hangs on it. */
export function createItemSet<T extends object>(): ItemSet<T> {
  const place = Symbol("place");
  const items: (T | undefined)[] = [];
  let count = 0;
  const placeOf = (item: T): number | undefined => (item as IndexedItem)[place];
  const put = (item: T, at: number | undefined): void => void ((item as IndexedItem)[place] = at);

  return {
    has: (item) => placeOf(item) !== undefined,
    add(item) {
      items[count] = item;
      put(item, count);
      count += 1;
    },
    delete(item) {
      const at = placeOf(item);
      if (at === undefined) return;
      count -= 1;
      const last = items[count]!;
      items[at] = last;
      put(last, at);
      put(item, undefined);
      items[count] = undefined; // not popped: an array that shrinks is made anew when it grows
    },
    all: () => items.slice(0, count) as T[],
  };
}

const finishTimeoutMs = 1_000;

export interface ServerShutdown {
  /** No new connection, no second request on an old one. */
  stopAccepting(): void;
  /** Lets what is being answered finish for a second, then ends whatever is left, upgraded sockets included. */
  finish(): Promise<void>;
}

function collectSockets(server: Server, event: "connection" | "secureConnection"): ItemSet<Duplex> {
  const sockets = createItemSet<Duplex>();
  /** One listener for all: an idle WebSocket keeps what hangs on its socket. */
  function forget(this: Duplex): void {
    sockets.delete(this);
  }
  server.on(event, (socket: Duplex) => {
    if (sockets.has(socket)) return; // announced again by a request that is served as plain HTTP
    sockets.add(socket);
    socket.on("close", forget);
  });
  return sockets;
}

/** Watches a server from its first connection on, so that nothing of it is left when it is closed. */
export function trackConnections(server: Server): ServerShutdown {
  const bare = collectSockets(server, "connection");
  /** Those that requests name: under TLS they are others than the bare ones. */
  const sockets = server instanceof TlsServer ? collectSockets(server, "secureConnection") : bare;
  const answers = createItemSet<ServerResponse>();
  /** One listener for all, here too. */
  function left(this: ServerResponse): void {
    answers.delete(this);
    if (closed) server.closeIdleConnections();
  }
  let closed: Promise<void> | undefined;

  server.prependListener("request", (_: IncomingMessage, answer: ServerResponse) => {
    answers.add(answer);
    if (closed) answer.setHeader("Connection", "close");
    answer.on("close", left);
  });

  const answered = (answer: ServerResponse): Promise<void> =>
    new Promise((done) => void answer.once("close", () => done()));

  return {
    stopAccepting() {
      if (!server.listening) return;
      closed = new Promise((done) => void server.close(() => done()));
      for (const answer of answers.all())
        if (!answer.headersSent) answer.setHeader("Connection", "close");
      server.closeIdleConnections();
    },

    async finish() {
      const busy = new Set<Duplex>(answers.all().map(({ req }) => req.socket));
      for (const socket of sockets.all()) if (!busy.has(socket)) socket.destroy();
      // A timer of Node, not of the clock: sockets do not stand still when a test's clock does.
      const cut = setTimeout(
        () => sockets.all().forEach((socket) => void socket.destroy()),
        finishTimeoutMs,
      );
      await Promise.all(answers.all().map(answered));
      clearTimeout(cut);
      for (const socket of [...sockets.all(), ...bare.all()]) socket.destroy();
      await closed;
    },
  };
}
