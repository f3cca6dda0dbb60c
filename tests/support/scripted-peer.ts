import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer, type WebSocket } from "ws";
import { createStoppedClock } from "../../kernel/testing.ts";
import type { Clock } from "../../kernel/index.ts";

export interface Peer extends AsyncDisposable {
  readonly url: string;
  /** Upgrade requests, in order. */
  readonly handshakes: IncomingMessage[];
  readonly sockets: WebSocket[];
  /** Frames received, in order. */
  readonly frames: Record<string, any>[];
  /** The n-th connection, once it is there. */
  socket(n: number): Promise<WebSocket>;
  /** The first frame that fits, once it is there. */
  frame(fits: (frame: Record<string, any>) => boolean): Promise<Record<string, any>>;
}

export interface PeerOptions {
  /** A status refuses the handshake, and plain requests too. */
  readonly refuse?: () =>
    | { status: number; body?: object; headers?: Record<string, string> }
    | undefined;
  /** Response to the plain request. Default: the response to the handshake. */
  readonly probe?: () => number;
  readonly greet?: (socket: WebSocket, request: IncomingMessage) => void;
  readonly answer?: (frame: Record<string, any>, socket: WebSocket) => void;
}

/** Starts a plain server without extension. It selects a subprotocol only if it must. */
export async function createPeer({
  refuse = () => undefined,
  probe,
  greet,
  answer,
}: PeerOptions = {}): Promise<Peer> {
  const waiting = new Set<() => void>();
  const changed = (): void => waiting.forEach((look) => look());
  const until = <T>(look: () => T | undefined): Promise<T> =>
    new Promise((resolve) => {
      const attempt = (): void => {
        const found = look();
        if (found === undefined) return;
        waiting.delete(attempt);
        resolve(found);
      };
      waiting.add(attempt);
      attempt();
    });
  const handshakes: IncomingMessage[] = [];
  const sockets: WebSocket[] = [];
  const frames: Record<string, any>[] = [];
  const http = createServer((_, response) => {
    const refusal = refuse();
    response.writeHead(probe?.() ?? refusal?.status ?? 200, {
      "Content-Type": "application/json",
      ...refusal?.headers,
    });
    response.end(JSON.stringify(refusal?.body ?? {}));
  });
  const server = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) => [...offered][0] ?? false,
  });
  http.on("upgrade", (request, socket, head) => {
    handshakes.push(request);
    const refusal = refuse();
    if (refusal)
      return socket.end(
        `HTTP/1.1 ${refusal.status} No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
      );
    server.handleUpgrade(request, socket, head, (ws) => {
      sockets.push(ws);
      ws.on("message", (data) => {
        const frame = JSON.parse(String(data)) as Record<string, any>;
        frames.push(frame);
        answer?.(frame, ws);
        changed();
      });
      greet?.(ws, request);
      changed();
    });
    return undefined;
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  return {
    url: `ws://127.0.0.1:${(http.address() as AddressInfo).port}/pico`,
    handshakes,
    sockets,
    frames,
    socket: (n) => until(() => sockets[n]),
    frame: (fits) => until(() => frames.find(fits)),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.terminate();
      http.closeAllConnections();
      http.close();
      await once(http, "close");
    },
  };
}

const stepMs = 5;
/** Longest step of the clock while this process is suspended. */
const mostMs = 25;

/**
 * Creates a clock one day ahead that runs `speed` times as fast. It limits its steps while the
 * process is suspended, so that no deadline passes before due events had a chance to run.
 */
export function hurriedClock(times: number): Clock {
  const clock = createStoppedClock();
  clock.set(Date.now() + 86_400_000);
  let last = performance.now();
  setInterval(() => {
    const now = performance.now();
    clock.increment(Math.round(Math.min(mostMs, now - last) * times));
    last = now;
  }, stepMs).unref();
  return {
    now: () => clock.now(),
    monotonic: () => clock.now(),
    setTimeout: (run, ms) => clock.setTimeout(run, ms),
    clearTimeout: (id) => clock.clearTimeout(id as number),
  };
}
