// Retention of a shared store: no clock of a node decides what is deleted.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { LogEntry } from "../../../plugins/conversations/index.ts";
import { openRedisNode, type RedisNode } from "../../support/redis-nodes.ts";
import { hasRedis, startRedis, type RedisServer } from "../../support/redis-server.ts";

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const days = (count: number): number => count * 86_400_000;

const turn = (message: string): LogEntry => ({
  type: "message.user",
  message,
  frame: Buffer.from(JSON.stringify({ payload: { message_id: message, content: message } })),
  numbered: true,
  final: true,
});

async function open(prefix: string, aheadMs = 0): Promise<RedisNode> {
  const node = await openRedisNode({ url: server.url, prefix, aheadMs });
  onTestFinished(() => node.close());
  return node;
}
const listed = async ({ conversations }: RedisNode): Promise<readonly string[]> =>
  (await conversations.list()).items.map(({ session }) => session);

describe.skipIf(!hasRedis)("a node with a wrong clock", () => {
  test.each([days(400), -days(4_000)])(
    "removes nothing from the list, %d ms ahead",
    async (ahead) => {
      const prefix = randomUUID();
      const [right, wrong] = [await open(prefix), await open(prefix, ahead)];
      await right.log.append("a", turn("first"));
      await wrong.log.append("b", turn("second"));
      expect((await listed(wrong)).toSorted()).toEqual(["a", "b"]);
      expect((await listed(right)).toSorted()).toEqual(["a", "b"]);
    },
  );

  test("drops sessions from the list that Redis has expired", async () => {
    const prefix = randomUUID();
    const node = await open(prefix);
    for (const session of ["a", "b", "c"]) await node.log.append(session, turn(session));
    const keys = (await server.ask(`KEYS ${prefix}*:m`)).match(/^\S+:m\r$/gm)!;
    expect(keys).toHaveLength(3);
    await server.ask(`DEL ${keys[0]!.trim()} ${keys[1]!.trim()}`);
    expect(await listed(node)).toHaveLength(1);
    expect((await node.conversations.list({ limit: 1 })).items).toHaveLength(1);
  });
});
