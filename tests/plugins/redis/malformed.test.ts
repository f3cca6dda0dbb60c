// Tests a Redis server with data that another program has written.
import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { gate } from "../../support/sample-channel.ts";
import { fetchJson } from "../../support/pico-server-harness.ts";
import { useChannelNodes } from "../../support/redis-channel-server.ts";
import { numbered } from "../../conformance/session-log.ts";
import { openRedisNode } from "../../support/redis-nodes.ts";
import { hasRedis } from "../../support/redis-server.ts";

const { server, start } = useChannelNodes();

describe.skipIf(!hasRedis)("a malformed conversation in Redis", () => {
  test.each<[string, (m: string, h: string) => readonly string[]]>([
    ["an address that is not JSON", (m) => [`HSET ${m} ad nonsense`]],
    ["an address of another type", (m) => [`HSET ${m} ad 7`]],
    ["a time that is not a number", (m) => [`HSET ${m} ca soon`]],
    ["fields of another type", (m) => [`DEL ${m}`, `SET ${m} x`]],
    ["entries of another type", (_, h) => [`DEL ${h}`, `SET ${h} x`]],
    ["an entry without a frame", (_, h) => [`XADD ${h} 99-0 x nonsense`]],
    ["an entry that is not JSON", (_, h) => [`XADD ${h} 99-0 x nonsense d nonsense`]],
  ])("leaves the list intact with %s", async (_, damage) => {
    const prefix = randomUUID();
    const {
      services,
      port,
      lines: logged,
    } = await start({
      prefix,
      app: async ({ content, reply }) => {
        await reply({ content });
      },
    });
    const { conversations } = services;
    for (const session_id of ["good", "bad"]) {
      const body = { session_id, content: "hi" };
      await fetchJson(port, "/pico/messages?wait=10", { method: "POST", body });
    }
    const before = await conversations.list();
    expect(before.items).toHaveLength(2);
    const bad = before.items.find(({ session }) => session === "bad")!;
    const found = await server().ask(`KEYS ${prefix}*${bad.id.slice(0, 22)}*:m`);
    const base = /(\S+):m\r\n/.exec(found)![1]!;
    for (const command of damage(`${base}:m`, `${base}:h`)) {
      const reply = await server().ask(command);
      expect(reply).not.toMatch(/^-/);
    }
    for (let count = 0; count < 3; count++) {
      const { items } = await conversations.list();
      expect(items.map(({ session }) => session)).toContain("good");
      await conversations.read(bad.id).catch(({ code }) => expect(code).toBe("not_found"));
    }
    const lines = logged.filter(({ text }) => text.includes("malformed"));
    expect(lines.map(({ keys }) => keys)).toEqual([`${base}:*`]);
  });
});

describe.skipIf(!hasRedis)("the channel of a session", () => {
  test.each(["nonsense\\n", "null\\n", "7\\n", "\\n"])("ignores %j", async (text) => {
    const prefix = randomUUID();
    const { url } = server();
    const { log, conversations, close } = await openRedisNode({ url, prefix });
    onTestFinished(close);
    const frames: string[] = [];
    const arrived = gate();
    await log.subscribe("s", {
      onEntry({ frame }) {
        frames.push(Buffer.from(frame).toString());
        arrived.open();
      },
    });
    const channel = conversations.space.place("pico", "s").keys.at(-1)!;
    expect(await server().ask(`SPUBLISH ${channel} "${text}"`)).toBe(":1\r\n");
    await log.append("s", numbered("later"));
    await arrived.opened;
    expect(frames).toHaveLength(1);
  });
});
