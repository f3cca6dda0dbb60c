/**
 * Bounds pipelining: if a client sends requests without waiting for responses, they are parsed a
 * few at a time and served one after the other.
 *
 * @module
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { Server as TlsServer } from "node:tls";

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

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Serves a request after the earlier responses of its connection are written. Queued requests start
 * in a later turn of the event loop, so that other connections are served in between.
 */
export function serveInTurn(
  request: IncomingMessage,
  response: ServerResponse,
  serve: Serve,
): void {
  if (response.socket) return serve(request, response);
  closeWithConnection(request, response);
  response.once("socket", () =>
    setImmediate(() => {
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
      if (room <= 0) {
        this.isFull = true;
        socket.pause();
        break;
      }
      const chunk = this.rest;
      const end = endOfHeads(chunk, room);
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
