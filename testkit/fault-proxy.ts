import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** What happens to the bytes of one direction. Order and content never change. */
export type Fault =
  | "none"
  /** Nothing is read: once the buffers between are full, the sender is told that there is no room. */
  | "stall"
  /** Read and thrown away, ends and resets too: the other side has vanished without a word. */
  | "swallow"
  /** Every byte arrives so much later. */
  | { readonly delayMs: number }
  /** So many bytes at a time, with so much time between. */
  | { readonly bytes: number; readonly everyMs: number };

/** Waits in a line at most; beyond it, its sender has to wait. */
const maxBufferedBytes = 1024 * 1024;

interface Piece {
  /** Undefined: the sender has ended. */
  readonly bytes: Buffer | undefined;
  readonly cameAt: number;
}

/** One direction of one connection: the bytes of `from` reach `to` as its fault lets them. */
export interface FaultLine {
  set(fault: Fault): void;
  /** Nobody is told that `from` is gone. */
  isSilent(): boolean;
  stop(): void;
}

export function createFaultLine(from: Socket, to: Socket, first: Fault): FaultLine {
  let fault = first;
  let pieces: Piece[] = [];
  let held = 0;
  let timer: NodeJS.Timeout | undefined;
  let isFull = false;

  const delayMs = (): number =>
    typeof fault === "object" && "delayMs" in fault ? fault.delayMs : 0;
  const drip = () => (typeof fault === "object" && "bytes" in fault ? fault : undefined);

  function pass({ bytes, cameAt }: Piece, most: number): void {
    if (!bytes) return void to.end();
    const now = bytes.subarray(0, most);
    held -= now.byteLength;
    if (now.byteLength < bytes.byteLength) pieces.unshift({ bytes: bytes.subarray(most), cameAt });
    isFull = !to.write(now);
  }

  function passOn(): void {
    while (!isFull && fault !== "stall" && pieces.length > 0) {
      const wait = pieces[0]!.cameAt + delayMs() - performance.now();
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
    if (fault === "stall" || held >= maxBufferedBytes) from.pause();
    else from.resume();
  }
  const later = (ms: number): void => void (timer = setTimeout(pump, ms));

  function take(bytes: Buffer | undefined): void {
    if (fault === "swallow") return;
    pieces.push({ bytes, cameAt: performance.now() });
    held += bytes?.byteLength ?? 0;
    if (held >= maxBufferedBytes) from.pause();
    if (!timer) pump();
  }

  from.on("data", take).on("end", () => take(undefined));
  to.on("drain", () => {
    isFull = false;
    if (!timer) pump();
  });
  if (fault === "stall") from.pause();

  return {
    isSilent: () => fault === "swallow",
    set(next) {
      fault = next;
      if (fault === "swallow") {
        pieces = [];
        held = 0;
      }
      pump();
    },
    stop() {
      clearTimeout(timer);
      pieces = [];
    },
  };
}

/** By direction: `up` to the server, `down` to the client. */
export interface Faults {
  readonly up: Fault;
  readonly down: Fault;
}

export interface FaultProxyOptions {
  /** Of the server on this machine. */
  readonly port: number;
  /** Default `127.0.0.1`. */
  readonly host?: string;
  /** From the first byte on; default none. */
  readonly faults?: Partial<Faults>;
}

/** A network between clients and a server that fails when it is told to. Without a fault it passes every byte on. */
export interface FaultProxy extends AsyncDisposable {
  /** Clients connect to it on `127.0.0.1`. */
  readonly port: number;
  /** The same address with the proxy's place in it. */
  through(url: string | URL): string;
  /** Connections that are open on either side. */
  connections(): number;
  /** Holds for the connections there are and for those that come; a direction that is left out stays as it is. */
  set(faults: Partial<Faults>): void;
  /** Resets every connection, both sides; what was on its way is lost. Answers how many there were. */
  cut(): number;
  /** From now on new connections lead to this port. */
  lead(port: number): void;
  /** Cuts, and lets nobody in any more. */
  close(): Promise<void>;
}

interface SocketPair {
  readonly near: Socket;
  readonly far: Socket;
  readonly up: FaultLine;
  readonly down: FaultLine;
}

/** Listens on a port of its own on `127.0.0.1`. */
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

  /** A side that is gone without an end is gone for the other one too, unless that direction is swallowed. One that is
   *  reset after its end is seen to be at the next byte for it: Node does not look before. */
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
    const all = [...pairs];
    for (const pair of all) {
      forget(pair);
      pair.near.resetAndDestroy();
      pair.far.resetAndDestroy();
    }
    return all.length;
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
