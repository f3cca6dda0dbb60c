// Several nodes over one real Redis server: delivery, renewal, receipts, and a store that is away.
import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { codeOf } from "../../../kernel/index.ts";
import type { SequencedEntry } from "../../../plugins/conversations/index.ts";
import type { RedisSessionLog } from "../../../plugins/redis/session-log.ts";
import { numbered, partial } from "../../conformance/session-log.ts";
import { openRedisNode, redisSecret, type RedisNode } from "../../support/redis-nodes.ts";
import { hasRedis, startRedis, type RedisServer } from "../../support/redis-server.ts";

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

type NodeOptions = Parameters<typeof openRedisNode>[0];

async function open(options: NodeOptions = {}): Promise<RedisNode> {
  const node = await openRedisNode({ url: server.url, ...options });
  onTestFinished(() => node.close());
  return node;
}

async function openTwo(options: NodeOptions = {}): Promise<[RedisNode, RedisNode]> {
  const prefix = randomUUID();
  return [await open({ prefix, ...options }), await open({ prefix, ...options })];
}

async function listen({ log }: RedisNode, session = "s") {
  const heard: SequencedEntry[] = [];
  const subscriber = { onEntry: (entry: SequencedEntry) => void heard.push(entry) };
  await log.subscribe(session, subscriber, { resumes: true });
  const texts = (): string[] =>
    heard.map(({ frame }) => (JSON.parse(Buffer.from(frame).toString()) as { text: string }).text);
  return { heard, texts, leave: () => log.unsubscribe(session, subscriber) };
}

const waitFor = vi.waitFor;

