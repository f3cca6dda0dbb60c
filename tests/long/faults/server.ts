import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { WebSocket } from "ws";

export const token = "correct-horse-battery-staple-correct-horse-battery-staple";

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
  connections(): number;
  queued(): number;
  stall(order: { ms: number }): void;
  held(): { bytes: number; rss: number; files: number };
}

/** The service of `children/server.mjs`. */
export interface Server extends AsyncDisposable {
  readonly pid: number;
  readonly port: number;
  readonly url: string;
  readonly disconnected: readonly Disconnected[];
  readonly lines: readonly Line[];
  ask<K extends keyof Orders>(order: K, ...more: Parameters<Orders[K]>): Promise<ReturnType<Orders[K]>>;
  /** Resolves when it holds, looked at whenever the service tells something; rejects when its process ends before. */
  until(what: string, holds: () => boolean): Promise<void>;
}

export interface ServerOptions {
  /** Of `channels.pico`. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Files the process may open. */
  readonly files?: number;
  readonly nodeArgs?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

type News = { port?: number; id?: number; answer?: unknown; line?: Line; disconnected?: Disconnected };

export async function startServer({ config = {}, files, nodeArgs = [], env = {} }: ServerOptions = {}): Promise<Server> {
  const file = fileURLToPath(new URL("children/server.mjs", import.meta.url));
  const command = [process.execPath, ...nodeArgs, file, JSON.stringify({ config })];
  const limit = files === undefined ? "" : `ulimit -n ${files} && `;
  const child = spawn("bash", ["-c", `${limit}exec "$@"`, "-", ...command], {
    env: { PATH: process.env["PATH"] ?? "", TOKEN: token, ...env },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const lines: Line[] = [];
  const disconnected: Disconnected[] = [];
  const answers = new Map<number, (answer: never) => void>();
  const looks = new Set<() => void>();
  let port = 0;
  let count = 0;
  child.on("message", (news: News) => {
    if (news.port !== undefined) port = news.port;
    if (news.line) lines.push(news.line);
    if (news.disconnected) disconnected.push(news.disconnected);
    if (news.id !== undefined) answers.get(news.id)?.(news.answer as never);
    looks.forEach((look) => look());
  });
  const ended = once(child, "close");
  const until: Server["until"] = (what, holds) => new Promise((resolve, reject) => {
    const look = (): void => {
      if (!holds()) return;
      looks.delete(look);
      resolve();
    };
    looks.add(look);
    look();
    void ended.then(([code, signal]) => reject(new Error(`the service ended (${code ?? signal}) before ${what}`)));
  });
  await until("it listened", () => port !== 0);
  return {
    pid: child.pid!, port, url: `ws://127.0.0.1:${port}/pico`, lines, disconnected, until,
    async ask(order, ...[more]) {
      const id = (count += 1);
      let answer: unknown;
      answers.set(id, (given) => void (answer = { given }));
      child.send({ id, order, ...more });
      await until(`it answered ${order}`, () => answer !== undefined);
      answers.delete(id);
      return (answer as { given: never }).given;
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await ended;
    },
  };
}

/** Looks often: what others know tells nobody that it has changed. */
export async function eventually(holds: () => unknown): Promise<void> {
  while (!(await holds())) await new Promise((again) => setTimeout(again, 20));
}

export interface Talker {
  readonly ws: WebSocket;
  /** Contents of the messages it got. */
  readonly heard: readonly string[];
  readonly pings: () => number;
  readonly closed: Promise<{ code: number; reason: string }>;
  say(content: string, session?: string): void;
}

/** A client that listens. `url`: with its query. */
export async function join(url: string, heardOne: () => void = () => undefined): Promise<Talker> {
  const ws = new WebSocket(url, { headers: { authorization: `Bearer ${token}` }, perMessageDeflate: false });
  const heard: string[] = [];
  let pings = 0;
  ws.on("ping", () => void (pings += 1));
  ws.on("message", (data: Buffer) => {
    const { type, payload } = JSON.parse(data.toString()) as { type: string; payload?: { content?: string } };
    if (type !== "message.create") return;
    heard.push(payload?.content ?? "");
    heardOne();
  });
  const closed = new Promise<{ code: number; reason: string }>((done) => {
    ws.on("close", (code, reason) => done({ code, reason: String(reason) }));
  });
  await once(ws, "open");
  ws.on("error", () => undefined); // its close follows
  return {
    ws, heard, closed,
    pings: () => pings,
    say: (content, session) =>
      ws.send(JSON.stringify({ type: "message.send", ...(session && { session_id: session }), payload: { content } })),
  };
}

/** So many clients, a hundred at a time. */
export async function joinMany(count: number, url: (n: number) => string, heardOne?: () => void): Promise<Talker[]> {
  const all: Talker[] = [];
  while (all.length < count) {
    const next = Array.from({ length: Math.min(100, count - all.length) }, (_, n) => join(url(all.length + n), heardOne));
    all.push(...(await Promise.all(next)));
  }
  return all;
}
