// A test client of the pico channel, which waits for frames.
import { WebSocket } from "ws";
import { testingErrors } from "./errors.ts";

const defaultTimeoutMs = 10_000;

/**
 * Waits in real time, even if the kernel clock is stopped.
 *
 * @param what - The awaited event, for the error message.
 * @throws TEST_WAITED after `ms` milliseconds.
 */
export async function withTimeout<T>(ms: number, what: string, event: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    // If the process was busy, events that have already arrived are handled first.
    timer = setTimeout(() => setImmediate(() => reject(testingErrors.TEST_WAITED(what, ms))), ms);
  });
  try {
    return await Promise.race([event, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Items that have arrived and were not read yet. */
export interface Queue<T> {
  /** Adds an item, and gives it to the oldest matching wait. */
  push(item: T): void;
  /**
   * Removes and returns the oldest matching item, when it arrives. Items before it stay.
   *
   * @throws TEST_WAITED if it does not arrive in time, or the error of `end`.
   */
  next(what: string, fits?: (item: T) => boolean): Promise<T>;
  /**
   * Ends the queue: pending and later waits reject with the error that `reason` creates from their
   * description.
   */
  end(reason: (what: string) => Error): void;
  /** Items that were not read, oldest first. */
  readonly waiting: readonly T[];
}

/**
 * Creates a queue whose reader waits for items.
 *
 * @param timeoutMs - Maximum wait in real milliseconds. @defaultValue 10,000
 * @example
 * import { createQueue } from "doorward/testing";
 * const messages = createQueue<string>();
 * messages.push("hello");
 * await messages.next("a greeting"); // "hello"
 */
export function createQueue<T>(timeoutMs = defaultTimeoutMs): Queue<T> {
  interface Wait {
    readonly what: string;
    fits(item: T): boolean;
    take(item: T): void;
    fail(error: Error): void;
  }
  const items: T[] = [];
  const waits = new Set<Wait>();
  let ended: ((what: string) => Error) | undefined;

  function wait(what: string, fits: (item: T) => boolean): Promise<T> {
    let current: Wait;
    const arrival = new Promise<T>((take, fail) => {
      current = { what, fits, take, fail };
      waits.add(current);
    });
    return withTimeout(timeoutMs, what, arrival).finally(() => waits.delete(current));
  }

  return {
    waiting: items,
    push(item) {
      const first = [...waits].find((pending) => pending.fits(item));
      if (!first) return void items.push(item);
      waits.delete(first);
      first.take(item);
    },
    async next(what, fits = () => true) {
      const index = items.findIndex(fits);
      if (index !== -1) return items.splice(index, 1)[0]!;
      if (ended) throw ended(what);
      return wait(what, fits);
    },
    end(reason) {
      ended = reason;
      for (const pending of waits) pending.fail(reason(pending.what));
      waits.clear();
    },
  };
}

/** Options of `connectTestClient`. */
export interface ClientOptions {
  /** The channel token; offered as a subprotocol, as browsers do. */
  readonly token?: string;
  /** The session id. @defaultValue The server assigns one. */
  readonly session?: string;
  /** Additional headers of the handshake. @defaultValue none */
  readonly headers?: Readonly<Record<string, string>>;
  /** Subprotocols that are offered before the one with the token. */
  readonly protocols?: readonly string[];
  /** Maximum wait in real milliseconds. @defaultValue 10,000 */
  readonly timeoutMs?: number;
}

/** A received frame. */
export interface ReceivedFrame {
  /** Type of the frame, for example `message.create`. */
  readonly type: string;
  /** The `id` of the frame; replies such as `pong` repeat the one of the request. */
  readonly id?: string;
  /** Session that the frame belongs to. */
  readonly session_id?: string;
  /** Unix milliseconds at the server. */
  readonly timestamp?: number;
  /** Content of the frame as parsed JSON, not validated. */
  readonly payload?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** A test client. It never sleeps but waits for frames, and keeps every frame until it is read. */
export interface TestClient extends AsyncDisposable {
  /** The subprotocol the server chose. */
  readonly protocol: string;
  /** Sends an object as JSON, and text unchanged. */
  send(frame: object | string): void;
  /**
   * Sends a message.
   *
   * @returns The id of the message.
   */
  say(content: string, more?: { readonly id?: string; readonly session?: string }): string;
  /** Waits for the oldest unread frame, or the oldest one of a type. */
  next(type?: string): Promise<ReceivedFrame>;
  /** Unread frames. */
  readonly waiting: readonly ReceivedFrame[];
  /** Resolves when the server has read everything sent before, and its replies have arrived. */
  settled(): Promise<void>;
  /** Resolves with code and reason when the connection has closed; never rejects. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  /** Closes without a code, and resolves when the connection has closed. */
  close(): Promise<void>;
}

/**
 * Connects to a pico channel.
 *
 * @param channel - The `ws:` or `http:` address.
 * @throws TEST_REFUSED with the HTTP status if the handshake is rejected.
 * @throws TEST_WAITED if the connection is not open in time.
 * @example
 * import { connectTestClient, testTokens } from "doorward/testing";
 * const url = "ws://127.0.0.1:18800/pico";
 * const client = await connectTestClient(url, { token: testTokens.pico });
 * client.say("hello");
 * const reply = await client.next("message.create");
 */
export async function connectTestClient(
  channel: string | URL,
  options: ClientOptions = {},
): Promise<TestClient> {
  const { token, session, headers = {}, protocols = [], timeoutMs = defaultTimeoutMs } = options;
  const url = new URL(channel);
  url.protocol = url.protocol.replace(/^http/, "ws");
  if (session !== undefined) url.searchParams.set("session_id", session);
  const offered = [...protocols, ...(token === undefined ? [] : [`token.${token}`])];
  const ws = new WebSocket(url, offered, { headers: { ...headers } });
  const frames = createQueue<ReceivedFrame>(timeoutMs);
  ws.on("message", (data) => frames.push(JSON.parse(String(data)) as ReceivedFrame));
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    ws.once("close", (code, reason) => {
      resolve({ code, reason: String(reason) });
      frames.end((what) => testingErrors.TEST_CLOSED(what, code));
    });
  });
  await withTimeout(timeoutMs, "the connection", whenOpen(ws));
  ws.on("error", () => undefined); // A close event follows.
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
