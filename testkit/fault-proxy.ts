import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { createFaultLine, type Fault, type FaultLine } from "./fault-line.ts";

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
