/**
 * Bounds the connections that have not authenticated: in total, and for each address.
 *
 * @module
 */
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { Server as TlsServer } from "node:tls";
import type { Duplex } from "node:stream";
import { addressKey, isLoopback, noAddress, normaliseAddress } from "./addresses.ts";

export interface ConnectionLimitsOptions {
  /** 0 lifts a limit. */
  readonly limits: () => { readonly total: number; readonly perAddress: number };
  /** A trusted proxy carries the connections of many clients. */
  readonly isTrusted: (address: string) => boolean;
  readonly rejected: (address: string, limit: "total" | "address") => void;
}

/** `undefined`: only the total counts for this connection. */
type Key = string | undefined;
const portKey = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

export class ConnectionLimits {
  private readonly options: ConnectionLimitsOptions;
  private total = 0;
  private readonly perAddress = new Map<string, number>();
  private readonly counted = new WeakMap<Duplex, { readonly key: Key }>();
  /** TLS only: connections in their TLS handshake, which requests name by another socket. */
  private readonly handshakes = new Map<string, Socket>();
  private readonly carriers = new WeakMap<Duplex, Socket>();

  constructor(options: ConnectionLimitsOptions) {
    this.options = options;
  }

  /** Counts the connections of a server, and closes those beyond a limit before they are read. */
  watch(server: Server): void {
    const isTls = server instanceof TlsServer;
    const { counted } = this;
    const release = (socket: Socket): void => this.release(socket);
    /** One listener for all sockets: an idle WebSocket keeps whatever its socket refers to. */
    function closed(this: Socket): void {
      release(this);
    }
    server.on("connection", (socket: Socket) => {
      if (counted.has(socket) || socket.destroyed || !this.take(socket)) return;
      socket.on("close", closed);
      if (!isTls) return;
      const port = portKey(socket);
      this.handshakes.set(port, socket);
      socket.once("close", () => this.handshakes.delete(port));
    });
    if (!isTls) return;
    server.on("secureConnection", (socket: Socket) => {
      if (socket.remotePort === undefined) return; // it has ended
      const carrier = this.handshakes.get(portKey(socket));
      if (carrier) this.carriers.set(socket, carrier);
    });
  }

  /** The connection has proved a token or a sign-in: from now on it counts for no limit. */
  markAuthenticated(socket: Duplex): void {
    this.release(this.carriers.get(socket) ?? socket);
  }

  /** Connections that count at the moment. */
  count(): number {
    return this.total;
  }

  private take(socket: Socket): boolean {
    const address = normaliseAddress(socket.remoteAddress ?? noAddress);
    const { total, perAddress } = this.options.limits();
    const isShared = perAddress === 0 || isLoopback(address) || this.options.isTrusted(address);
    const key = isShared ? undefined : addressKey(address);
    const own = key === undefined ? 0 : (this.perAddress.get(key) ?? 0);
    const isOverOwn = key !== undefined && own >= perAddress;
    if (isOverOwn || (total > 0 && this.total >= total)) {
      socket.destroy();
      this.options.rejected(address, isOverOwn ? "address" : "total");
      return false;
    }
    this.total += 1;
    if (key !== undefined) this.perAddress.set(key, own + 1);
    this.counted.set(socket, { key });
    return true;
  }

  private release(socket: Duplex): void {
    const entry = this.counted.get(socket);
    if (!entry) return;
    this.counted.delete(socket);
    this.total -= 1;
    const { key } = entry;
    if (key === undefined) return;
    const left = (this.perAddress.get(key) ?? 1) - 1;
    if (left > 0) this.perAddress.set(key, left);
    else this.perAddress.delete(key);
  }
}
