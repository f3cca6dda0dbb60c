// Kills Redis servers under load. Received entries are kept, or a new epoch reports the loss.
import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { numbered } from "../../conformance/session-log.ts";
import { openRedisNode } from "../../support/redis-nodes.ts";
import { hasRedis, startRedis } from "../../support/redis-server.ts";
import { hasTools } from "../../support/tools.ts";
import { startSentinel } from "./processes.ts";
import { Reader, textOf } from "./reader.ts";

const { waitFor } = vi;
const sessions = Array.from({ length: 10 }, (_, at) => `s${at}`);

/**
 * Two nodes: one appends to all sessions, the other subscribes to them.
 *
 * @param pauseMs - Milliseconds between the appends to one session. 0: it appends only on request.
 */
async function startLoad(options: Parameters<typeof openRedisNode>[0], pauseMs = 2) {
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
  async function append(session: string, text: string): Promise<void> {
    await writer.log.append(session, numbered(text));
    stored.get(session)!.push(text);
  }
  let isStopping = pauseMs === 0;
  const writing = sessions.map(async (session) => {
    for (let at = 0; !isStopping; at += 1) {
      await append(session, `${session} ${at}`);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  });
  return {
    readers,
    stored,
    append,
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
  async function failOver(load: Load, replace: () => Promise<unknown>) {
    const before = load.count();
    await waitFor(() => expect(load.count()).toBeGreaterThan(before + 300), 20_000);
    const startedAt = performance.now();
    await replace();
    const atKill = load.count();
    await waitFor(() => expect(load.count()).toBeGreaterThan(atKill + 300), 60_000);
    await load.stop();
    return Math.round(performance.now() - startedAt);
  }

  test("keeps every received entry if all replicas have confirmed it", async () => {
    await using group = await startSentinel(2);
    const load = await startLoad({ ...group.options, replicas: 2 });
    const ms = await failOver(load, () => group.replaceMaster());
    await waitFor(() => expect(lostOf(load)).toBe(0), 20_000);
    expect(conflictsOf(load)).toEqual([]);
    console.log(`replicas 2 of 2: ${load.count()} entries, 0 lost, ${ms} ms`);
    await load.close();
  });

  /** Sentinel may promote another replica than the one that has confirmed. */
  test("begins new epochs if one of two replicas has confirmed", async () => {
    await using group = await startSentinel(2);
    const load = await startLoad({ ...group.options, replicas: 1 });
    const ms = await failOver(load, () => group.master.kill());
    expect(conflictsOf(load)).toEqual([]);
    for (const reader of load.readers.values()) expect(reader.renewals).toBeGreaterThan(0);
    console.log(`replicas 1 of 2: ${load.count()} entries, ${lostOf(load)} lost, ${ms} ms`);
    await load.close();
  });

  test("begins new epochs without replicas, and repeats no number", async () => {
    await using group = await startSentinel(1);
    const load = await startLoad(group.options);
    const ms = await failOver(load, () => group.master.kill());
    expect(conflictsOf(load)).toEqual([]);
    for (const reader of load.readers.values()) expect(reader.renewals).toBeGreaterThan(0);
    console.log(`replicas 0: ${load.count()} entries, ${lostOf(load)} lost, ${ms} ms`);
    await load.close();
  });
});

describe.skipIf(!hasTools("redis-server", "redis-sentinel"))(
  "a promoted replica without entries",
  () => {
    /** Two nodes, and a replica that Sentinel prefers and that receives nothing more from the master. */
    async function startLate(replicas: number) {
      const group = await startSentinel(2, { preferred: true });
      onTestFinished(() => group[Symbol.asyncDispose]());
      const load = await startLoad({ ...group.options, replicas }, 0);
      onTestFinished(() => load.close());
      const late = group.others[1]!;
      // The master rejects a password, so the replica cannot connect again.
      await late.ask("CONFIG SET masterauth unknown");
      await late.ask("CLIENT KILL TYPE master");
      await waitFor(async () => {
        expect(await late.ask("INFO replication")).toContain("master_link_status:down");
        expect(await group.master.ask("INFO replication")).toContain("connected_slaves:1");
      }, 5_000);
      return { group, load, late };
    }

    test("begins new epochs if another replica had confirmed them", async () => {
      const { group, load, late } = await startLate(1);
      await Promise.all(sessions.map((session) => load.append(session, `${session} confirmed`)));
      await waitFor(() => expect(lostOf(load)).toBe(0), 10_000);
      expect(await group.replaceMaster()).toBe(late);
      await Promise.all(sessions.map((session) => load.append(session, `${session} later`)));
      await waitFor(() => expect(lostOf(load)).toBe(0), 10_000);
      for (const reader of load.readers.values()) {
        expect(reader.renewals).toBeGreaterThan(0);
        const { frames } = await reader.read();
        expect(frames.map(textOf)).not.toContainEqual(expect.stringContaining("confirmed"));
      }
      expect(conflictsOf(load)).toEqual([]);
    });

    test("lacks nothing that a client received if all replicas must confirm", async () => {
      const { group, load, late } = await startLate(2);
      const first = group.others[0]!;
      const keysOf = async () => (await first.ask("DBSIZE")).trim();
      const before = await keysOf();
      const appended = Promise.all(
        sessions.map((session) => load.append(session, `${session} waiting`)),
      );
      await waitFor(async () => expect(await keysOf()).not.toBe(before), 5_000);
      expect(load.count()).toBe(0);
      for (const reader of load.readers.values()) expect([...reader.texts()]).toEqual([]);
      expect(await group.replaceMaster()).toBe(late);
      await appended;
      await waitFor(() => expect(lostOf(load)).toBe(0), 10_000);
      for (const reader of load.readers.values()) {
        const { frames } = await reader.read();
        expect(frames.map(textOf)).toContainEqual(expect.stringContaining("waiting"));
      }
      expect(conflictsOf(load)).toEqual([]);
    });
  },
);
