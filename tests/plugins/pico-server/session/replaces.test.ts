// Tests messages that replace earlier ones over real sockets.
import { describe, expect, test } from "vitest";
import type { AnyPlugin } from "../../../../kernel/index.ts";
import type { Application, Message } from "../../../../plugins/channels/index.ts";
import { conversations, type Conversations } from "../../../../plugins/conversations/index.ts";
import {
  both,
  join,
  outline,
  post,
  send,
  type NumberedFrame,
} from "../../../support/extension-clients.ts";
import {
  fetchJson,
  startPicoServer,
  waitFor,
  type Client,
} from "../../../support/pico-server-harness.ts";
import { createHistory, storeIn } from "../../../support/sqlite-conversations.ts";
import { createFolder, Disk, entry } from "../../../support/sqlite-store.ts";

const replacing = (id: string, replaces: unknown, content = id) => ({
  type: "message.send",
  id,
  payload: { content, replaces },
});

/** Reads frames until one of each type has arrived. @returns All of them. */
async function readUntil(client: Client, ...types: readonly string[]): Promise<NumberedFrame[]> {
  const frames: NumberedFrame[] = [];
  while (!types.every((type) => frames.some((frame) => frame.type === type)))
    frames.push(await client.next());
  return frames;
}

/** An application that accepts each message, answers, and records what it received. */
function createApp() {
  const received: Message[] = [];
  const app: Application = async (message) => {
    received.push(message);
    message.accept();
    await message.reply({ content: `re ${message.content}` });
  };
  return { app, received };
}

const sqlite = (): AnyPlugin =>
  conversations({ store: storeIn(createFolder()) }) as unknown as AnyPlugin;

const unknown = (id: string) => ({
  type: "error",
  payload: { code: "unknown_turn", request_id: id },
});

describe.each([
  ["in memory", (): undefined => undefined],
  ["in a file", sqlite],
])("a message with replaces, %s", (_, createFirst) => {
  async function start() {
    const { app, received } = createApp();
    const first = await createFirst();
    const service = await startPicoServer({ app, ...(first && { first }) });
    const phone = await join(service, both);
    const laptop = await join(service, both);
    phone.send(send("m1", "hello"));
    await readUntil(phone, "message.ack", "message.create", "answer.end");
    await readUntil(laptop, "message.user", "message.create", "answer.end");
    return { service, phone, laptop, received, [Symbol.asyncDispose]: () => service.kernel.stop() };
  }

  test("names the replaced turn to the application and other devices", async () => {
    await using stand = await start();
    stand.phone.send(replacing("m2", "m1", "hallo"));
    const [turn, answer] = await readUntil(stand.laptop, "message.user", "message.create");
    expect(turn).toMatchObject({
      type: "message.user",
      seq: 3,
      payload: { request_id: "m2", replaces: "m1", content: "hallo" },
    });
    expect(answer).toMatchObject({ seq: 4, payload: { request_id: "m2", content: "re hallo" } });
    const own = await readUntil(stand.phone, "message.ack", "message.create");
    expect(own.map(({ seq = 0 }) => seq).filter((seq) => seq > 0)).toEqual([3, 4]);
    expect(stand.received.map(({ replaces }) => replaces)).toEqual([undefined, "m1"]);
    expect(stand.received[0]).not.toHaveProperty("replaces");
  });

  test("needs a turn of its own session", async () => {
    await using stand = await start();
    const { service, phone, received } = stand;
    phone.send(replacing("m2", "m9"));
    expect(await phone.next()).toMatchObject(unknown("m2"));
    const other = await join(service, both, "s2");
    other.send(replacing("m3", "m1"));
    expect(await other.next()).toMatchObject(unknown("m3"));
    phone.send(replacing("m4", "x".repeat(257)));
    expect(await phone.next()).toMatchObject({
      payload: {
        code: "invalid_message",
        message: expect.stringContaining('"replaces"') as string,
      },
    });
    expect(received).toHaveLength(1);
  });

  test("keeps its place before the messages that follow it", async () => {
    await using stand = await start();
    const { phone, received } = stand;
    phone.send(replacing("m2", "m1"));
    phone.send(send("m3"));
    phone.send(replacing("m4", "nothing"));
    phone.send(send("m5"));
    await waitFor(() => received.length === 4);
    expect(received.map(({ id }) => id)).toEqual(["m1", "m2", "m3", "m5"]);
  });

  test("passes the same check over HTTP", async () => {
    await using stand = await start();
    const { service, received } = stand;
    const message = { session_id: "s1", content: "again", replaces: "m1" };
    expect((await post(service, "/pico/messages", message)).status).toBe(202);
    expect(received.at(-1)).toMatchObject({ content: "again", replaces: "m1" });
    const wrong = await post(service, "/pico/messages", { ...message, replaces: "m9" });
    expect(wrong.status).toBe(422);
    expect(await wrong.json()).toMatchObject({ error: "unknown_turn" });
    const foreign = await post(service, "/pico/messages", { content: "again", replaces: "m1" });
    expect(foreign.status).toBe(422);
  });

  test("changes no bytes for clients without turns", async () => {
    await using stand = await start();
    const { service, phone } = stand;
    const plain = await service.connect("/pico?session_id=s1");
    const extension = await join(service);
    phone.send(replacing("m2", "m1"));
    const isNew = ({ seq = 0 }: NumberedFrame): boolean => seq > 2;
    await waitFor(() => extension.frames.filter(isNew).length === 2);
    const frames = extension.frames.filter(isNew);
    expect(outline(frames)).toEqual(["message.delete 3", "message.create 4"]);
    expect(JSON.stringify(frames)).not.toContain("replaces");
    await waitFor(() => plain.frames.some(({ payload }) => payload?.["request_id"] === "m2"));
    expect(plain.frames.map(({ type }) => type)).not.toContain("message.user");
    expect(JSON.stringify(plain.frames)).not.toContain("replaces");
  });
});

