// Whole servers that share one real Redis server, and their clients.
import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { connect } from "../../../lib/pico-link/client.ts";
import type { Message } from "../../../plugins/channels/index.ts";
import { createFaultProxy } from "../../../testkit/index.ts";
import { token, type Frame } from "../../support/pico-server-harness.ts";
import { createFastClock } from "../../support/fast-clock.ts";
import { useChannelNodes, type ChannelNode } from "../../support/redis-channel-server.ts";
import { hasRedis, startRedis } from "../../support/redis-server.ts";

const { waitFor } = vi;
const { server, start } = useChannelNodes();

const contents = (frames: readonly Frame[]): unknown[] =>
  frames.flatMap(({ type, payload }) => (type === "message.create" ? [payload?.content] : []));

/** An application that collects its messages, and answers when it is asked to. */
function createHeldApplication() {
  const received: Message[] = [];
  return {
    received,
    ids: () => received.map(({ id }) => id),
    app: (message: Message) =>
      new Promise<void>((resolve) => {
        received.push(message);
        message.signal.addEventListener("abort", () => resolve());
      }),
  };
}

describe.skipIf(!hasRedis)("clients of several nodes", () => {
  test("move in the middle of an answer, and miss and repeat nothing", async () => {
    const prefix = randomUUID();
    const a = await start({ prefix, node: "a" });
    const b = await start({ prefix, node: "b" });
    const proxy = await createFaultProxy({ port: a.port });
    onTestFinished(() => proxy[Symbol.asyncDispose]());
    const received: string[] = [];
    const gaps: unknown[] = [];
    const chat = connect({
      url: `ws://127.0.0.1:${proxy.port}/pico`,
      token,
      sessionId: "s",
      onMessage: ({ content }) => received.push(content),
      onGap: (gap) => gaps.push(gap),
    });
    onTestFinished(() => chat.close());
    await waitFor(() => expect(a.services.picoServer.connections()).toHaveLength(1));
    for (let at = 0; at < 30; at += 1) {
      if (at === 10) proxy.lead(b.port);
      if (at === 10 || at === 20) proxy.cut();
      if (at === 20) proxy.lead(a.port);
      await a.say(`${at}`);
    }
    const all = Array.from({ length: 30 }, (_, at) => `${at}`);
    await waitFor(() => expect(received).toEqual(all), { timeout: 10_000 });
    expect(gaps).toEqual([]);
  }, 20_000);

  test("receive answers of another node without the extension", async () => {
    const prefix = randomUUID();
    const a = await start({ prefix });
    const b = await start({ prefix });
    const plain = await b.connect("/pico?session_id=s");
    const stream = await fetch(`http://127.0.0.1:${b.port}/pico/events?session_id=s`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(stream.status).toBe(200);
    const reader = stream.body!.getReader();
    onTestFinished(() => reader.cancel());
    await waitFor(() => expect(b.services.picoServer.connections()).toHaveLength(2));
    await a.say("hello from a");
    await waitFor(() => expect(contents(plain.frames)).toEqual(["hello from a"]));
    let text = "";
    while (!text.includes("hello from a"))
      text += Buffer.from((await reader.read()).value!).toString();
    plain.ws.terminate();
  });

  test("post a message to one node and wait for its reply there", async () => {
    const prefix = randomUUID();
    const app = async ({ content, reply }: Message) => void (await reply({ content }));
    await start({ prefix, app });
    const b = await start({ prefix, app });
    const body = { content: "question", session_id: "s" };
    const { status, body: answer } = await b.fetch("/pico/messages?wait=5", body);
    expect(status).toBe(200);
    expect(JSON.stringify(answer)).toContain("question");
  });
});

describe.skipIf(!hasRedis)("a store that stays away", () => {
  test("closes all clients after 60 s with a time to return", async () => {
    await using own = await startRedis();
    const clock = createFastClock();
    const node = await start({ url: own.url, clock });
    const clients = [
      await node.connect("/pico?session_id=s&pico_ext=1"),
      await node.connect("/pico?session_id=t"),
    ];
    await clients[0]!.next();
    await node.say("ready", "t");
    await clients[1]!.next();
    await own.kill();
    await waitFor(() => expect(node.services.conversations.health().state).toBe("away"));
    const startedAt = clock.monotonic();
    clock.setSpeed(20);
    const closes = await Promise.all(clients.map(({ closed }) => closed));
    expect(clock.monotonic() - startedAt).toBeGreaterThanOrEqual(58_000);
    for (const { code, reason } of closes) {
      expect(code).toBe(1013);
      const [, retry] = /^try_later; retry=(\d+)$/.exec(reason)!;
      expect(Number(retry)).toBeGreaterThanOrEqual(1_000);
      expect(Number(retry)).toBeLessThanOrEqual(5_000);
    }
    await expect(node.connect("/pico?session_id=s")).rejects.toThrow("503");
  }, 30_000);
});

describe.skipIf(!hasRedis)("a channel token of several nodes", () => {
  const other = "another-token-of-at-least-sixteen-characters";
  const secrets = ({ kernel }: ChannelNode) => kernel.services.tokenSecrets;
  const rotate = (node: ChannelNode, value = other) =>
    secrets(node).replace("pico", { value, expect: node.services.tokens.info("pico").version });

  test("ends connections of all nodes within 2 s after a rotation", async () => {
    const prefix = randomUUID();
    const [a, b] = [await start({ prefix }), await start({ prefix })];
    const clients = [await a.connect("/pico?session_id=s"), await b.connect("/pico?session_id=t")];
    const startedAt = performance.now();
    await rotate(a);
    const closes = await Promise.all(clients.map(({ closed }) => closed));
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    expect(closes.map(({ code }) => code)).toEqual([1012, 1012]);
    expect(secrets(b).reveal("pico")).toBe(other);
    expect((await b.fetch("/pico/messages", { content: "x" })).status).toBe(401);
  });

  test("gives way at the start of a node that was away", async () => {
    const prefix = randomUUID();
    const a = await start({ prefix });
    await rotate(a);
    const b = await start({ prefix });
    expect(secrets(b).reveal("pico")).toBe(other);
    expect(b.lines.map(({ text }) => text)).toContainEqual(expect.stringContaining("out of date"));
    expect((await b.fetch("/pico/messages", { content: "x" })).status).toBe(401);
  });

  test("reaches a node that was away before it serves again", async () => {
    const prefix = randomUUID();
    const proxy = await createFaultProxy({ port: server().port });
    onTestFinished(() => proxy[Symbol.asyncDispose]());
    const a = await start({ prefix });
    const b = await start({ prefix, url: `redis://127.0.0.1:${proxy.port}` });
    proxy.set({ up: "swallow", down: "swallow" });
    const state = () => b.services.conversations.health().state;
    await waitFor(() => expect(state()).toBe("away"), { timeout: 8_000 });
    await rotate(a);
    expect(await b.fetch("/pico/messages", { content: "x" })).toMatchObject({
      status: 503,
      body: { error: "store_unavailable" },
    });
    const statuses = new Set<number>();
    proxy.cut();
    proxy.set({ up: "none", down: "none" });
    while (!statuses.has(401))
      statuses.add((await b.fetch("/pico/messages", { content: "x" })).status);
    expect([...statuses]).toEqual([503, 401]);
  }, 20_000);

  test("replaces the token of the others if it is new", async () => {
    const prefix = randomUUID();
    const a = await start({ prefix });
    await start({ prefix, token: other });
    await waitFor(() => expect(secrets(a).reveal("pico")).toBe(other));
  });
});

describe.skipIf(!hasRedis)("the owner of a session", () => {
  test("receives messages of all nodes in order, one after another", async () => {
    const prefix = randomUUID();
    const received: string[] = [];
    let active = 0;
    let maxActive = 0;
    const app = async ({ content, reply }: Message): Promise<void> => {
      maxActive = Math.max(maxActive, (active += 1));
      received.push(content);
      await new Promise((resolve) => setImmediate(resolve));
      await reply({ content: `re ${content}` });
      active -= 1;
    };
    const [a, b] = [await start({ prefix, app }), await start({ prefix, app })];
    const [left, right] = [
      await a.connect("/pico?session_id=s&pico_ext=1"),
      await b.connect("/pico?session_id=s&pico_ext=1"),
    ];
    const sent = Array.from({ length: 40 }, (_, at) => `${at}`);
    for (const content of sent)
      (Number(content) % 2 === 0 ? left : right).send({
        type: "message.send",
        id: `m${content}`,
        payload: { content },
      });
    const acknowledged = (frames: readonly Frame[]) =>
      frames.filter(({ type }) => type === "message.ack").length;
    await waitFor(() => {
      expect(acknowledged(left.frames)).toBe(20);
      expect(acknowledged(right.frames)).toBe(20);
      expect(contents(left.frames)).toHaveLength(40);
    }, 10_000);
    expect(maxActive).toBe(1);
    expect(new Set(received).size).toBe(40);
    const byNode = (rest: number) => received.filter((content) => Number(content) % 2 === rest);
    for (const rest of [0, 1])
      expect(byNode(rest)).toEqual(sent.filter((content) => Number(content) % 2 === rest));
    expect(contents(left.frames)).toEqual(contents(right.frames));
    left.ws.terminate();
    right.ws.terminate();
  }, 20_000);

  test("recognises a repeated message, also on another node", async () => {
    const prefix = randomUUID();
    const received: string[] = [];
    const app = ({ content }: Message): void => void received.push(content);
    const [a, b] = [await start({ prefix, app }), await start({ prefix, app })];
    const frame = { type: "message.send", id: "once", payload: { content: "once" } };
    for (const node of [a, b]) {
      const client = await node.connect("/pico?session_id=s&pico_ext=1");
      client.send(frame);
      await waitFor(() => expect(client.frames.map(({ type }) => type)).toContain("message.ack"));
      client.ws.terminate();
    }
    expect(received).toEqual(["once"]);
  });

  test("recognises a repeated message among many, on another node", async () => {
    const prefix = randomUUID();
    const received: string[] = [];
    const app = ({ content }: Message): void => void received.push(content);
    const ids = Array.from({ length: 150 }, (_, at) => `m${at}`);
    const sendAll = async (node: ChannelNode, names: readonly string[]): Promise<unknown[]> => {
      const client = await node.connect("/pico?session_id=s&pico_ext=1");
      for (const id of names) client.send({ type: "message.send", id, payload: { content: id } });
      const acks = () => client.frames.filter(({ type }) => type === "message.ack");
      await waitFor(() => expect(acks()).toHaveLength(names.length), 10_000);
      client.ws.terminate();
      return acks().map(({ payload }) => [payload?.["request_id"], payload?.["status"]]);
    };
    const a = await start({ prefix, app, pico: { message_burst: 0, message_rate: 0 } });
    await sendAll(a, ids);
    await a.stop();
    const b = await start({ prefix, app, pico: { message_burst: 0, message_rate: 0 } });
    const again = await sendAll(b, ["new1", "m3", "m149", "new2", "m3", "new1"]);
    expect(again.map(String).sort()).toEqual([
      "m149,duplicate",
      "m3,duplicate",
      "m3,duplicate",
      "new1,accepted",
      "new1,duplicate",
      "new2,accepted",
    ]);
    expect(received).toEqual([...ids, "new1", "new2"]);
  }, 20_000);

  test("gives its sessions away when it stops", async () => {
    const prefix = randomUUID();
    const held = createHeldApplication();
    const a = await start({ prefix });
    const b = await start({ prefix, app: held.app });
    await a.fetch("/pico/messages", { content: "one", session_id: "s" });
    await a.stop();
    const client = await b.connect("/pico?session_id=s&pico_ext=1");
    client.send({ type: "message.send", id: "two", payload: { content: "two" } });
    await waitFor(() => expect(held.ids()).toEqual(["two"]), { timeout: 2_000 });
    client.ws.terminate();
  });

  test("loses a session after 5 s, and answers too late", async () => {
    const prefix = randomUUID();
    const proxy = await createFaultProxy({ port: server().port });
    onTestFinished(() => proxy[Symbol.asyncDispose]());
    const [heldA, heldB] = [createHeldApplication(), createHeldApplication()];
    const a = await start({ prefix, app: heldA.app, url: `redis://127.0.0.1:${proxy.port}` });
    const b = await start({ prefix, app: heldB.app });
    const client = await b.connect("/pico?session_id=s&pico_ext=1");
    // Makes the session one of the first node.
    await a.services.channels.history({ channel: "pico", session: "s" });
    const first = await a.connect("/pico?session_id=s");
    first.send({ type: "message.send", id: "zero", payload: { content: "zero" } });
    await waitFor(() => expect(heldA.ids()).toEqual(["zero"]));
    client.send({ type: "message.send", id: "one", payload: { content: "one" } });
    heldA.received[0]!.accept();
    await waitFor(() => expect(heldA.ids()).toEqual(["zero", "one"]));
    const cutAt = performance.now();
    proxy.set({ up: "swallow", down: "swallow" });
    await waitFor(() => expect(heldB.ids()).toEqual(["one"]), { timeout: 9_000 });
    expect(performance.now() - cutAt).toBeLessThan(8_000);
    await heldB.received[0]!.reply({ content: "of b" });
    proxy.cut();
    proxy.set({ up: "none", down: "none" });
    const late = heldA.received[1]!.reply({ content: "of a" });
    await expect(late).rejects.toMatchObject({ code: expect.stringMatching(/not_owner|stopped/) });
    await waitFor(() => expect(contents(client.frames)).toEqual(["of b"]));
    await waitFor(() => expect(heldA.received[1]!.signal.aborted).toBe(true));
    client.ws.terminate();
    first.ws.terminate();
  }, 30_000);
});