describe.skipIf(!hasRedis)("nodes", () => {
  test("pass entries of one node to subscribers of another, in order", async () => {
    const [a, b] = await openTwo();
    const there = await listen(b);
    await a.log.append("s", numbered("one"));
    await a.log.append("s", partial("two", "m"));
    const { subscribers } = await a.log.append("s", numbered("three"));
    expect(subscribers).toBe(1);
    await waitFor(() => expect(there.texts()).toEqual(["one", "two", "three"]));
    expect(there.heard.map(({ cursor }) => cursor.seq)).toEqual([1, 1, 2]);
  });

  test("keep the epoch when two comparisons with the store overlap", async () => {
    const [a, b] = await openTwo();
    const there = await listen(b);
    const log = b.log as RedisSessionLog;
    const texts = Array.from({ length: 30 }, (_, index) => String(index));
    for (const text of texts) {
      const stored = a.log.append("s", numbered(text));
      await Promise.all([stored, log.resync(), log.resync()]);
    }
    await waitFor(() => expect(there.texts()).toEqual(texts));
    expect(b.events).toEqual(["active s"]);
  });

  test("continue a session by its cursor in the same epoch", async () => {
    const [a, b] = await openTwo();
    const here = await listen(a);
    await a.log.append("s", numbered("one"));
    const { cursor } = here.heard[0]!;
    here.leave();
    await a.log.append("s", numbered("two"));
    const there = await listen(b);
    const replay = await b.log.readAfter("s", cursor);
    expect(replay).toMatchObject({ top: { epoch: cursor.epoch, seq: 2 } });
    expect(replay.gap).toBeUndefined();
    expect(replay.frames).toHaveLength(1);
    await a.log.append("s", numbered("three"));
    await waitFor(() => expect(there.texts()).toEqual(["three"]));
  });

  test("give all subscribers one order without holes or repeats", async () => {
    const [a, b] = await openTwo();
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.boolean(), fc.boolean()), { minLength: 1, maxLength: 40 }),
        async (steps) => {
          const session = randomUUID();
          const [left, right] = [await listen(a, session), await listen(b, session)];
          const appends = steps.map(async ([isFirst, yields], at) => {
            if (yields) await new Promise((resolve) => setImmediate(resolve));
            await (isFirst ? a : b).log.append(session, numbered(`${at}`));
          });
          await Promise.all(appends);
          await waitFor(() => {
            expect(left.heard).toHaveLength(steps.length);
            expect(right.heard).toHaveLength(steps.length);
          });
          expect(left.texts()).toEqual(right.texts());
          const numbers = left.heard.map(({ cursor }) => cursor.seq);
          expect(numbers).toEqual(steps.map((_, at) => at + 1));
          left.leave();
          right.leave();
        },
      ),
      { numRuns: 15 },
    );
  });

  test("pass every entry to nodes that join and leave", async () => {
    const [a, b] = await openTwo();
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom("append", "join there", "leave there", "yield"), {
          maxLength: 40,
        }),
        async (steps) => {
          const session = randomUUID();
          const here = await listen(a, session);
          let there: Awaited<ReturnType<typeof listen>> | undefined;
          const appends: Promise<unknown>[] = [];
          let expected = 0;
          for (const [at, step] of steps.entries()) {
            if (step === "yield") await new Promise((resolve) => setImmediate(resolve));
            if (step === "append") {
              appends.push(Promise.resolve(a.log.append(session, numbered(`${at}`))));
              expected += there ? 1 : 0;
            }
            if (step === "join there" && !there) {
              await Promise.all(appends);
              there = await listen(b, session);
              expected = 0;
            }
            if (step === "leave there") there?.leave();
            if (step === "leave there") there = undefined;
          }
          await Promise.all(appends);
          await waitFor(() => expect(here.heard).toHaveLength(appends.length));
          if (there) await waitFor(() => expect(there.heard).toHaveLength(expected));
          here.leave();
          there?.leave();
        },
      ),
      { numRuns: 40 },
    );
  });

  test("give a reader that joins during appends every number once", async () => {
    const [a, b] = await openTwo();
    const log = b.log as RedisSessionLog;
    const count = 200;
    const appends: Promise<unknown>[] = [];
    const { epoch } = (await a.log.append("s", numbered("0"))).cursor!;
    const append = async (): Promise<void> => {
      for (let at = 1; at < count; at += 1) {
        appends.push(Promise.resolve(a.log.append("s", numbered(String(at)))));
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const join = async (): Promise<void> => {
      const heard: number[] = [];
      const onEntry = ({ cursor }: SequencedEntry): void => void heard.push(cursor.seq);
      const subscriber = { onEntry };
      const after = { epoch, seq: 0 };
      const { top, frames } = await log.join("s", subscriber, { after, resumes: true });
      const last = Math.min(count, top!.seq + 5);
      await waitFor(() => expect(heard.at(-1) ?? top!.seq).toBeGreaterThanOrEqual(last));
      log.unsubscribe("s", subscriber);
      expect(frames).toHaveLength(top!.seq);
      const later = heard.filter((seq) => seq > top!.seq);
      expect(later).toEqual(later.map((_, index) => top!.seq + 1 + index));
    };
    const appended = append();
    for (let round = 0; round < 8; round += 1) await join();
    await appended;
    await Promise.all(appends);
  });

  test("tell the node that appended of an acknowledgement elsewhere", async () => {
    const [a, b] = await openTwo();
    const there = await listen(b);
    await a.log.append("s", numbered("one"));
    await waitFor(() => expect(there.heard).toHaveLength(1));
    const { epoch } = there.heard[0]!.cursor;
    b.log.note("s", { epoch, after: 0, upTo: 1 }, "acknowledged");
    await waitFor(() => expect(a.settled).toEqual(["one delivered"]));
  });

  test("tell the owner when the last client elsewhere left and another came", async () => {
    const [a, b] = await openTwo();
    await a.conversations.ownership.claim({ channel: "pico", session: "s" });
    const there = await listen(b);
    await waitFor(() => expect(a.events).toEqual(["active s"]));
    there.leave();
    await waitFor(() => expect(a.events).toEqual(["active s", "idle s"]));
    expect(b.events).toEqual(["active s", "idle s"]);
  });

  test("report no idle session while a client of another node is there", async () => {
    const [a, b] = await openTwo();
    const [here, there] = [await listen(a), await listen(b)];
    here.leave();
    await a.told();
    there.leave();
    await waitFor(() => expect(b.events).toEqual(["idle s"]));
    expect(a.events).toEqual(["active s"]);
  });

  test("list each other with their names", async () => {
    const prefix = randomUUID();
    const a = await open({ prefix, node: "left" });
    await open({ prefix, node: "right" });
    await waitFor(() =>
      expect(a.conversations.health().nodes).toMatchObject([
        { name: "left", state: "up", isSelf: true },
        { name: "right", state: "up", isSelf: false },
      ]),
    );
  });
});

describe.skipIf(!hasRedis)("a session whose data was lost", () => {
  test("begins a new epoch, and its clients reconnect", async () => {
    await using own = await startRedis();
    const [a, b] = await openTwo({ url: own.url });
    const [here, there] = [await listen(a), await listen(b)];
    await a.log.append("s", numbered("one"));
    await waitFor(() => expect(there.heard).toHaveLength(1));
    const before = here.heard[0]!.cursor;
    await own.ask("FLUSHALL");
    await waitFor(() => expect(a.events).toContain("renewed s"), { timeout: 5_000 });
    await waitFor(() => expect(b.events).toContain("renewed s"), { timeout: 5_000 });
    await a.log.append("s", numbered("two"));
    const replay = await b.log.readAfter("s", before);
    expect(replay.gap).toEqual({ reason: "epoch_changed" });
    expect(replay.frames).toHaveLength(1);
    expect(replay.top?.epoch).not.toBe(before.epoch);
  });

  test("gives no number of an epoch to two entries", async () => {
    await using own = await startRedis();
    const [a, b] = await openTwo({ url: own.url });
    const there = await listen(b);
    await a.log.append("s", numbered("one"));
    await own.ask("SAVE");
    await a.log.append("s", numbered("lost"));
    await waitFor(() => expect(there.heard).toHaveLength(2));
    const before = there.heard[1]!.cursor;
    await own.kill();
    await own.start();
    await waitFor(() => expect(b.events).toContain("renewed s"), { timeout: 8_000 });
    const { cursor } = await a.log.append("s", numbered("other"));
    expect(cursor).toMatchObject({ seq: 2 });
    expect(cursor?.epoch).not.toBe(before.epoch);
    const replay = await b.log.readAfter("s", { ...before, seq: 1 });
    expect(replay.frames).toHaveLength(1);
    expect(replay.gap).toEqual({ reason: "epoch_changed" });
  }, 20_000);
});

