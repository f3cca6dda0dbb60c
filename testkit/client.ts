import { WebSocket } from "ws";
import { testingErrors } from "./errors.ts";
import { createQueue, withTimeout, defaultTimeoutMs } from "./queue.ts";

export interface ClientOptions {
  /** Of the channel; offered as a subprotocol, as browsers do. */
  readonly token?: string;
  /** Default: one the server makes. */
  readonly session?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Offered beside the token's. */
  readonly protocols?: readonly string[];
  /** Longest wait for anything, in real milliseconds; default 10,000. */
  readonly patienceMs?: number;
}

/** One frame as it came. */
export interface ReceivedFrame {
  readonly type: string;
  readonly id?: string;
  readonly session_id?: string;
  readonly timestamp?: number;
  readonly payload?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** A client that waits for facts: nothing sleeps, and nothing that came is lost. */
export interface TestClient extends AsyncDisposable {
  /** The subprotocol the server chose. */
  readonly protocol: string;
  /** An object goes out as JSON, text as it is. */
  send(frame: object | string): void;
  /** Sends a message and answers its id. */
  say(content: string, more?: { readonly id?: string; readonly session?: string }): string;
  /** The oldest frame nobody asked for, or the oldest of a type. */
  next(type?: string): Promise<ReceivedFrame>;
  /** What came and was not asked for. */
  readonly waiting: readonly ReceivedFrame[];
  /** Resolves when the server has read everything sent before and its answers are here. */
  settled(): Promise<void>;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  close(): Promise<void>;
}

/** Connects to a pico channel: `ws:`, or `http:` of the same place. Rejects `TEST_REFUSED` with the HTTP status. */
export async function connectTestClient(
  channel: string | URL,
  options: ClientOptions = {},
): Promise<TestClient> {
  const { token, session, headers = {}, protocols = [], patienceMs = defaultTimeoutMs } = options;
  const url = new URL(channel);
  url.protocol = url.protocol.replace(/^http/, "ws");
  if (session !== undefined) url.searchParams.set("session_id", session);
  const offered = [...protocols, ...(token === undefined ? [] : [`token.${token}`])];
  const ws = new WebSocket(url, offered, { headers: { ...headers } });
  const frames = createQueue<ReceivedFrame>(patienceMs);
  ws.on("message", (data) => frames.push(JSON.parse(String(data)) as ReceivedFrame));
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    ws.once("close", (code, reason) => {
      resolve({ code, reason: String(reason) });
      frames.end((what) => testingErrors.TEST_CLOSED(what, code));
    });
  });
  await withTimeout(patienceMs, "the connection", whenOpen(ws));
  ws.on("error", () => undefined); // its close follows
  let count = 0;

  const client: TestClient = {
    protocol: ws.protocol,
    closed,
    waiting: frames.waiting,
    send: (frame) => ws.send(typeof frame === "string" ? frame : JSON.stringify(frame)),
    say(content, { id = `said-${(count += 1)}`, session: to } = {}) {
      client.send({
        type: "message.send",
        id,
        ...(to !== undefined && { session_id: to }),
        payload: { content },
      });
      return id;
    },
    next: (type) =>
      type === undefined
        ? frames.next("a frame")
        : frames.next(`a ${type} frame`, (frame) => frame.type === type),
    async settled() {
      const id = `settled-${(count += 1)}`;
      client.send({ type: "ping", id });
      await frames.next(
        "the answer to a ping",
        (frame) => frame.type === "pong" && frame.id === id,
      );
    },
    async close() {
      ws.close();
      await closed;
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
  return client;
}

function whenOpen(ws: WebSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    ws.once("open", resolve);
    ws.once("error", reject);
    ws.once("unexpected-response", (_, { statusCode = 0 }) => {
      ws.once("error", () => undefined);
      ws.terminate();
      reject(testingErrors.TEST_REFUSED(statusCode, { details: { status: statusCode } }));
    });
  });
}
