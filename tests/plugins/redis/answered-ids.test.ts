// A message whose complete answer is in Redis is known, also if its node ended before it said so.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { TakenId } from "../../../plugins/conversations/index.ts";
import { numbered } from "../../conformance/session-log.ts";
import { openRedisNode } from "../../support/redis-nodes.ts";
import { hasRedis, startRedis, type RedisServer } from "../../support/redis-server.ts";

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const address = { channel: "pico", session: "s" };

async function openTwo() {
  const options = { url: server.url, prefix: randomUUID() };
  const nodes = [await openRedisNode(options), await openRedisNode(options)] as const;
  onTestFinished(async () => {
    for (const node of nodes) await node.close();
  });
  return nodes;
}

describe.skipIf(!hasRedis)("the id of an answered message", () => {
  test("reaches another node, with any content", async () => {
    const [one, two] = await openTwo();
    await one.log.append("s", { ...numbered("answer"), final: true, answers: "q1" });
    const known = await two.conversations.taken.known(address);
    expect(known).toMatchObject([{ id: "q1", ageMs: expect.any(Number) }]);
    expect(known).not.toMatchObject([{ digest: expect.anything() }]);
  });

  test("has its digest once the message is settled, in any order", async () => {
    const [one, two] = await openTwo();
    await one.log.append("s", { ...numbered("answer"), final: true, answers: "q1" });
    await one.conversations.taken.settle(address, "q1", "digest 1");
    await one.conversations.taken.settle(address, "q2", "digest 2");
    await one.log.append("s", { ...numbered("answer 2"), final: true, answers: "q2" });
    const known = await two.conversations.taken.known(address);
    const digests = (known as readonly TakenId[]).map(({ id, digest }) => [id, digest]);
    expect(digests.toSorted()).toEqual([
      ["q1", "digest 1"],
      ["q2", "digest 2"],
    ]);
  });
});