describe.skipIf(!hasRedis)("a Redis server without an append-only file that restarts", () => {
  test("begins a new epoch at a node that missed the lost entries", async () => {
    await using own = await startRedis();
    const [a, b] = await openTwo({ url: own.url });
    const { cursor: saved } = await a.log.append("s", numbered("saved"));
    await own.ask("SAVE");
    await a.log.append("s", numbered("lost"));
    await own.kill();
    await own.start();
    const { cursor } = await b.log.append("s", numbered("other"));
    expect(cursor).toMatchObject({ seq: 2 });
    expect(cursor!.epoch).not.toBe(saved!.epoch);
  });
});

describe.skipIf(!hasRedis)("a Redis server that is away", () => {
  test("lets appends wait, stores them once, and subscribers miss nothing", async () => {
    await using own = await startRedis(["--appendonly", "yes", "--appendfsync", "always"]);
    const [a, b] = await openTwo({ url: own.url });
    const there = await listen(b);
    await a.log.append("s", numbered("one"));
    await own.kill();
    await waitFor(() => expect(a.conversations.health().state).toBe("away"));
    const waiting = a.log.append("s", numbered("two"));
    await own.start();
    expect((await waiting).cursor?.seq).toBe(2);
    await a.log.append("s", numbered("three"));
    await waitFor(() => expect(there.texts()).toEqual(["one", "two", "three"]), 5_000);
    expect(a.conversations.health()).toMatchObject({ kind: "redis", state: "up" });
    expect(b.events).toEqual(["active s"]);
  }, 20_000);

  test("rejects what has waited too long", async () => {
    await using own = await startRedis();
    const node = await open({ url: own.url, patience: 1 });
    await own.kill();
    await waitFor(() => expect(node.conversations.health().state).toBe("away"));
    const failed = node.log.append("s", numbered("one"));
    await expect(failed).rejects.toMatchObject({ code: "store_unavailable" });
    expect(node.conversations.metrics().errors).toMatchObject({
      store_unavailable: expect.any(Number),
    });
  });

  test("detects a server that does not respond, and continues with it", async () => {
    await using own = await startRedis();
    const [a, b] = await openTwo({ url: own.url });
    const there = await listen(b);
    await a.log.append("s", numbered("one"));
    own.signal("SIGSTOP");
    const waiting = a.log.append("s", numbered("two"));
    await waitFor(() => expect(a.conversations.health().state).toBe("away"), { timeout: 8_000 });
    own.signal("SIGCONT");
    expect((await waiting).cursor?.seq).toBe(2);
    await waitFor(() => expect(there.texts()).toEqual(["one", "two"]), { timeout: 5_000 });
  }, 20_000);

  test("rejects calls beyond the limit of waiting calls", async () => {
    const node = await open({ prefix: randomUUID() });
    const frame = Buffer.alloc(512 * 1024, 32);
    const append = async (): Promise<string> => {
      await node.log.append("s", { frame, numbered: true });
      return "stored";
    };
    const appends = Array.from({ length: 40 }, () => append().catch(codeOf));
    expect(new Set(await Promise.all(appends))).toEqual(new Set(["stored", "store_busy"]));
  });
});

describe.skipIf(!hasRedis)("openRedis", () => {
  const start = (options: NodeOptions) => openRedisNode({ patience: 2, ...options });

  test("rejects a server that deletes keys when its memory is full", async () => {
    await using own = await startRedis(["--maxmemory-policy", "allkeys-lru"]);
    await expect(start({ url: own.url })).rejects.toMatchObject({ code: "REDIS_EVICTS" });
  });

  test("rejects a server of a cluster", async () => {
    await using own = await startRedis(["--cluster-enabled", "yes"]);
    await expect(start({ url: own.url })).rejects.toMatchObject({ code: "REDIS_CLUSTER" });
  });

  test("rejects another secret than that of the other nodes", async () => {
    const prefix = randomUUID();
    await open({ prefix });
    const secret = redisSecret.toUpperCase();
    const refused = start({ url: server.url, prefix, secret });
    await expect(refused).rejects.toMatchObject({ code: "REDIS_OTHER_SECRET" });
  });

  test.each([
    ["REDIS_SECRET_MISSING", { url: "redis://127.0.0.1:1", secret: "short" }],
    ["REDIS_UNREACHABLE", { url: "redis://127.0.0.1:1" }],
    ["REDIS_ADDRESS_MISSING", {}],
    ["REDIS_ADDRESS_INVALID", { url: "http://127.0.0.1" }],
  ])("rejects with %s", async (code, options) => {
    await expect(start(options)).rejects.toMatchObject({ code });
  });
});
