import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { countTurns } from "../../support/event-turns.ts";
import { openRedisNode } from "../../support/redis-nodes.ts";
import { hasRedis, startRedis, type RedisServer } from "../../support/redis-server.ts";

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

describe.skipIf(!hasRedis)("CallQueue", () => {
  test("tells at most 192 callers in a turn, in their order", async () => {
    const { conversations, close } = await openRedisNode({
      url: server.url,
      prefix: randomUUID(),
    });
    onTestFinished(close);
    const told: number[] = [];
    const counted = countTurns();
    const settle = async (n: number): Promise<void> => {
      const address = { channel: "pico", session: `s${n % 50}` };
      await conversations.taken.settle(address, `m${n}`, "x".repeat(43));
      counted.count();
      told.push(n);
    };
    const all = Array.from({ length: 1_000 }, (_, n) => n);
    await Promise.all(all.map(settle));
    expect(counted.end()).toEqual({ most: 192, all: 1_000 });
    expect(told).toEqual(all);
  });
});
