// Starts real Redis servers on free ports of this machine.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasTools } from "./tools.ts";

/** False if the tests of Redis must be skipped. */
export const hasRedis = hasTools("redis-server");

export interface RedisServer {
  readonly port: number;
  readonly url: string;
  readonly folder: string;
  /** Sends one command in the inline form, and resolves with the raw reply. */
  ask(command: string): Promise<string>;
  /** Sends a signal. */
  signal(name: NodeJS.Signals): void;
  /** Kills the server, as a crash would. */
  kill(): Promise<void>;
  /** Starts it again on the same port and folder. */
  start(): Promise<void>;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Sends one inline command to a server. */
export function askRedis(port: number, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(`${command}\r\nQUIT\r\n`));
    let text = "";
    socket.on("data", (chunk) => void (text += chunk.toString()));
    socket.on("error", reject);
    socket.on("close", () => resolve(text.replace(/\+OK\r\n$/, "")));
  });
}

async function untilAnswers(port: number, child: ChildProcess): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`redis-server ended: ${child.exitCode}`);
    const reply = await askRedis(port, "PING").catch(() => "");
    if (reply.startsWith("+PONG") || reply.startsWith("-LOADING")) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** @param options - Command-line options of the server, for example `--appendonly yes`. */
export async function startRedis(
  options: readonly string[] = [],
  { port: given, program = "redis-server" }: { port?: number; program?: string } = {},
): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), "doorward-redis-"));
  const port = given ?? (await freePort());
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    const fixed = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder];
    const quiet = ["--save", "", "--daemonize", "no", "--loglevel", "warning"];
    child = spawn(program, [...fixed, ...quiet, ...options], { stdio: "ignore" });
    await untilAnswers(port, child);
  }

  async function kill(): Promise<void> {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, "exit");
    child.kill("SIGCONT");
    child.kill("SIGKILL");
    await exit;
  }

  async function stop(): Promise<void> {
    await kill();
    await rm(folder, { recursive: true, force: true });
  }

  await start();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    folder,
    ask: (command) => askRedis(port, command),
    signal: (name) => void child?.kill(name),
    kill,
    start,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
