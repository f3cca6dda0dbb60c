// Kills Redis servers under load. Received entries are kept, or a new epoch reports the loss.
import { randomUUID } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { numbered } from "../../conformance/session-log.ts";
import { openRedisNode } from "../../support/redis-nodes.ts";
import { hasRedis, startRedis } from "../../support/redis-server.ts";
import { hasTools } from "../../support/tools.ts";
import { startSentinel } from "./processes.ts";
import { Reader } from "./reader.ts";

const { waitFor } = vi;
const sessions = Array.from({ length: 10 }, (_, at) => `s${at}`);

/** Two nodes: one appends to all sessions without a pause, the other subscribes to them. */
async function startLoad(options: Parameters<typeof openRedisNode>[0]) {
  const readers = new Map<string, Reader>();
  const renewed = (session: string): void => {
    const reader = readers.get(session)!;
    reader.renewals += 1;
    void reader.subscribe().catch(() => undefined);
  };
  const prefix = randomUUID();
  const writer = await openRedisNode({ prefix, patience: 30, ...options });
  const listener = await openRedisNode({ prefix, patience: 30, ...options }, { renewed });
  for (const session of sessions) readers.set(session, new Reader(listener, session));
  await Promise.all([...readers.values()].map((reader) => reader.subscribe()));
  const stored = new Map<string, string[]>(sessions.map((session) => [session, []]));
  let isStopping = false;
  const writing = sessions.map(async (session) => {
    for (let at = 0; !isStopping; at += 1) {
      const text = `${session} ${at}`;
      await writer.log.append(session, numbered(text));
      stored.get(session)!.push(text);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  });
  return {
    readers,
    stored,
    count: () => [...stored.values()].reduce((sum, texts) => sum + texts.length, 0),
    async stop() {
      isStopping = true;
      await Promise.all(writing);
    },
    async close() {
      await writer.close();
      await listener.close();
    },
  };
}

type Load = Awaited<ReturnType<typeof startLoad>>;

const conflictsOf = ({ readers }: Load): string[] =>
  [...readers.values()].flatMap(({ conflicts }) => conflicts);

/** Numbers of appended entries that no subscriber has received. */
const lostOf = ({ readers, stored }: Load): number =>
  [...stored].reduce((sum, [session, texts]) => {
    const received = readers.get(session)!.texts();
    return sum + texts.filter((text) => !received.has(text)).length;
  }, 0);

describe.skipIf(!hasRedis)("a Redis server that is killed", () => {
  test.each([
    ["always", 5],
    ["everysec", 5],
  ])("loses nothing with appendfsync %s", async (fsync, rounds) => {
    await using server = await startRedis(["--appendonly", "yes", "--appendfsync", fsync]);
    const load = await startLoad({ url: server.url });
    for (let round = 0; round < rounds; round += 1) {
      const before = load.count();
      await waitFor(() => expect(load.count()).toBeGreaterThan(before + 200), 20_000);
      await server.kill();
      await server.start();
    }
    const before = load.count();
    await waitFor(() => expect(load.count()).toBeGreaterThan(before + 100), 20_000);
    await load.stop();
    await waitFor(() => expect(lostOf(load)).toBe(0), 10_000);
    expect(conflictsOf(load)).toEqual([]);
    console.log(`appendfsync ${fsync}: ${load.count()} entries, ${rounds} kills, 0 lost`);
    await load.close();
  });

  test("begins new epochs without a file, and repeats no number", async () => {
    await using server = await startRedis();
    const load = await startLoad({ url: server.url });
    for (let round = 0; round < 5; round += 1) {
      const before = load.count();
      await waitFor(() => expect(load.count()).toBeGreaterThan(before + 200), 20_000);
      if (round % 2 === 0) await server.ask("FLUSHALL");
      else await server.kill().then(() => server.start());
    }
    await load.stop();
    expect(conflictsOf(load)).toEqual([]);
    for (const reader of load.readers.values()) expect(reader.renewals).toBeGreaterThan(0);
    await load.close();
  });
});

describe.skipIf(!hasTools("redis-server", "redis-sentinel"))("a failover by Sentinel", () => {
  async function failOver(load: Load, group: Awaited<ReturnType<typeof startSentinel>>) {
    const before = load.count();
    await waitFor(() => expect(load.count()).toBeGreaterThan(before + 300), 20_000);
    const startedAt = performance.now();
    await group.master.kill();
    const atKill = load.count();
    await waitFor(() => expect(load.count()).toBeGreaterThan(atKill + 300), 60_000);
    await load.stop();
    return Math.round(performance.now() - startedAt);
  }

  test("keeps every received entry with replicas 1 and two replicas", async () => {
    await using group = await startSentinel(2);
    const load = await startLoad({ ...group.options, replicas: 1 });
    const ms = await failOver(load, group);
    await waitFor(() => expect(lostOf(load)).toBe(0), 20_000);
    expect(conflictsOf(load)).toEqual([]);
    console.log(`replicas 1: ${load.count()} entries, 0 lost, ${ms} ms`);
    await load.close();
  });

  test("begins new epochs without replicas, and repeats no number", async () => {
    await using group = await startSentinel(1);
    const load = await startLoad(group.options);
    const ms = await failOver(load, group);
    expect(conflictsOf(load)).toEqual([]);
    for (const reader of load.readers.values()) expect(reader.renewals).toBeGreaterThan(0);
    console.log(`replicas 0: ${load.count()} entries, ${lostOf(load)} lost, ${ms} ms`);
    await load.close();
  });
});
