import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocket, WebSocketServer } from "ws";
import { closes, closeReason } from "../pico-wire/index.ts";

/** Who looks after a socket. */
export interface Keeper {
  message(data: Buffer): void;
  /** A control frame came. */
  beat(): void;
  violated(error: NodeJS.ErrnoException): void;
  /** A close is written next. */
  closing(): void;
  closed(code: number, reason: string): void;
}

const neverClosed = { code: 1006, reason: "" };

/** The library closes by itself for violations of the protocol, with the bare code: one of them has a name. Its events
 *  go to the keeper, past the lists of listeners that each socket would have to hold. */
export class NamedSocket extends WebSocket {
  closedWith = neverClosed;
  keeper: Keeper | undefined = undefined;

  override close(code?: number, reason?: string | Buffer): void {
    const text = reason ?? (code === closes.too_big.code ? closeReason("too_big") : "");
    if (this.readyState === WebSocket.OPEN)
      this.closedWith = { code: code ?? 1005, reason: text.toString() };
    this.keeper?.closing();
    super.close(code, text);
  }

  override emit(type: string | symbol, ...values: unknown[]): boolean {
    const { keeper } = this;
    if (!keeper) return super.emit(type, ...values);
    if (type === "message") keeper.message(values[0] as Buffer);
    else if (type === "ping" || type === "pong") keeper.beat();
    else if (type === "error") keeper.violated(values[0] as NodeJS.ErrnoException);
    else if (type === "close") keeper.closed(values[0] as number, String(values[1]));
    return true;
  }
}

/** Milliseconds a peer has to answer a close before its socket is cut. */
const closeGraceMs = 1_000;

export interface Upgrader {
  /** Sends 101 and calls `opened`; all checks have been made. `echo`: the subprotocol the answer names. */
  upgrade(
    q: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    echo: string | undefined,
    opened: (ws: NamedSocket) => void,
  ): void;
}

export function createUpgrader(maxPayload: () => number): Upgrader {
  const options = {
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    closeTimeout: closeGraceMs,
    WebSocket: NamedSocket,
  };
  const server = new WebSocketServer(options);
  const echoes = new WeakMap<IncomingMessage, string>();
  server.on("headers", (headers, q) => {
    headers.push("Referrer-Policy: no-referrer");
    const echo = echoes.get(q);
    // Node read its bytes as Latin-1, and the library writes UTF-8: as text it becomes the same bytes again.
    if (echo !== undefined)
      headers.push(`Sec-WebSocket-Protocol: ${Buffer.from(echo, "latin1").toString()}`);
  });

  return {
    upgrade(q, socket, head, echo, opened) {
      if (echo !== undefined) echoes.set(q, echo);
      // Its items were read by us: tokens may hold what the library refuses.
      if ("sec-websocket-protocol" in q.headers) delete q.headers["sec-websocket-protocol"];
      server.options.maxPayload = maxPayload();
      server.handleUpgrade(q, socket, head, opened);
    },
  };
}
