// Tests what nodes that share Redis read of a long conversation, and of an answer that was cut.
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { fetchJson } from "../../support/pico-server-harness.ts";
import { useChannelNodes } from "../../support/redis-channel-server.ts";
import { gate } from "../../support/sample-channel.ts";
import { hasRedis } from "../../support/redis-server.ts";

const { start } = useChannelNodes();
const say = (port: number, content: string): Promise<unknown> =>
  fetchJson(port, "/pico/messages?wait=10", {
    method: "POST",
    body: { session_id: "s", content },
  });

describe.skipIf(!hasRedis)("a conversation in Redis", () => {
  test("counts the turns that its window keeps no longer", async () => {
    const prefix = randomUUID();
    const window = { frames: 8, bytes: 1e6 };
    const own = await start({
      prefix,
      window,
      app: async ({ content, reply }) => void (await reply({ content })),
    });
    for (let count = 0; count < 12; count += 1) await say(own.port, `message ${count}`);
    const other = await start({ prefix, window });
    const { conversations } = other.services;
    const [listed] = (await conversations.list()).items;
    const { items } = await conversations.read(listed!.id, { limit: 100 });
    expect(listed).toMatchObject({ turns: 24, dropped: 24 - items.length });
    expect(items.length).toBeLessThan(12);
    let text = "";
    for await (const part of conversations.export(listed!.id, "markdown")) text += part;
    expect(text).toContain(`(${24 - items.length} earlier messages are no longer kept)`);
    let json = "";
    for await (const part of conversations.export(listed!.id, "json")) json += part;
    expect(JSON.parse(json)).toMatchObject({ conversation: { dropped: 24 - items.length } });
  });

  test("has the whole text of an answer whose node is gone", async () => {
    const prefix = randomUUID();
    const ended = gate();
    const own = await start({
      prefix,
      async app(message) {
        const { services } = own;
        const to = { channel: "pico", session: "s" };
        const { id } = await services.channels.send(to, {
          content: "start",
          inReplyTo: message.id,
          final: false,
        });
        await services.channels.update(to, id, { content: "start and more" });
        message.accept();
        await ended.opened;
      },
    });
    const body = { session_id: "s", content: "hi" };
    await fetchJson(own.port, "/pico/messages", { method: "POST", body });
    const other = await start({ prefix });
    const { conversations } = other.services;
    const [listed] = (await conversations.list()).items;
    const { items } = await conversations.read(listed!.id);
    expect(items.at(-1)).toMatchObject({ content: "start and more", complete: false });
    ended.open();
  });
});
