// A network is cut between the old master with one node, and the replicas with the other node.
import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { numbered } from "../../conformance/session-log.ts";
import { startCutter } from "../../support/cutter.ts";
import { openRedisNode, type RedisNode } from "../../support/redis-nodes.ts";
import { askRedis } from "../../support/redis-server.ts";
import { hasTools } from "../../support/tools.ts";
import { startSentinel } from "./processes.ts";
import { Reader } from "./reader.ts";

const { waitFor } = vi;
const sessions = Array.from({ length: 5 }, (_, at) => `s${at}`);
/** Milliseconds after which no append is left that began before the cut. */
const settledMs = 1_500;

type NodeOptions = Parameters<typeof openRedisNode>[0];
type Numbers = ReadonlyMap<string, Map<string, string>>;

/** A node that reads all sessions, and appends to them until it is stopped. */
async function startSide(name: string, numbers: Numbers, options: NodeOptions) {
  const readers = new Map<string, Reader>();
  const renewed = (session: string): void => {
    const reader = readers.get(session)!;
    reader.renewals += 1;
    const again = (): Promise<void> =>
      reader.subscribe().catch(() => (isStopping ? undefined : again()));
    void again();
  };
  let isStopping = false;
  const node: RedisNode = await openRedisNode(options, { renewed });
  onTestFinished(() => node.close());
  for (const session of sessions)
    readers.set(session, new Reader(node, session, numbers.get(session)!));
  await Promise.all([...readers.values()].map((reader) => reader.subscribe()));
  /** Text -> monotonic times at which its append began and ended. */
  const stored = new Map<string, readonly [number, number]>();
  const writing = sessions.map(async (session) => {
    for (let at = 0; !isStopping; at += 1) {
      const text = `${name} ${session} ${at}`;
      const began = performance.now();
      const isStored = await Promise.resolve(node.log.append(session, numbered(text))).then(
        () => true,
        () => false,
      );
      if (isStored) stored.set(text, [began, performance.now()]);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  });
  return {
    stored,
    renewals: () => Math.min(...[...readers.values()].map((reader) => reader.renewals)),
    conflicts: () => [...readers.values()].flatMap(({ conflicts }) => conflicts),
    texts: () => new Set([...readers.values()].flatMap((reader) => [...reader.texts()])),
    untilMore: (count: number) => {
      const before = stored.size;
      return waitFor(() => expect(stored.size).toBeGreaterThan(before + count), 60_000);
    },
    async stop() {
      isStopping = true;
      await Promise.all(writing);
    },
  };
}

/** Appends on both sides before, during and after a cut. */
async function separate(replicas: number) {
  const group = await startSentinel(2);
  onTestFinished(() => group[Symbol.asyncDispose]());
  const endpoint = await startCutter(group.master.url);
  onTestFinished(() => endpoint[Symbol.asyncDispose]());
  const prefix = randomUUID();
  const numbers = new Map(sessions.map((session) => [session, new Map<string, string>()]));
  const common = { prefix, replicas };
  const old = await startSide("old", numbers, { ...common, url: endpoint.base, patience: 2 });
  const rest = await startSide("rest", numbers, { ...common, ...group.options, patience: 30 });
  await Promise.all([old.untilMore(100), rest.untilMore(100)]);

  group.link.block();
  const cutAt = performance.now();
  await rest.untilMore(200);
  await waitFor(() => expect(performance.now() - cutAt).toBeGreaterThan(2 * settledMs), 20_000);
  const healedAt = performance.now();
  const roles = await Promise.all(group.others.map(({ port }) => askRedis(port, "ROLE")));
  endpoint.retarget(group.others[roles.findIndex((role) => role.includes("master"))]!.port);
  group.link.heal();
  await Promise.all([old.untilMore(100), rest.untilMore(100)]);
  await Promise.all([old.stop(), rest.stop()]);
  const during = [...old.stored].filter(
    ([, [began, ended]]) => began > cutAt + settledMs && ended < healedAt,
  );
  return { old, rest, during: during.map(([text]) => text) };
}

describe.skipIf(!hasTools("redis-server", "redis-sentinel"))("an old master with a node", () => {
  test("confirms nothing with replicas 1, and nothing is lost", async () => {
    const { old, rest, during } = await separate(1);
    expect(during).toEqual([]);
    await waitFor(() => {
      const received = new Set([...old.texts(), ...rest.texts()]);
      expect([...old.stored, ...rest.stored].filter(([text]) => !received.has(text))).toEqual([]);
    }, 20_000);
    expect([...old.conflicts(), ...rest.conflicts()]).toEqual([]);
    console.log(`replicas 1: ${old.stored.size} and ${rest.stored.size} entries, 0 lost`);
  });

  test("reports with a gap what it gave out without replicas", async () => {
    const { old, rest, during } = await separate(0);
    expect(during.length).toBeGreaterThan(0);
    const there = rest.texts();
    expect(during.filter((text) => there.has(text))).toEqual([]);
    expect([old.renewals(), rest.renewals()].every((count) => count > 0)).toBe(true);
    expect([...old.conflicts(), ...rest.conflicts()]).toEqual([]);
    console.log(`replicas 0: ${during.length} of ${old.stored.size} entries lost, with a gap`);
  });
});
