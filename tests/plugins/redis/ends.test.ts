// The ends of answers for the history, which Redis keeps next to the entries.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Address } from "../../../plugins/channels/index.ts";
import type { LogEntry } from "../../../plugins/conversations/index.ts";
import { openRedisNode, type RedisNode } from "../../support/redis-nodes.ts";
import { hasRedis, startRedis, type RedisServer } from "../../support/redis-server.ts";

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const address: Address = { channel: "pico", session: "s" };
const payload = { message_id: "u1", request_id: "q1", content: "hello" };
const turn: LogEntry = {
  type: "message.user",
  request: "q1",
  frame: Buffer.from(JSON.stringify({ type: "message.user", payload })),
  numbered: true,
  final: true,
};

async function open(prefix: string, keepHours = 24): Promise<RedisNode> {
  const node = await openRedisNode({ url: server.url, prefix, keepHours });
  onTestFinished(() => node.close());
  return node;
}

describe.skipIf(!hasRedis)("RedisConversations.noteEnd", () => {
  test("stores nothing of a node that has lost the session", async () => {
    const prefix = randomUUID();
    const [former, next] = [await open(prefix), await open(prefix)];
    expect(await former.conversations.ownership.claim(address)).toBe("own");
    await former.log.append("s", turn);
    vi.spyOn(next.conversations.peers, "isGone").mockReturnValue(true);
    expect(await next.conversations.ownership.claim(address)).toBe("own");
    next.conversations.noteEnd(address, "q1", { outcome: "completed", answerMs: 1 });
    // The calls of a node keep their order.
    await next.log.top("s");
    former.conversations.noteEnd(address, "q1", { outcome: "stopped", answerMs: 2 });
    await former.log.top("s");
    const { id } = (await next.conversations.find(address))!;
    const { items } = await next.conversations.read(id);
    expect(items).toMatchObject([{ requestId: "q1", outcome: "completed", answerMs: 1 }]);
  });

  test("keeps the end as long as the session has a client", async () => {
    const prefix = randomUUID();
    const node = await open(prefix, 1 / 4_000);
    await node.conversations.ownership.claim(address);
    await node.log.subscribe("s", { onEntry: () => undefined });
    await node.log.append("s", turn);
    node.conversations.noteEnd(address, "q1", { outcome: "completed", answerMs: 1 });
    await node.log.top("s");
    const key = /^\S+:a\r$/m.exec(await server.ask(`KEYS ${prefix}*`))![0].trim();
    let before = Infinity;
    await vi.waitFor(async () => {
      const left = Number(/-?\d+/.exec(await server.ask(`PTTL ${key}`))![0]);
      const earlier = before;
      before = left;
      expect(left).toBeGreaterThan(earlier);
    });
  });
});
