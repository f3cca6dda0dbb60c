/**
 * Bounds connections: those that have not authenticated, in total and for each address; all of them
 * by the file descriptors of the process; and the requests that each may send without waiting for
 * responses, which are parsed a few at a time and served one after the other.
 *
 * @module
 */
import { readFile } from "node:fs/promises";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Server as TlsServer } from "node:tls";
import type { Duplex } from "node:stream";
import type { Log } from "../../kernel/index.ts";
import { addressKey, isLoopback, noAddress, normaliseAddress } from "./addresses.ts";

interface ConnectionLimitsOptions {
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

/** Parsed requests of one connection without a response, including the current one. */
export const maxOutstanding = 32;

const headEnd = "\r\n\r\n";
/** Length of the shortest request: `GET / HTTP/1.1` and two line ends. */
const minRequestBytes = 18;

interface Queue {
  readonly responses: Set<ServerResponse>;
  /** Runs when a queued response has closed. */
  shrunk?: () => void;
}
const queues = new WeakMap<Duplex, Queue>();

function queueOf(socket: Duplex): Queue {
  const known = queues.get(socket);
  if (known) return known;
  const queue: Queue = { responses: new Set() };
  queues.set(socket, queue);
  const close = (): void => queue.responses.forEach((response) => response.destroy().emit("close"));
  socket.once("close", () => setImmediate(close)); // later versions of Node emit it before this
  return queue;
}

/**
 * Emits "close" on a queued response when its connection closes. Node 20, 22 and the first versions
 * of 24 do not, so handlers that wait for "close" would never continue.
 */
export function closeWithConnection({ socket }: IncomingMessage, response: ServerResponse): void {
  if (response.socket) return;
  const queue = queueOf(socket);
  if (queue.responses.has(response)) return;
  queue.responses.add(response);
  response.once("close", () => {
    queue.responses.delete(response);
    queue.shrunk?.();
  });
}

/**
 * Queued requests that start in one turn of the event loop, of all connections. libuv accepts one
 * connection per turn, so long turns delay new clients.
 */
export const maxStartsPerTurn = 8;
const starts: (() => void)[] = [];

function startNext(): void {
  const due = starts.splice(0, maxStartsPerTurn);
  if (starts.length > 0) setImmediate(startNext);
  for (const start of due) start();
}

/** Starts a queued request in a later turn of the event loop, after those that wait already. */
function startLater(start: () => void): void {
  if (starts.push(start) === 1) setImmediate(startNext);
}

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Serves a request after the earlier responses of its connection are written. Queued requests start
 * a few at a time in later turns of the event loop, so that other connections are served in
 * between.
 */
export function serveInTurn(
  request: IncomingMessage,
  response: ServerResponse,
  serve: Serve,
): void {
  if (response.socket) return serve(request, response);
  closeWithConnection(request, response);
  response.once("socket", () =>
    startLater(() => {
      if (!response.destroyed && !request.socket.destroyed) serve(request, response);
    }),
  );
}

/** @returns The end of the last of `heads` request heads, or the length if there are fewer. */
function endOfHeads(chunk: Buffer, heads: number): number {
  if (chunk.length < heads * minRequestBytes) return chunk.length;
  let end = 0;
  for (let count = 0; count < heads; count += 1) {
    const index = chunk.indexOf(headEnd, end, "latin1");
    if (index < 0) return chunk.length;
    end = index + headEnd.length;
  }
  return end;
}

type Parse = (this: Socket, chunk: Buffer) => void;

/**
 * Feeds the HTTP parser of a socket in small parts: it would otherwise start up to 3,600 requests
 * from one chunk of 64 KiB. The intake keeps the unparsed rest and pauses the socket.
 */
class Intake {
  private readonly socket: Socket;
  private readonly parse: Parse;
  private readonly take: (chunk: Buffer) => void;
  private rest: Buffer | undefined;
  /** Created only while bytes wait: most connections never pipeline. */
  private watched: { readonly pump: () => void; readonly resume: () => void } | undefined;
  /** True while this intake, and not Node, has paused the socket. */
  private isFull = false;