describe("the history of a message with replaces", () => {
  test("keeps both versions and marks the second", async () => {
    const { app } = createApp();
    await using service = await startPicoServer({ app, first: sqlite() });
    const phone = await join(service, both);
    for (const message of [send("m1"), replacing("m2", "m1")]) {
      phone.send(message);
      await readUntil(phone, "message.ack", "message.create", "answer.end");
    }
    const { body } = await fetchJson(service.port, "/pico/history?session_id=s1");
    expect(body["turns"]).toMatchObject([
      { requestId: "m1", content: "m1" },
      { inReplyTo: "m1" },
      { requestId: "m2", replaces: "m1" },
      { inReplyTo: "m2" },
    ]);
    const store = (service.services as unknown as { conversations: Conversations }).conversations;
    const [summary] = (await store.list()).items;
    let text = "";
    for await (const part of store.export(summary!.id, "markdown")) text += part;
    expect(text.match(/^## .*replaces.*$/gm)).toEqual([
      expect.stringMatching(/^## token:pico, replaces an earlier message, \d{4}-/),
    ]);
  });

  test("reaches turns beyond the frames in memory", async () => {
    const question = (seq: number) =>
      entry("user", `u${seq}`, "?", {
        session: "s1",
        request: `q${seq}`,
        payload: { request_id: `q${seq}` },
      });
    const entries = Array.from({ length: 500 }, (_, index) => question(index + 1));
    const disk = new Disk();
    const store = storeIn(await createHistory(...entries), disk);
    const first = conversations({ store }) as unknown as AnyPlugin;
    const { app, received } = createApp();
    await using service = await startPicoServer({ app, first });
    const body = { session_id: "s1", content: "x", replaces: "q1" };
    expect((await post(service, "/pico/messages", body)).status).toBe(202);
    expect(received).toMatchObject([{ replaces: "q1" }]);
    disk.readCode = 10;
    expect((await post(service, "/pico/messages", body)).status).toBe(503);
  });
});
