// Tests questions of sessions that several nodes share.
import { describe, expect, test } from "vitest";
import type { Application, Message, QuestionInput } from "../../../plugins/channels/index.ts";
import type { RedisConversations } from "../../../plugins/redis/conversations.ts";
import { waitFor } from "../../support/pico-server-harness.ts";
import { openRedisNode } from "../../support/redis-nodes.ts";
import { hasRedis } from "../../support/redis-server.ts";
import { useChannelNodes } from "../../support/redis-channel-server.ts";

const { start, server } = useChannelNodes();
const approval: QuestionInput = { kind: "approval", content: "Go on?" };
const asker: Application = async ({ ask, reply }) => {
  const { outcome, effect = "none" } = await ask(approval);
  await reply({ content: `${outcome} ${effect}` });
};
const by = { id: "owner", name: "Ann" };

describe.skipIf(!hasRedis)("nodes that share Redis", () => {
  test("answer a question of each other once", async () => {
    const prefix = "once";
    const one = await start({ prefix, app: asker });
    const two = await start({ prefix, app: asker });
    const client = await one.connect("/pico?session_id=ann");
    client.send({ type: "message.send", payload: { content: "go" } });
    const created = await waitFor(() =>
      client.frames.find(({ type }) => type === "message.create"),
    );
    const id = String(created.payload!["message_id"]);
    const to = { channel: "pico", session: "ann" };
    const given = [one, two, two, one].map(({ services }, index) =>
      services.channels.answer(to, id, { option: index % 2 ? "allow" : "deny" }, by, "pico"),
    );
    const results = await Promise.all(given);
    expect(results.map(({ status }) => status).sort()).toEqual([
      "already",
      "already",
      "already",
      "settled",
    ]);
    expect(new Set(results.map(({ settled }) => settled!.option)).size).toBe(1);
    await waitFor(() =>
      client.frames.find(({ payload }) => String(payload?.["content"]).startsWith("answered")),
    );
    const updates = client.frames.filter(({ type }) => type === "message.update");
    expect(updates).toHaveLength(1);
    await expect(
      two.services.channels.answer(to, "0".repeat(32), { option: "allow" }, by, "pico"),
    ).resolves.toEqual({ status: "unknown" });
    await expect(
      two.services.channels.answer(to, id, { option: "allow" }, by, "pico"),
    ).resolves.toMatchObject({ status: "already" });
  });

  test("tell each other that a question was asked or settled", async () => {
    const prefix = "changes";
    const one = await start({ prefix });
    const two = await start({ prefix });
    const changes = { one: 0, two: 0 };
    one.kernel.on("channels:questions-changed", () => void (changes.one += 1));
    two.kernel.on("channels:questions-changed", () => void (changes.two += 1));
    const to = { channel: "pico", session: "ann" };
    const { id } = await one.services.channels.ask(to, { ...approval, durable: "step" });
    await expect.poll(() => changes).toEqual({ one: 0, two: 1 });
    await two.services.channels.answer(to, id, { option: "allow" }, by, "cli");
    await expect.poll(() => changes.two).toBe(2);
    await one.services.channels.send(to, { content: "no question" });
    const again = await one.services.channels.ask(to, { ...approval, durable: "more" });
    await expect.poll(() => changes).toEqual({ one: 0, two: 3 });
    await one.services.channels.remove(to, again.id);
  });

  test("list the open questions of each other, and answer them", async () => {
    const prefix = "listed";
    const one = await start({ prefix, app: asker });
    const two = await start({ prefix, app: asker });
    for (const [node, session] of [
      [one, "ann"],
      [two, "bob"],
    ] as const) {
      const client = await node.connect(`/pico?session_id=${session}`);
      client.send({ type: "message.send", payload: { content: "go" } });
      await waitFor(() => client.frames.find(({ type }) => type === "message.create"));
    }
    const [first, second] = await one.services.channels.allQuestions();
    expect([first!.session, second!.session]).toEqual(["ann", "bob"]);
    expect(await two.services.channels.allQuestions()).toEqual([first, second]);
    expect(one.services.channels.questions()).toEqual([first]);
    const bob = { channel: "pico", session: "bob" };
    expect(await one.services.channels.allQuestions({ session: "bob" })).toEqual([second]);
    await expect(
      one.services.channels.answer(bob, second!.id, { option: "allow" }, by, "cli"),
    ).resolves.toMatchObject({ status: "settled" });
    expect(await one.services.channels.allQuestions()).toEqual([first]);
    expect(await two.services.channels.allQuestions()).toEqual([first]);
  });

  test("keep a durable question open when its node ends", async () => {
    const prefix = "durable";
    const one = await start({ prefix });
    const to = { channel: "pico", session: "ann" };
    const { id } = await one.services.channels.ask(to, { ...approval, durable: "step-3" });
    await one.stop();
    const received: Message[] = [];
    const two = await start({ prefix, app: (message) => void received.push(message) });
    await expect(
      two.services.channels.answer(to, id, { option: "allow" }, by, "cli"),
    ).resolves.toMatchObject({ status: "settled" });
    await waitFor(() => received.length === 1);
    expect(received[0]).toMatchObject({
      id: `answer:${id}`,
      answer: { key: "step-3", option: "allow", effect: "allow" },
    });
    // The application has accepted it as soon as the store says so.
    const { questions } = two.services.conversations;
    await expect.poll(() => questions!.list()).toEqual([]);
    await two.stop();
    const three = await start({ prefix, app: (message) => void received.push(message) });
    await expect(
      three.services.channels.answer(to, id, { option: "deny" }, by, "cli"),
    ).resolves.toMatchObject({ status: "already", settled: { option: "allow" } });
    expect(received).toHaveLength(1);
  });

  test("close the question of a node that is gone", async () => {
    const prefix = "gone";
    const two = await start({ prefix });
    const index = two.services.conversations;
    // A node that was killed leaves an open question and no beats.
    const gone = await openRedisNode({ url: server().url, prefix });
    const to = { channel: "pico", session: "ann" };
    await gone.conversations.ownership.claim(to);
    const payload = {
      message_id: "q",
      content: "Go on?",
      question: { kind: "approval", options: [{ id: "allow", label: "Allow" }], state: "open" },
    };
    await gone.log.append("ann", {
      frame: Buffer.from(JSON.stringify({ type: "message.create", payload })),
      type: "message.create",
      numbered: true,
      message: "q",
      question: { state: "open" },
    });
    await expect(index.questions!.list()).resolves.toMatchObject([{ ...to, id: "q" }]);
    const used = (await index.list()).items[0]!.usedAt;
    gone.conversations.link.close();
    await expect
      .poll(
        () =>
          two.services.channels.answer(to, "q", { option: "allow" }, by, "cli").catch(() => ({})),
        {
          timeout: 15_000,
        },
      )
      .toMatchObject({ status: "already", settled: { outcome: "lost" } });
    const { items } = await index.list();
    expect(items[0]!.usedAt).toBe(used);
    expect(await index.questions!.lostSince!(used)).toEqual([to]);
    expect(await index.questions!.lostSince!(Date.now() + 60_000)).toEqual([]);
    await index.forget(items[0]!.id);
    expect(await index.questions!.lostSince!(used)).toEqual([]);
    await gone.close();
  });

  test("read what followed a question, and which messages are lost", async () => {
    const prefix = "followed";
    const to = { channel: "pico", session: "ann" };
    const hanging: Application = async ({ ask, content, signal }) => {
      if (content === "ask") await ask(approval);
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    };
    const one = await start({ prefix, app: hanging });
    const two = await start({ prefix });
    const client = await one.connect("/pico?session_id=ann");
    client.send({ type: "message.send", id: "m1", payload: { content: "ask" } });
    await expect.poll(() => one.services.channels.questions()).toHaveLength(1);
    const { id } = one.services.channels.questions()[0]!;
    await two.services.channels.answer(to, id, { option: "allow" }, by, "cli");
    const read = async ({ services: { conversations } }: typeof two) => {
      const found = await conversations.find(to);
      const { items } = await conversations.read(found!.id);
      return items.map(({ outcome, unfinished }) => outcome ?? unfinished);
    };
    // The other node asks the one that works on it.
    for (const node of [one, two])
      await expect(read(node)).resolves.toEqual([undefined, undefined]);
    // A node that was killed says nothing about its messages.
    const store = one.services.conversations as unknown as RedisConversations;
    await store.ownership.releaseAll();
    store.link.close();
    await expect(read(two)).resolves.toEqual(["lost", "ended"]);
  });

  test("reject a question for a session of another node", async () => {
    const prefix = "foreign";
    const one = await start({ prefix, app: asker });
    const two = await start({ prefix });
    const client = await one.connect("/pico?session_id=ann");
    client.send({ type: "message.send", payload: { content: "go" } });
    await waitFor(() => client.frames.find(({ type }) => type === "message.create"));
    await expect(
      two.services.channels.ask({ channel: "pico", session: "ann" }, approval),
    ).rejects.toMatchObject({ code: "not_owner" });
  });
});
