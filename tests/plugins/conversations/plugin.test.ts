import { describe, expect, test } from "vitest";
import { createKernel } from "../../../kernel/index.ts";
import { channels } from "../../../plugins/channels/index.ts";
import { conversations, type Conversations } from "../../../plugins/conversations/index.ts";
import { startPicoServer, waitFor } from "../../support/pico-server-harness.ts";
import { storeIn } from "../../support/sqlite-conversations.ts";
import { createFolder, Disk } from "../../support/sqlite-store.ts";

const service = (services: object): Conversations =>
  (services as { conversations: Conversations }).conversations;

interface Hello {
  readonly epoch: string;
}

describe("conversations", () => {
  test("rejects a list in which channels come first", async () => {
    const kernel = createKernel([channels()], { plugins: [conversations()] });
    await expect(kernel.start()).rejects.toMatchObject({ code: "STORE_ORDER" });
  });
});

describe("conversations with a store", () => {
  const path = "/pico?session_id=s1&pico_ext=1";
  const open = (folder: string) =>
    startPicoServer({ first: conversations({ store: storeIn(folder) }) });

  test("lets clients resume after a restart in the same epoch", async () => {
    const folder = createFolder();
    let epoch: string;
    {
      await using server = await open(folder);
      const client = await server.connect(path);
      ({ epoch } = ((await client.next()) as unknown as { payload: Hello }).payload);
      await server.say("s1", "one");
      expect(await client.next()).toMatchObject({ seq: 1, payload: { content: "one" } });
    }
    {
      await using server = await open(folder);
      await server.say("s1", "two");
      const client = await server.connect(`${path}&resume=${epoch}:1`);
      expect(await client.next()).toMatchObject({
        type: "hello",
        payload: { epoch, seq: 2, resumed: true, replay: 1, gap: false },
      });
      expect(await client.next()).toMatchObject({ seq: 2, payload: { content: "two" } });
    }
  });

  test.each(["/pico?session_id=s1", path])("rejects clients at %s while it fails", async (at) => {
    const disk = new Disk();
    const first = conversations({ store: storeIn(createFolder(), disk) });
    await using server = await startPicoServer({ first });
    disk.readCode = 10;
    const refused = await server.connect(at);
    await refused.closed;
    disk.readCode = undefined;
    const client = await server.connect(at);
    await server.say("s1", "one");
    await waitFor(() => client.frames.some(({ payload }) => payload?.["content"] === "one"));
  });

  test("delivers to plain clients after a restart only unwritten messages", async () => {
    const folder = createFolder();
    {
      await using server = await open(folder);
      const client = await server.connect("/pico?session_id=s1");
      await server.say("s1", "one");
      expect(await client.next()).toMatchObject({ payload: { content: "one" } });
    }
    {
      await using server = await open(folder);
      await server.say("s1", "two");
      const client = await server.connect("/pico?session_id=s1");
      expect(await client.next()).toMatchObject({ payload: { content: "two" } });
    }
  });
});

describe("conversations", () => {
  test("provides the session log of the pico channel", async () => {
    await using server = await startPicoServer({ first: conversations() });
    const history = service(server.services);
    expect(history.health()).toMatchObject({ kind: "memory", state: "up", conversations: 0 });
    await server.say("s1", "hello");
    expect(history.health().conversations).toBe(1);
    const client = await server.connect("/pico?session_id=s1&pico_ext=1");
    expect(await client.next()).toMatchObject({ type: "hello", payload: { replay: 1 } });
    expect(await client.next()).toMatchObject({ payload: { content: "hello" } });
  });

  test("keeps the retention time of a server without the plugin", async () => {
    await using server = await startPicoServer({ first: conversations() });
    await server.say("s1", "hello");
    await server.pass(299);
    expect(service(server.services).health().conversations).toBe(1);
    await server.pass(1);
    expect(service(server.services).health().conversations).toBe(0);
  });

  test("names the reason why there is no history", async () => {
    const first = conversations({ home: "/dev/null/home" });
    await using server = await startPicoServer({ first });
    const history = service(server.services);
    const reason =
      /^This store cannot \w.*\. Conversations are kept in memory only\. .*\/dev\/null/;
    await expect(history.list()).rejects.toThrow(reason);
    await expect(history.search("hello")).rejects.toThrow(reason);
  });

  test("rejects calls that need a history in memory", async () => {
    await using server = await startPicoServer({ first: conversations() });
    const history = service(server.services);
    const rejections = [
      history.list(),
      history.search("hello"),
      history.get("1"),
      history.read("1"),
      history.rename("1", "title"),
      history.forget("1"),
    ].map((call) => call.catch(({ code }: { code: string }) => code));
    expect(await Promise.all(rejections)).toEqual([
      "not_supported",
      "not_supported",
      "not_found",
      "not_found",
      "not_found",
      "not_found",
    ]);
    expect(await history.find({ channel: "pico", session: "s1" })).toBeUndefined();
    const pieces = history.export("1", "json")[Symbol.asyncIterator]();
    await expect(pieces.next()).rejects.toMatchObject({ code: "not_found" });
  });
});
