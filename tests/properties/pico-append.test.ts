// Compares the texts of clients with those of the application, over real sockets.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { WebSocket, type ClientOptions } from "ws";
import { connect, type Client } from "../../lib/pico-link/client.ts";
import {
  startPicoServer,
  token,
  waitFor,
  type PicoTestServer,
} from "../support/pico-server-harness.ts";
import { runs } from "../support/runs.ts";

const to = { channel: "pico", session: "s1" };

const change = fc.oneof(
  fc.record({ do: fc.constant("grow" as const), by: fc.string({ unit: "grapheme" }) }),
  fc.record({ do: fc.constant("grow" as const), by: fc.constant("x".repeat(30_000)) }),
  fc.record({ do: fc.constant("replace" as const), by: fc.string({ unit: "binary" }) }),
);
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ message: fc.nat(2), change }) },
  fc.record({ message: fc.nat(2), end: fc.boolean() }),
  { weight: 1, arbitrary: fc.constant("cut" as const) },
  fc.constant("pause" as const),
  fc.constant("resume" as const),
  fc.constant("wait" as const),
);

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** A client of the library whose connection can be cut and slowed down. */
class CutClient {
  readonly client: Client;
  /** All shown texts by message id, the latest last. */
  readonly shown = new Map<string, string[]>();
  /** Frames that the client could not use. */
  holes = 0;
  private socket: WebSocket | undefined;

  constructor(service: PicoTestServer) {
    const opened = (socket: WebSocket): void => void (this.socket = socket);
    class Socket extends WebSocket {
      constructor(url: string, options?: never) {
        super(url, [], options as ClientOptions | undefined);
        opened(this);
      }
    }
    this.client = connect({
      url: `ws://127.0.0.1:${service.port}/pico`,
      token,
      sessionId: to.session,
      WebSocket: Socket,
      onUpdate: ({ id, content }) => {
        const texts = this.shown.get(id) ?? [];
        this.shown.set(id, [...texts, content]);
      },
      onState: ({ to: state, reason }) => {
        if (reason === "hole") this.holes += 1;
        if (state === "waiting") setImmediate(() => this.client.retry());
      },
    });
  }

  isOpen(): boolean {
    return this.client.state() === "open" && this.socket?.readyState === WebSocket.OPEN;
  }

  cut(): void {
    this.socket?.terminate();
  }

  read(isReading: boolean): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket[isReading ? "resume" : "pause"]();
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Sends messages until some client that does not read has a queue. */
async function fillQueue({ services }: PicoTestServer): Promise<void> {
  const isFull = (): boolean =>
    services.picoServer.connections().some(({ queuedBytes }) => queuedBytes > 300_000);
  for (let sent = 0; sent < 20 && !isFull(); sent += 1) {
    await services.channels.send(to, { content: "f".repeat(400_000) });
    await turn();
  }
}

async function run(steps: readonly Step[]): Promise<void> {
  await using service = await startPicoServer();
  const { channels } = service.services;
  const clients = [new CutClient(service), new CutClient(service)];
  const [cut] = clients;
  await waitFor(() => clients.every(({ client }) => client.state() === "open"));
  await waitFor(() => service.services.picoServer.connections().length === 2);
  const messages: { id: string; text: string; texts: Set<string> }[] = [];
  for (let index = 0; index < 3; index += 1) {
    const { id } = await channels.send(to, { content: String(index) });
    messages.push({ id, text: String(index), texts: new Set([String(index)]) });
  }
  for (const item of steps) {
    if (item === "cut") {
      cut!.cut();
      await waitFor(() => cut!.isOpen());
    } else if (item === "resume") cut!.read(true);
    else if (item === "pause") {
      cut!.read(false);
      await fillQueue(service);
    } else if (item === "wait") await turn();
    else {
      const message = messages[item.message]!;
      const added = "change" in item && item.change.do === "grow" ? item.change.by : undefined;
      if ("change" in item)
        message.text = (added === undefined ? "" : message.text) + item.change.by;
      message.texts.add(message.text.toWellFormed());
      const final = "end" in item && item.end;
      await channels.update(to, message.id, {
        content: message.text,
        final,
        ...(added !== undefined && { added }),
      });
    }
  }
  cut!.read(true);
  // A reconnect with frames outside the window would lose the final texts below.
  await waitFor(() => {
    const connections = service.services.picoServer.connections();
    const areIdle = connections.every(({ queuedBytes }) => queuedBytes === 0);
    return connections.length === 2 && areIdle && clients.every((client) => client.isOpen());
  });
  for (const { id, text } of messages)
    await channels.update(to, id, { content: `${text}.`, final: true });
  for (const each of clients) {
    const { shown, client } = each;
    await waitFor(() =>
      messages.every(({ id, text }) => shown.get(id)?.at(-1) === `${text}.`.toWellFormed()),
    );
    for (const { id, text, texts } of messages) {
      const known = new Set([...texts, `${text}.`.toWellFormed()]);
      expect(shown.get(id)!.filter((content) => !known.has(content))).toEqual([]);
    }
    expect(each.holes).toBe(0);
    client.close();
  }
}

describe("texts that grow, are replaced or read slowly", () => {
  test(
    "end equal at the application and its clients",
    () =>
      fc.assert(fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), run), {
        numRuns: runs(20),
      }),
    120_000,
  );
});
