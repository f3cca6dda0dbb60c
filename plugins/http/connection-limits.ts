/**
 * Bounds connections: those that have not authenticated, in total and for each address, and all by
 * the file descriptors of the process.
 *
 * @module
 */
import { readFile } from "node:fs/promises";
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { Server as TlsServer } from "node:tls";
import type { Duplex } from "node:stream";
import type { Log } from "../../kernel/index.ts";
import { addressKey, isLoopback, noAddress, normaliseAddress } from "./addresses.ts";

export interface ConnectionLimitsOptions {
  /** 0 removes a limit. */
  readonly limits: () => { readonly total: number; readonly perAddress: number };
  /** Trusted proxies are exempt, because they forward the connections of many clients. */
  readonly isTrusted: (address: string) => boolean;
  readonly rejected: (address: string, limit: "total" | "address") => void;
}

/** Undefined if only the total limit applies to the connection. */
type Key = string | undefined;
const portKey = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

export class ConnectionLimits {
  private readonly options: ConnectionLimitsOptions;
  private total = 0;
  private readonly perAddress = new Map<string, number>();
  private readonly counted = new WeakMap<Duplex, { readonly key: Key }>();
  /** TLS only: raw sockets by port. After the TLS handshake, requests refer to another socket. */
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
    /** One function for all sockets, because each idle WebSocket would keep its own closure. */
    function onClose(this: Socket): void {
      release(this);
    }
    server.on("connection", (socket: Socket) => {
      if (counted.has(socket) || socket.destroyed || !this.take(socket)) return;
      socket.on("close", onClose);
      if (!isTls) return;
      const port = portKey(socket);
      this.handshakes.set(port, socket);
      socket.once("close", () => this.handshakes.delete(port));
    });
    if (!isTls) return;
    server.on("secureConnection", (socket: Socket) => {
      if (socket.remotePort === undefined) return; // already closed
      const carrier = this.handshakes.get(portKey(socket));
      if (carrier) this.carriers.set(socket, carrier);
    });
  }

  /** Exempts the connection of a request with a valid token or sign-in. Needs no `this`. */
  readonly markAuthenticated = ({ socket }: Pick<IncomingMessage, "socket">): void =>
    this.release(this.carriers.get(socket) ?? socket);

  /** Returns the number of unauthenticated connections. */
  count(): number {
    return this.total;
  }

  private take(socket: Socket): boolean {
    const address = normaliseAddress(socket.remoteAddress ?? noAddress);
    const { total, perAddress } = this.options.limits();
    const isShared = perAddress === 0 || isLoopback(address) || this.options.isTrusted(address);
    const key = isShared ? undefined : addressKey(address);
    const count = key === undefined ? 0 : (this.perAddress.get(key) ?? 0);
    const isOverAddressLimit = key !== undefined && count >= perAddress;
    if (isOverAddressLimit || (total > 0 && this.total >= total)) {
      socket.destroy();
      this.options.rejected(address, isOverAddressLimit ? "address" : "total");
      return false;
    }
    this.total += 1;
    if (key !== undefined) this.perAddress.set(key, count + 1);
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

/** Descriptors kept free for log, settings and outgoing connections of this process. */
export const reservedDescriptors = 32;
const warningIntervalMs = 60_000;

/** Parses the soft limit from the text of `/proc/self/limits`. */
export function parseOpenFilesLimit(limits: string): number | undefined {
  const [, soft] = /^Max open files +(\d+|unlimited)/m.exec(limits) ?? [];
  return soft === undefined || soft === "unlimited" ? undefined : Number(soft);
}

/** @returns The number of files and sockets this process may open, or undefined if unknown. */
export const openFilesLimit = async (): Promise<number | undefined> =>
  parseOpenFilesLimit(await readFile("/proc/self/limits", "utf8").catch(() => ""));

/** Internal property of Node; a socket without it passes the check. */
const handle = "_handle";

/** The kernel assigns the lowest free number, so a high number means that few are left. */
const descriptorOf = (socket: Socket): number =>
  (socket as { [handle]?: { readonly fd?: number } | null })[handle]?.fd ?? -1;

/**
 * Closes connections that would use the last descriptors. Otherwise the kernel would accept and
 * silently drop them, and this process could no longer write its files.
 *
 * @param now - Returns Unix milliseconds.
 */
export function createDescriptorGuard(
  limit: number,
  now: () => number,
  log: Pick<Log, "warn">,
): (socket: Socket) => void {
  let turnedAway = 0;
  let warnedAt = Number.NEGATIVE_INFINITY;
  return (socket) => {
    if (descriptorOf(socket) < limit - reservedDescriptors) return;
    socket.destroy();
    turnedAway += 1;
    if (Math.abs(now() - warnedAt) < warningIntervalMs) return;
    warnedAt = now();
    const text =
      "new connections are closed: this process has nearly reached its limit on open files; " +
      "raise the limit (ulimit -n, LimitNOFILE=)";
    log.warn({ limit, turnedAway }, text);
    turnedAway = 0;
  };
}
