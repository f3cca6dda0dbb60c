// Kills a real launcher under load, again and again, and checks what its clients know afterwards.
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocket } from "ws";
import { startLauncher } from "../e2e/launcher.ts";

const token = "correct-horse-battery-staple-correct-horse-battery-staple";
/** Messages of one client that wait for their acknowledgement. */
const inFlight = 8;

interface Frame {
  readonly type: string;
  readonly seq?: number;
  readonly payload: {
    readonly request_id?: string;
    readonly status?: "accepted" | "duplicate";
    readonly epoch?: string;
    readonly gap?: boolean;
    readonly seq?: number;
    readonly code?: string;
  };
}

/** A client of the extension that sends messages until its connection ends, and resumes. */
class Client {
  readonly acknowledged = new Set<string>();
  readonly replies = new Set<string>();
  duplicates = 0;
  private readonly session: string;
  private readonly unanswered: string[] = [];
  private epoch: string | undefined;
  private seq = 0;
  private count = 0;

  constructor(session: string) {
    this.session = session;
  }

  /**
   * @param progress - Called with each acknowledgement.
   * @returns A promise that resolves when the connection has ended.
   */
  run(base: URL, progress: () => void): Promise<void> {
    const url = new URL("/pico", base);
    url.protocol = "ws:";
    url.search = `session_id=${this.session}&pico_ext=1`;
    if (this.epoch !== undefined) url.search += `&resume=${this.epoch}:${this.seq}`;
    const socket = new WebSocket(url, { headers: { authorization: `Bearer ${token}` } });
    const failure = new Promise<never>((_, reject) => {
      socket.on("message", (data) => {
        try {
          this.receive(socket, JSON.parse((data as Buffer).toString()) as Frame, progress);
        } catch (error) {
          reject(error as Error);
        }
      });
    });
    socket.on("error", () => undefined);
    const closed = new Promise<void>((resolve) => void socket.once("close", () => resolve()));
    return Promise.race([closed, failure]);
  }

  private receive(socket: WebSocket, frame: Frame, progress: () => void): void {
    const { type, payload, seq } = frame;
    if (type === "hello") {
      this.epoch ??= payload.epoch;
      assert.equal(payload.epoch, this.epoch, "another epoch");
      assert.equal(payload.gap, false, "a gap");
      assert(payload.seq! >= this.seq, "the stream lost its end");
      // Also an acknowledged message, which must not reach the application again.
      const [known] = [...this.acknowledged].slice(-1);
      const repeated = [...(known === undefined ? [] : [known]), ...this.unanswered];
      for (const id of repeated) this.send(socket, id);
      while (this.unanswered.length < inFlight) this.sendNew(socket);
    }
    if (seq !== undefined) {
      assert.equal(seq, this.seq + 1, "a hole or a number twice");
      this.seq = seq;
      const { request_id: id } = payload;
      // The number of a turn that this client did not ask for has no content.
      if (id !== undefined) {
        assert(!this.replies.has(id), `${id} was handled again after its complete answer`);
        this.replies.add(id);
      }
      socket.send(JSON.stringify({ type: "ack", payload: { seq } }));
    }
    if (type === "message.ack") this.acknowledge(socket, payload, progress);
    // A process that stops asks for the message again.
    if (type === "error") assert.equal(payload.code, "busy", JSON.stringify(payload));
  }

  private acknowledge(socket: WebSocket, payload: Frame["payload"], progress: () => void): void {
    const id = payload.request_id!;
    if (payload.status === "duplicate") this.duplicates += 1;
    const isRepeated = this.acknowledged.has(id);
    assert(!isRepeated || payload.status === "duplicate", `${id} was accepted twice`);
    assert(this.replies.has(id), `${id} was acknowledged before its reply`);
    this.acknowledged.add(id);
    if (isRepeated) return;
    this.unanswered.splice(this.unanswered.indexOf(id), 1);
    progress();
    this.sendNew(socket);
  }

  private sendNew(socket: WebSocket): void {
    const id = `${this.session}-${(this.count += 1)}`;
    this.unanswered.push(id);
    this.send(socket, id);
  }

  private send(socket: WebSocket, id: string): void {
    socket.send(JSON.stringify({ type: "message.send", id, payload: { content: `text ${id}` } }));
  }
}

/** Counts of messages that the clients sent. */
export interface KillReport {
  readonly acknowledged: number;
  readonly duplicates: number;
}

/**
 * Kills or stops the launcher at random moments under load. Throws if a client loses a message or a number,
 * if a message is handled again after its complete answer was stored, or if a start fails.
 */
export async function killUnderLoad(
  kills: number,
  clientCount = 4,
  signal: "SIGKILL" | "SIGTERM" = "SIGKILL",
): Promise<KillReport> {
  const home = await mkdtemp(join(tmpdir(), "doorward-store-kills-"));
  const env = {
    SERVICE_HOME: home,
    SERVICE_LAUNCHER_TOKEN: token,
    SERVICE_CHANNELS_PICO_TOKEN: token.toUpperCase(),
    SERVICE_CHANNELS_PICO_ENABLED: "true",
    SERVICE_CHANNELS_PICO_MESSAGE_RATE: "0",
    SERVICE_STORE_KIND: "sqlite",
  };
  env.SERVICE_CHANNELS_PICO_TOKEN = token;
  env.SERVICE_LAUNCHER_TOKEN = token.toUpperCase();
  const clients = Array.from({ length: clientCount }, (_, at) => new Client(`s${at}`));
  try {
    for (let kill = 0; kill < kills; kill += 1) {
      const args = ["-console", "-no-browser", "-port", "0"];
      await using launcher = await startLauncher({ args, env });
      let left = 1 + randomInt(150);
      const progress = (): void => {
        left -= 1;
        if (left === 0) launcher.child.kill(signal);
      };
      await Promise.all(clients.map((client) => client.run(launcher.base, progress)));
      const ended = await launcher.ended;
      if (signal === "SIGKILL") assert.equal(ended.signal, signal, launcher.stderr());
    }
  } finally {
    await rm(home, { recursive: true, force: true });
  }
  const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
  return {
    acknowledged: sum(clients.map(({ acknowledged }) => acknowledged.size)),
    duplicates: sum(clients.map(({ duplicates }) => duplicates)),
  };
}
