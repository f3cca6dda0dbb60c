/**
 * Adapts the WebSocket library: events without listener lists, named close codes, and the 101
 * response.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocket, WebSocketServer } from "ws";
import { closeCodes, closeReason } from "../../../lib/pico-wire/index.ts";

/** Receives the events of one socket. */
export interface WebSocketListener {
  /** Bytes arrived that the library has not read yet. */
  received(chunk: Buffer): void;
  message(data: Buffer): void;
  ping(payload: Buffer): void;
  pong(): void;
  protocolError(error: NodeJS.ErrnoException): void;
  /** Called before a close frame is written. */
  closing(): void;
  closed(code: number, reason: string): void;
}

const notClosed = { code: 1006, reason: "" };

/**
 * Passes events to one listener object, because per-socket listener lists cost memory. Also adds
 * reasons to the closes of the library: it closes with a bare code if a message is too large (1009)
 * or has too many fragments (1008).
 */
export class ChannelWebSocket extends WebSocket {
  closedWith = notClosed;
  listener: WebSocketListener | undefined = undefined;

  override close(code?: number, reason?: string | Buffer): void {
    const isTooBig = reason === undefined && (code === closeCodes.too_big.code || code === 1008);
    const named = isTooBig ? closeCodes.too_big.code : code;
    const text = isTooBig ? closeReason("too_big") : (reason ?? "");
    if (this.readyState === WebSocket.OPEN)
      this.closedWith = { code: named ?? 1005, reason: text.toString() };
    this.listener?.closing();
    super.close(named, text);
  }

  override emit(type: string | symbol, ...values: unknown[]): boolean {
    const { listener } = this;
    if (!listener) return super.emit(type, ...values);
    if (type === "message") listener.message(values[0] as Buffer);
    else if (type === "ping") listener.ping(values[0] as Buffer);
    else if (type === "pong") listener.pong();
    else if (type === "error") listener.protocolError(values[0] as NodeJS.ErrnoException);
    else if (type === "close") listener.closed(values[0] as number, String(values[1]));
    return true;
  }
}

const listenerKey = Symbol("listener");
type Watched = Duplex & { [listenerKey]?: WebSocketListener };

/** One function for all sockets, so that a connection allocates no closure. */
function forwardChunk(this: Watched, chunk: Buffer): void {
  this[listenerKey]?.received(chunk);
}

/** Passes each chunk of the socket to the listener before the library reads it. */
export function watchArrivals(socket: Duplex, listener: WebSocketListener): void {
  (socket as Watched)[listenerKey] = listener;
  socket.prependListener("data", forwardChunk);
}

/** Reads and drops all further input, so that the library does not buffer it. */
export function discardArrivals(socket: Duplex): void {
  socket.removeAllListeners("data");
  socket.resume();
}

/**
 * Smallest average chunk size of one frame of `max_payload` bytes, and a number of chunks that is
 * always allowed. The library removes each chunk from the front of an array: 262,144 chunks block
 * the process for 2.6 s.
 */
const minChunkBytes = 1_024;
const minChunks = 65_536;

/** Milliseconds that a peer has to respond to a close before its socket is destroyed. */
const closeGraceMs = 1_000;

export interface Upgrader {
  /**
   * Sends 101 and calls `opened`. All checks must have passed. `echo` is the subprotocol in the
   * response.
   */
  upgrade(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    echo: string | undefined,
    opened: (ws: ChannelWebSocket) => void,
  ): void;
}

export function createUpgrader(maxPayload: () => number): Upgrader {
  const options = {
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    autoPong: false,
    maxFragments: 0, // `Arrivals` limits the memory of a message, fragments included
    closeTimeout: closeGraceMs,
    WebSocket: ChannelWebSocket,
  };
  const server = new WebSocketServer(options);
  const echoes = new WeakMap<IncomingMessage, string>();
  server.on("headers", (headers, request) => {
    headers.push("Referrer-Policy: no-referrer");
    const echo = echoes.get(request);
    // Node decoded the header as Latin-1 and the library writes UTF-8. Decoding it as UTF-8 here
    // restores the original bytes.
    if (echo !== undefined)
      headers.push(`Sec-WebSocket-Protocol: ${Buffer.from(echo, "latin1").toString()}`);
  });

  return {
    upgrade(request, socket, head, echo, opened) {
      if (echo !== undefined) echoes.set(request, echo);
      // `readCredentials` has parsed the list. A token in it may contain characters that the
      // library rejects.
      if ("sec-websocket-protocol" in request.headers)
        delete request.headers["sec-websocket-protocol"];
      server.options.maxPayload = maxPayload();
      server.options.maxBufferedChunks = Math.max(minChunks, maxPayload() / minChunkBytes);
      server.handleUpgrade(request, socket, head, opened);
    },
  };
}
