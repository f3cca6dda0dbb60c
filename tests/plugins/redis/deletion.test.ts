// Writes of nodes that have not learned yet that another node has deleted the conversation.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
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
const digest = "x".repeat(43);

function entry(type: LogEntry["type"], message: string, content = message): LogEntry {
  const frame = JSON.stringify({ type, payload: { message_id: message, content } });
  return { type, message, frame: new TextEncoder().encode(frame), numbered: true, final: true };
}

/** Opens the node that has the session, one that deletes, and one that does neither. */
async function openThree() {
  const options = { url: server.url, prefix: randomUUID() };
  const deleted: Address[][] = [];
  const open = async (): Promise<RedisNode> => {
    const node = await openRedisNode(options);
    onTestFinished(() => node.close());
    const own: Address[] = [];
    deleted.push(own);
    node.conversations.watchDeletions((session) => {
      own.push(session);
      return () => undefined;
    });
    return node;
  };
  const [owner, deleter, other] = [await open(), await open(), await open()];
  expect(await owner.conversations.ownership.claim(address)).toBe("own");
  await owner.log.append("s", entry("message.user", "s3cret question"));
  await owner.log.append("s", entry("message.create", "s3cret answer"));
  const forget = async (): Promise<void> => {
    const found = await deleter.conversations.find(address);
    await deleter.conversations.forget(found!.id);
  };
  const find = () => deleter.conversations.find(address);
  return { owner, deleter, other, deleted, forget, find };
}

describe.skipIf(!hasRedis)("a conversation that another node deletes", () => {
  test("refuses the writes of a node that missed the deletion", async () => {
    const { owner, deleted, forget, find } = await openThree();
    owner.conversations.peers.handle("forgotten", () => undefined);
    await forget();
    const late = [
      owner.log.append("s", entry("message.update", "s3cret answer")),
      owner.log.append("s", entry("message.create", "s3cret more")),
      owner.conversations.taken.settle(address, "s3cret id", digest),
    ];
    for (const outcome of await Promise.allSettled(late))
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "forgotten" } });
    expect(deleted[0]).toEqual([address]);
    expect(await find()).toBeUndefined();
    expect(await server.ask("KEYS *:i")).toBe("*0\r\n");
    expect(await owner.conversations.ownership.claim(address)).toBe("own");
    await owner.conversations.taken.settle(address, "next", digest);
    await owner.log.append("s", entry("message.user", "next", "a new title"));
    expect(await find()).toMatchObject({ title: "a new title", turns: 1 });
  });

  test("stays with the node that has the session", async () => {
    const { owner, deleter, other, deleted, forget, find } = await openThree();
    await forget();
    for (const node of [owner, deleter, other]) await node.told();
    expect(deleted).toEqual([[address], [address], [address]]);
    await owner.log.append("s", entry("message.user", "next", "a new title"));
    expect(await owner.conversations.ownership.claim(address)).toBe("own");
    expect(await find()).toMatchObject({ title: "a new title", turns: 1 });
    expect(deleted[0]).toHaveLength(1);
  });

  test("does not begin again with a change to a message", async () => {
    const { other, forget, find } = await openThree();
    other.conversations.peers.handle("forgotten", () => undefined);
    await forget();
    for (const type of ["message.update", "message.delete"] as const)
      await expect(other.log.append("s", entry(type, "s3cret answer"))).rejects.toMatchObject({
        code: "forgotten",
      });
    expect(await find()).toBeUndefined();
    await other.log.append("s", entry("message.create", "new"));
    await other.log.append("s", entry("message.update", "new"));
    expect(await find()).toMatchObject({ turns: 1 });
  });
});
