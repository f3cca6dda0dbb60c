import { WebSocket } from "ws";
import { testingErrors } from "./errors.ts";

export const defaultTimeoutMs = 10_000;

/** Waits in real time, which a stopped clock does not stop; `what` names the wait in the rejection. */
export async function withTimeout<T>(ms: number, what: string, fact: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    // A process that was held up hears first what came meanwhile.
    timer = setTimeout(() => setImmediate(() => reject(testingErrors.TEST_WAITED(what, ms))), ms);
  });
  try {
    return await Promise.race([fact, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What came and was not asked for yet. */
export interface Queue<T> {
  push(item: T): void;
  /** The oldest one that fits, when it comes; those before it stay. Rejects `TEST_WAITED` or the end's reason. */
  next(what: string, fits?: (item: T) => boolean): Promise<T>;
  /** Nothing comes any more: waits reject with what `reason` makes of their name. */
  end(reason: (what: string) => Error): void;
  readonly waiting: readonly T[];
}

export function createQueue<T>(patienceMs = defaultTimeoutMs): Queue<T> {
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
    let own: Wait;
    const come = new Promise<T>((take, fail) => void waits.add((own = { what, fits, take, fail })));
    return withTimeout(patienceMs, what, come).finally(() => waits.delete(own));
  }

  return {
    waiting: items,
    push(item) {
      const first = [...waits].find((each) => each.fits(item));
      if (!first) return void items.push(item);
      waits.delete(first);
      first.take(item);
    },
    async next(what, fits = () => true) {
      const at = items.findIndex(fits);
      if (at !== -1) return items.splice(at, 1)[0]!;
      if (ended) throw ended(what);
      return wait(what, fits);
    },
    end(reason) {
      ended = reason;
      for (const each of waits) each.fail(reason(each.what));
      waits.clear();
    },
  };
}

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