  constructor(socket: Socket, parse: Parse) {
    this.socket = socket;
    this.parse = parse;
    this.take = (chunk) => {
      this.rest = this.rest ? Buffer.concat([this.rest, chunk]) : chunk;
      this.pump();
    };
    socket.off("data", parse);
    socket.on("data", this.take);
  }

  /** Detaches from the socket. @returns The bytes that were read and not parsed. */
  release(): Buffer | undefined {
    const { rest } = this;
    this.rest = undefined;
    this.isFull = false;
    this.socket.off("data", this.take);
    this.unwatch();
    return rest;
  }

  private pump(): void {
    const { socket, parse } = this;
    this.isFull = false;
    while (this.rest !== undefined && !socket.isPaused()) {
      if (socket.destroyed) return void this.release();
      const room = maxOutstanding - 1 - (queues.get(socket)?.responses.size ?? 0);
      if (room <= 0 || isTurnFull()) {
        this.isFull = true;
        socket.pause();
        if (room > 0) inNextTurn(() => this.resume());
        break;
      }
      const chunk = this.rest;
      const end = takeLines(chunk, endOfHeads(chunk, room));
      this.rest = end < chunk.length ? chunk.subarray(end) : undefined;
      parse.call(socket, end < chunk.length ? chunk.subarray(0, end) : chunk);
    }
    if (this.rest === undefined) this.unwatch();
    else this.watch();
  }

  /** Node itself resumes a socket that it has paused on "drain"; its parser waits until then. */
  private resume(): void {
    if (this.isFull && !this.socket.writableNeedDrain) this.socket.resume();
  }

  private watch(): void {
    if (this.watched) return;
    const watched = { pump: () => this.pump(), resume: () => this.resume() };
    this.watched = watched;
    this.socket.on("resume", watched.pump).on("drain", watched.resume);
    queueOf(this.socket).shrunk = watched.resume;
  }

  private unwatch(): void {
    const { watched } = this;
    if (!watched) return;
    this.watched = undefined;
    this.socket.off("resume", watched.pump).off("drain", watched.resume);
    delete queueOf(this.socket).shrunk;
  }
}

/**
 * Bounds the pipelined requests of each connection of a server.
 *
 * @returns A function that releases an upgraded socket. It returns `head` plus the unparsed bytes.
 */
export function limitPipelining(server: Server): (socket: Duplex, head: Buffer) => Buffer {
  const intakes = new WeakMap<Duplex, Intake>();
  server.on(server instanceof TlsServer ? "secureConnection" : "connection", (socket: Socket) => {
    const [parse] = socket.listeners("data");
    if (parse) intakes.set(socket, new Intake(socket, parse as Parse));
  });
  return (socket, head) => {
    const rest = intakes.get(socket)?.release();
    intakes.delete(socket);
    return rest ? Buffer.concat([head, rest]) : head;
  };
}

/**
 * Lines that are parsed in one turn of the event loop, of all connections. A chunked body may
 * consist of chunks of one byte, and each one costs as much as a large one.
 */
export const maxLinesPerTurn = 4_096;
const lineFeed = 10;
let linesLeft = maxLinesPerTurn;
const delayed: (() => void)[] = [];

/** Begins to count, if this is the first line of the turn. */
function countLines(lines: number): void {
  if (linesLeft === maxLinesPerTurn && lines > 0) setImmediate(startTurn);
  linesLeft -= lines;
}

function startTurn(): void {
  linesLeft = maxLinesPerTurn;
  for (const run of delayed.splice(0)) run();
}

/** @returns The end of the part that may be parsed in this turn. */
function takeLines(chunk: Buffer, length: number): number {
  let lines = 0;
  let end = 0;
  while (lines < linesLeft) {
    const index = chunk.indexOf(lineFeed, end);
    if (index < 0 || index >= length) {
      end = length;
      break;
    }
    lines += 1;
    end = index + 1;
  }
  countLines(lines);
  return end;
}

/** @returns True if nothing more may be parsed in this turn. */
const isTurnFull = (): boolean => linesLeft <= 0;

/** Runs a function in the next turn, when this one is full. */
const inNextTurn = (run: () => void): void => void delayed.push(run);
