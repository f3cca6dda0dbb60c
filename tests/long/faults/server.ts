import { once } from "node:events";
import { WebSocket } from "ws";
import { startChild, token, type Child, type ChildOptions } from "./child.ts";

export { eventually, token } from "./child.ts";

export interface Disconnected {
  readonly session: string;
  readonly code: number;
  readonly reason: string;
  readonly initiator: string;
}
export interface Line {
  readonly level: "info" | "warn" | "error";
  readonly text: string;
}

interface Orders {
  say(order: { session: string; content: string; bytes?: number }): string;
  now(): number;
  connections(): number;
  queued(): number;
  stall(order: { ms: number }): void;
  held(): { bytes: number; rss: number; files: number };
}

/** A process of `children/server.mjs`. */
export interface Server extends Omit<Child, "ask"> {
  readonly port: number;
  readonly url: string;
  readonly disconnected: readonly Disconnected[];
  readonly lines: readonly Line[];
  ask<K extends keyof Orders>(
    order: K,
    ...more: Parameters<Orders[K]>
  ): Promise<ReturnType<Orders[K]>>;
}

export interface ServerOptions extends ChildOptions {
  /** Values for `channels.pico`. */
  readonly config?: Readonly<Record<string, unknown>>;
}

export async function startServer({
  config = {},
  ...options
}: ServerOptions = {}): Promise<Server> {
  const lines: Line[] = [];
  const disconnected: Disconnected[] = [];
  let port = 0;
  const child = startChild(
    "server",
    { config },
    (news) => {
      if (news["port"]) port = news["port"] as number;
      if (news["line"]) lines.push(news["line"] as Line);
      if (news["disconnected"]) disconnected.push(news["disconnected"] as Disconnected);
    },
    options,
  );
  await child.until("it listened", () => port !== 0);
  const ask = child.ask as Server["ask"];
  return { ...child, ask, port, url: `ws://127.0.0.1:${port}/pico`, lines, disconnected };
}

export interface Talker {
  readonly ws: WebSocket;
  /** Contents of the received messages. */
  readonly heard: readonly string[];
  readonly pings: () => number;
  readonly closed: Promise<{ code: number; reason: string }>;
  say(content: string, session?: string): void;
}

/** Connects a client that records messages. `url` includes the query. */
export async function join(url: string, heardOne: () => void = () => undefined): Promise<Talker> {
  const ws = new WebSocket(url, {
    headers: { authorization: `Bearer ${token}` },
    perMessageDeflate: false,
  });
  const heard: string[] = [];
  let pings = 0;
  ws.on("ping", () => void (pings += 1));
  ws.on("message", (data: Buffer) => {
    const { type, payload } = JSON.parse(data.toString()) as {
      type: string;
      payload?: { content?: string };
    };
    if (type !== "message.create") return;
    heard.push(payload?.content ?? "");
    heardOne();
  });
  const closed = new Promise<{ code: number; reason: string }>((done) => {
    ws.on("close", (code, reason) => done({ code, reason: String(reason) }));
  });
  await once(ws, "open");
  ws.on("error", () => undefined); // "close" follows
  return {
    ws,
    heard,
    closed,
    pings: () => pings,
    say: (content, session) =>
      ws.send(
        JSON.stringify({
          type: "message.send",
          ...(session && { session_id: session }),
          payload: { content },
        }),
      ),
  };
}

/** Connects `count` clients, a hundred in parallel. */
export async function joinMany(
  count: number,
  url: (n: number) => string,
  heardOne?: () => void,
): Promise<Talker[]> {
  const all: Talker[] = [];
  while (all.length < count) {
    const next = Array.from({ length: Math.min(100, count - all.length) }, (_, n) =>
      join(url(all.length + n), heardOne),
    );
    all.push(...(await Promise.all(next)));
  }
  return all;
}
