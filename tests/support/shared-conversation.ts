// The participants of a conversation: devices, a program and the server between them.
import { WebSocket } from "ws";
import { createKernel, type Plugin } from "../../kernel/index.ts";
import { createCapturedLog } from "../../kernel/testing.ts";
import { connect, type Client, type HistoryPage } from "../../lib/pico-link/client.ts";
import { channels } from "../../plugins/channels/index.ts";
import { conversations } from "../../plugins/conversations/index.ts";
import { dashboard } from "../../plugins/dashboard/index.ts";
import { gateway, http, type Http } from "../../plugins/http/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import { program } from "../../plugins/program/index.ts";
import { memory, tokenStore } from "../../plugins/token-store/index.ts";
import { token } from "./pico-server-harness.ts";

/** Opens the API of the dashboard. */
export const launcherToken = "the-launcher-token-of-a-shared-conversation";

/** A message as one participant knows it. */
export interface Seen {
  /** Of its first entry. */
  readonly seq: number;
  readonly role: "user" | "assistant" | "tool";
  readonly id: string | undefined;
  /** A device receives only the numbers of its own messages, without id and text. */
  readonly content: string | undefined;
}

/** Answers in one piece, or later, or in two pieces; to `both` with a second message as well. */
export const agent = `
const say = (type, payload, more) =>
  process.stdout.write(JSON.stringify({ type, payload, ...more }) + "\\n");
const timers = new Map();
const later = (id, run) =>
  timers.set(id, setTimeout(() => { timers.delete(id); run(); }, 15));
say("ready", { can: ["stop"] });
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { type, id, session_id, payload } = JSON.parse(line);
  if (type === "message.stop") {
    clearTimeout(timers.get(id));
    say("message.ack", { request_id: id, final: true });
  }
  if (type !== "message.send") return;
  const [kind] = payload.content.split(" ");
  const answer = (content, more) =>
    say("message.create", { request_id: id, content, ...more });
  const whole = "answer to " + payload.content;
  if (kind === "later") later(id, () => answer(whole));
  else if (kind === "grow") {
    const message_id = "grown-" + id + "-" + process.pid;
    answer("answer", { message_id, final: false });
    later(id, () => say("message.append", { message_id, content: whole.slice(6), final: true }));
  } else {
    if (kind === "both") say("message.create", { content: "unasked" }, { session_id });
    answer(whole);
  }
});`;

/** A store that a server can open again after a restart. */
export type SharedStore = NonNullable<NonNullable<Parameters<typeof conversations>[0]>["store"]>;

/** Starts the server with the program. It listens on the same port after a restart. */
export async function startServer(file: string, port: number, store: SharedStore | undefined) {
  const command = [process.execPath, file] as const;
  const env = { PATH: process.env["PATH"] ?? "" };
  const kept = conversations(store ? { store } : {}) as unknown as Plugin;
  const kernel = createKernel(
    [
      tokenStore(memory({ pico: token, launcher: launcherToken })),
      kept,
      channels(),
      http({ port: 0 }),
      gateway(),
      picoServer(),
      program({ command, env }),
      dashboard(),
    ],
    {
      log: createCapturedLog().log,
      config: {
        "channels.pico": { enabled: true, message_rate: 0, drain_timeout: 0 },
        gateway: { port },
      },
    },
  );
  await kernel.start();
  const { http: server } = kernel.services as { http: Http };
  return {
    port: Number(server.addresses("gateway")[0]!.port),
    dashboard: server.addresses()[0]!,
    stop: () => kernel.stop(),
  };
}

export type SharedServer = Awaited<ReturnType<typeof startServer>>;

/** Merges the entries of a conversation into messages with their latest text. */
class View {
  private readonly messages = new Map<string | number, Seen>();

  add(seen: Seen): void {
    const key = seen.role === "user" ? seen.seq : seen.id!;
    const before = this.messages.get(key);
    this.messages.set(key, before ? { ...before, content: seen.content } : seen);
  }

  read(): Seen[] {
    return [...this.messages.values()].toSorted((a, b) => a.seq - b.seq);
  }
}

