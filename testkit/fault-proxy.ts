// A TCP proxy that delays, stalls, drops and cuts connections.
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** The treatment of the bytes of one direction. Their order and content never change. */
export type Fault =
  | "none"
  /** Reads nothing. When the buffers are full, the sender cannot write any more. */
  | "stall"
  /**
   * Reads and discards everything, also ends and resets: the sender has disappeared without a
   * notice.
   */
  | "swallow"
  /** Delays every byte by this time. */
  | { readonly delayMs: number }
  /** Passes on this many bytes at a time, with this interval. */
  | { readonly bytes: number; readonly everyMs: number };

/** Maximum bytes in a line. When it is full, the sender must wait. */
const maxBufferedBytes = 1024 * 1024;

interface Piece {
  /** Undefined if the sender has ended the connection. */
  readonly bytes: Buffer | undefined;
  readonly receivedAt: number;
}

/** One direction of one connection: bytes of `from` reach `to` as the fault permits. */
function createFaultLine(from: Socket, to: Socket, first: Fault) {
  let fault = first;
  let pieces: Piece[] = [];
  let bufferedBytes = 0;
  let timer: NodeJS.Timeout | undefined;
  let isFull = false;

  const delayMs = (): number =>
    typeof fault === "object" && "delayMs" in fault ? fault.delayMs : 0;
  const drip = () => (typeof fault === "object" && "bytes" in fault ? fault : undefined);

  function pass({ bytes, receivedAt }: Piece, limit: number): void {
    if (!bytes) return void to.end();
    const now = bytes.subarray(0, limit);
    bufferedBytes -= now.byteLength;
    if (now.byteLength < bytes.byteLength)
      pieces.unshift({ bytes: bytes.subarray(limit), receivedAt });
    isFull = !to.write(now);
  }

  function passOn(): void {
    while (!isFull && fault !== "stall" && pieces.length > 0) {
      const wait = pieces[0]!.receivedAt + delayMs() - performance.now();
      if (wait > 0) return later(wait);
      const slow = drip();
      pass(pieces.shift()!, slow?.bytes ?? Infinity);
      if (slow) return later(slow.everyMs);
    }
  }

  function pump(): void {
    clearTimeout(timer);
    timer = undefined;
    passOn();
    if (fault === "stall" || bufferedBytes >= maxBufferedBytes) from.pause();
    else from.resume();
  }
  const later = (ms: number): void => void (timer = setTimeout(pump, ms));

  function take(bytes: Buffer | undefined): void {
    if (fault === "swallow") return;
    pieces.push({ bytes, receivedAt: performance.now() });
    bufferedBytes += bytes?.byteLength ?? 0;
    if (bufferedBytes >= maxBufferedBytes) from.pause();
    if (!timer) pump();
  }

  from.on("data", take).on("end", () => take(undefined));
  to.on("drain", () => {
    isFull = false;
    if (!timer) pump();
  });
  if (fault === "stall") from.pause();

  return {
    /** @returns True if the end of `from` is hidden from `to`. */
    isSilent: (): boolean => fault === "swallow",
    set(next: Fault): void {
      fault = next;
      if (fault === "swallow") {
        pieces = [];
        bufferedBytes = 0;
      }
      pump();
    },
    stop(): void {
      clearTimeout(timer);
      pieces = [];
    },
  };
}

type FaultLine = ReturnType<typeof createFaultLine>;

/** Faults by direction: `up` to the server, `down` to the client. */
export interface Faults {
  /** Bytes from the client to the server. */
  readonly up: Fault;
  /** Bytes from the server to the client. */
  readonly down: Fault;
}

/** Options of `createFaultProxy`. */
export interface FaultProxyOptions {
  /** The TCP port of the server. */
  readonly port: number;
  /** The host of the server. @defaultValue `"127.0.0.1"` */
  readonly host?: string;
  /** Faults from the first byte on. @defaultValue None. */
  readonly faults?: Partial<Faults>;
}

/** A faulty network between clients and a server. Without a fault, it passes every byte on. */
export interface FaultProxy extends AsyncDisposable {
  /** The TCP port of the proxy on `127.0.0.1`. */
  readonly port: number;
  /** Replaces host and port of an address by those of the proxy. */
  through(url: string | URL): string;
  /** @returns The number of connections that are open on either side. */
  connections(): number;
  /** Sets faults for present and future connections. A missing direction is unchanged. */
  set(faults: Partial<Faults>): void;
  /**
   * Resets both sides of every connection. Buffered bytes are lost.
   *
   * @returns The number of connections.
   */
  cut(): number;
  /** Connects new connections to this TCP port. */
  lead(port: number): void;
  /** Cuts all connections and accepts no more. */
  close(): Promise<void>;
}

interface SocketPair {
  readonly near: Socket;
  readonly far: Socket;
  readonly up: FaultLine;
  readonly down: FaultLine;
}

/**
 * Creates a proxy that listens on a free TCP port of `127.0.0.1`.
 *
 * @example
 * import { connectTestClient, createFaultProxy, testTokens } from "doorward/testing";
 * await using proxy = await createFaultProxy({ port: 18_800 });
 * const url = proxy.through("ws://127.0.0.1:18800/pico");
 * const client = await connectTestClient(url, { token: testTokens.pico });
 * proxy.cut();
 */
export async function createFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const { host = "127.0.0.1" } = options;
  let { port: target } = options;
  let faults: Faults = { up: "none", down: "none", ...options.faults };
  const pairs = new Set<SocketPair>();

  function forget(pair: SocketPair): void {
    pairs.delete(pair);
    pair.up.stop();
    pair.down.stop();
  }

  /**
   * Destroys the other socket if one is closed without an end, unless that direction is swallowed.
   * A socket that was reset after its end is only noticed at the next byte for it, because Node
   * does not check before.
   */
  function watch(pair: SocketPair, gone: Socket, other: Socket, line: FaultLine): void {
    let broken = false;
    gone.on("error", () => void (broken = true));
    gone.on("close", () => {
      if (other.destroyed) return forget(pair);
      if (line.isSilent() || (gone.readableEnded && !broken)) return;
      if (broken) other.resetAndDestroy();
      else other.destroy();
    });
  }

  function carry(near: Socket): void {
    const far = connect({ port: target, host, allowHalfOpen: true, noDelay: true });
    const up = createFaultLine(near, far, faults.up);
    const down = createFaultLine(far, near, faults.down);
    const pair = { near, far, up, down };
    pairs.add(pair);
    watch(pair, near, far, up);
    watch(pair, far, near, down);
  }

  function cut(): number {
    const open = [...pairs];
    for (const pair of open) {
      forget(pair);
      pair.near.resetAndDestroy();
      pair.far.resetAndDestroy();
    }
    return open.length;
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true }, carry);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  const proxy: FaultProxy = {
    port,
    through(url) {
      const changed = new URL(url);
      changed.hostname = "127.0.0.1";
      changed.port = String(port);
      return changed.href;
    },
    connections: () => pairs.size,
    set(next) {
      faults = { ...faults, ...next };
      for (const { up, down } of pairs) {
        if (next.up !== undefined) up.set(next.up);
        if (next.down !== undefined) down.set(next.down);
      }
    },
    cut,
    lead: (next) => void (target = next),
    async close() {
      const closed = new Promise<void>((done) => void server.close(() => done()));
      cut();
      await closed;
    },
    [Symbol.asyncDispose]: () => proxy.close(),
  };
  return proxy;
}
