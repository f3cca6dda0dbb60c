import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocket, WebSocketServer } from "ws";
import { closeCodes, closeReason } from "../../../lib/pico-wire/index.ts";

/** Receives the events of one socket. */
export interface WebSocketListener {
  /** Bytes arrived, and the library has not read them yet. */
  received(chunk: Buffer): void;
  message(data: Buffer): void;
  ping(payload: Buffer): void;
  pong(): void;
  violated(error: NodeJS.ErrnoException): void;
  /** A close is written next. */
  closing(): void;
  closed(code: number, reason: string): void;
}

const notClosed = { code: 1006, reason: "" };

/**
 * Passes events to the keeper, past the lists of listeners that each socket would have to hold, and names the closes
 * of the library: it closes with a bare code when a message is too large (1009) or comes in too many pieces (1008).
 */
export class ChannelWebSocket extends WebSocket {
  closedWith = notClosed;
  keeper: WebSocketListener | undefined = undefined;

  override close(code?: number, reason?: string | Buffer): void {
    const isTooBig = reason === undefined && (code === closeCodes.too_big.code || code === 1008);
    const named = isTooBig ? closeCodes.too_big.code : code;
    const text = isTooBig ? closeReason("too_big") : (reason ?? "");
    if (this.readyState === WebSocket.OPEN)
      this.closedWith = { code: named ?? 1005, reason: text.toString() };
    this.keeper?.closing();
    super.close(named, text);
  }

  override emit(type: string | symbol, ...values: unknown[]): boolean {
    const { keeper } = this;
    if (!keeper) return super.emit(type, ...values);
    if (type === "message") keeper.message(values[0] as Buffer);
    else if (type === "ping") keeper.ping(values[0] as Buffer);
    else if (type === "pong") keeper.pong();
    else if (type === "error") keeper.violated(values[0] as NodeJS.ErrnoException);
    else if (type === "close") keeper.closed(values[0] as number, String(values[1]));
    return true;
  }
}

const keeperKey = Symbol("keeper");
type Watched = Duplex & { [keeperKey]?: WebSocketListener };

/** One function for all sockets, so that a connection costs no closure. */
function passOn(this: Watched, chunk: Buffer): void {
  this[keeperKey]?.received(chunk);
}

/** Shows the keeper each chunk of the socket before the library reads it. */
export function watchArrivals(socket: Duplex, webSocketListener: WebSocketListener): void {
  (socket as Watched)[keeperKey] = webSocketListener;
  socket.prependListener("data", passOn);
}

/** From now on, what arrives is read and dropped: the library keeps no more of it. */
export function discardArrivals(socket: Duplex): void {
  socket.removeAllListeners("data");
  socket.resume();
}

/** Smallest average size of the pieces of one frame that `max_payload` allows, and pieces that are always allowed:
 *  the library takes each piece from the front of a list, which for 262,144 of them blocks the process for 2.6 s. */
const minPieceBytes = 1_024;
const minPieces = 65_536;

/** Milliseconds a peer has to answer a close before its socket is cut. */
const closeGraceMs = 1_000;

export interface Upgrader {
  /** Sends 101 and calls `opened`; all checks have been made. `echo`: the subprotocol the answer names. */
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
    maxFragments: 0, // the connection limits what a message takes in memory, fragments included
    closeTimeout: closeGraceMs,
    WebSocket: ChannelWebSocket,
  };
  const server = new WebSocketServer(options);
  const echoes = new WeakMap<IncomingMessage, string>();
  server.on("headers", (headers, request) => {
    headers.push("Referrer-Policy: no-referrer");
    const echo = echoes.get(request);
    // Node read its bytes as Latin-1, and the library writes UTF-8: as text it becomes the same bytes again.
    if (echo !== undefined)
      headers.push(`Sec-WebSocket-Protocol: ${Buffer.from(echo, "latin1").toString()}`);
  });

  return {
    upgrade(request, socket, head, echo, opened) {
      if (echo !== undefined) echoes.set(request, echo);
      // Its items were read by us: tokens may hold what the library refuses.
      if ("sec-websocket-protocol" in request.headers)
        delete request.headers["sec-websocket-protocol"];
      server.options.maxPayload = maxPayload();
      server.options.maxBufferedChunks = Math.max(minPieces, maxPayload() / minPieceBytes);
      server.handleUpgrade(request, socket, head, opened);
    },
  };
}