/** Positions and sides, with the ids and texts that the other participant knows as well. */
export const outline = (list: readonly Seen[], other: readonly Seen[]): string[] =>
  list.map(({ seq, role, id, content }, at) => {
    const { id: otherId, content: otherContent } = other[at] ?? {};
    const isKnown = content !== undefined && otherContent !== undefined;
    const known = isKnown
      ? `${id === undefined || otherId === undefined ? "" : id} ${content}`
      : "";
    return `${seq} ${role} ${known}`;
  });

/** A client that keeps what it sends and receives. */
export class Device {
  readonly view = new View();
  readonly gaps: unknown[] = [];
  readonly outcomes = new Map<string, string>();
  private readonly client: Client;
  private readonly sent = new Map<string, string>();
  /** Messages that may have reached the program without an acknowledgement. */
  private readonly repeated = new Set<string>();
  private sockets: WebSocket[] = [];

  constructor(port: number, sessionId: string) {
    const { sockets } = this;
    class Socket extends WebSocket {
      constructor(...args: ConstructorParameters<typeof WebSocket>) {
        super(...args);
        sockets.push(this);
      }
    }
    this.client = connect({
      url: `ws://127.0.0.1:${port}/pico`,
      token,
      sessionId,
      WebSocket: Socket as never,
      onFrame: (frame) => this.receive(frame as never),
      onGap: (gap) => this.gaps.push(gap),
      onTurn: () => undefined,
    });
  }

  get isOpen(): boolean {
    return this.client.state() === "open";
  }

  get waiting(): number {
    return this.sent.size - this.outcomes.size;
  }

  send(id: string, content: string): void {
    this.sent.set(id, content);
    this.client.send({ id, content }).accepted.then(
      ({ status }) => this.outcomes.set(id, status),
      (error: { code: string }) => this.outcomes.set(id, error.code),
    );
  }

  /** Stops the latest message whose outcome is unknown. */
  stopLatest(): void {
    const id = [...this.sent.keys()].findLast((one) => !this.outcomes.has(one));
    if (id !== undefined) this.client.stop(id).catch(() => undefined);
  }

  /** Cuts the connection without a close frame. */
  cut(): void {
    for (const socket of this.sockets.splice(0)) socket.terminate();
  }

  retry(): void {
    if (!this.isOpen) this.client.retry();
  }

  history(options: { limit: number; before?: string }): Promise<HistoryPage> {
    return this.client.history(options);
  }

  unknownOutcomes(): string[] {
    return [...this.outcomes.values()].filter((one) => one !== "delivered" && one !== "stopped");
  }

  noteRestart(): void {
    for (const id of this.sent.keys()) if (!this.outcomes.has(id)) this.repeated.add(id);
  }

  /**
   * The messages that are not in this view of another participant, and those that are in it twice,
   * unless the server restarted before it acknowledged them.
   */
  wrongIn(view: readonly Seen[]): string[] {
    const countOf = (text: string): number => view.filter(({ content }) => content === text).length;
    return [...this.outcomes]
      .map(([id, outcome]) => ({ id, outcome, count: countOf(this.sent.get(id)!) }))
      .filter(({ id, outcome, count }) => {
        const isMissing = outcome === "delivered" && count === 0;
        return isMissing || (count > 1 && !this.repeated.has(id));
      })
      .map(({ id }) => id);
  }

  end(): void {
    this.client.close();
  }

  private receive({
    type,
    seq,
    payload = {},
  }: {
    readonly type: string;
    readonly seq?: number;
    readonly payload?: Readonly<Record<string, string>>;
  }): void {
    const { message_id = "", content = "" } = payload;
    if (seq === undefined) return;
    // The number of an own message comes with its acknowledgement, or before its answer.
    if (type === "message.ack" || type === "message.delete")
      this.view.add({ seq, role: "user", id: undefined, content: undefined });
    if (type === "message.user") this.view.add({ seq, role: "user", id: message_id, content });
    if (type === "message.create" || type === "message.update")
      this.view.add({ seq, role: "assistant", id: message_id, content });
  }
}
