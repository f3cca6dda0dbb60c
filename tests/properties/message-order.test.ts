// The order of messages that a client repeats after restarts, over every store.
import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { withKernel } from "../../kernel/testing.ts";
import { application, channels, type Application } from "../../plugins/channels/index.ts";
import { conversations, type ConversationStore } from "../../plugins/conversations/index.ts";
import { redis } from "../../plugins/redis/index.ts";
import { redisSecret } from "../support/redis-nodes.ts";
import { hasRedis, startRedis, type RedisServer } from "../support/redis-server.ts";
import { runs } from "../support/runs.ts";
import { createSampleChannel } from "../support/sample-channel.ts";
import { storeIn } from "../support/sqlite-conversations.ts";
import { createFolder } from "../support/sqlite-store.ts";

const address = { channel: "sample", session: "s" };
/** Beyond this many ids a shared store looks up one id after the other. */
const many = 160;

const plan = fc.record({
  count: fc.integer({ min: 1, max: 60 }),
  /** Messages that a client may send before it has their outcome. */
  window: fc.integer({ min: 1, max: 40 }),
  /** Indexes of the messages sent at each start before the last, which has all of them. */
  earlier: fc.array(fc.array(fc.nat(59), { maxLength: 20 }), { minLength: 1, maxLength: 3 }),
  /** Ids of other messages that the session has. */
  others: fc.constantFrom(0, 0, many),
  /** Turns of the event loop that the application needs. */
  turns: fc.nat(2),
  /** The conversation is deleted after so many outcomes of the last start. */
  deletion: fc.option(fc.nat(20)),
});
type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never;

interface Sending {
  readonly ids: readonly string[];
  readonly window: number;
  readonly turns: number;
  readonly deletion?: number | null;
}

/** Starts Doorward, and sends messages as a client with a window. @returns What was handed over. */
async function send(
  store: ConversationStore | undefined,
  { ids, window, turns, deletion }: Sending,
): Promise<readonly string[]> {
  const received: string[] = [];
  const { plugin, inlet, message } = createSampleChannel();
  const handler: Application = async ({ id }) => {
    received.push(id);
    for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
  };
  const kept = conversations(store ? { store } : {});
  await withKernel([kept, channels(), plugin, application(handler)], async ({ kernel }) => {
    const { services } = kernel;
    const forget = async (): Promise<void> => {
      const found = await services.conversations.find(address);
      if (found) await services.conversations.forget(found.id);
    };
    let deleted: Promise<void> | undefined;
    await new Promise<void>((resolve) => {
      let [next, settled] = [0, 0];
      const fill = (): void => {
        while (next < ids.length && next - settled < window)
          inlet().hand(message({ id: ids[next++]! }), outcome, { dedupe: true });
      };
      // As a connection does: the next message follows in the same call.
      const ended = (): void => {
        if (settled === deletion) deleted = forget();
        settled += 1;
        fill();
        if (settled === ids.length) resolve();
      };
      const outcome = { accepted: ended, rejected: ended };
      if (ids.length === 0) resolve();
      else fill();
    });
    await deleted;
  });
  return received;
}

async function check(store: () => ConversationStore | undefined, plan: Plan): Promise<void> {
  const { window, turns, deletion } = plan;
  const all = Array.from({ length: plan.count }, (_, index) => `m${index}`);
  const others = Array.from({ length: plan.others }, (_, index) => `other ${index}`);
  const accepted = new Set(await send(store(), { ids: others, window, turns: 0 }));
  for (const indexes of plan.earlier) {
    const ids = all.filter((_, index) => indexes.includes(index));
    const given = { window, turns, ids };
    const expected = store() ? ids.filter((id) => !accepted.has(id)) : ids;
    const received = await send(store(), given);
    expect(received).toEqual(expected);
    for (const id of received) accepted.add(id);
  }
  const received = await send(store(), { ids: all, window, turns, deletion });
  const expected = store() ? all.filter((id) => !accepted.has(id)) : all;
  // A deletion ends messages that wait, and changes the order of none.
  if (deletion === null) expect(received).toEqual(expected);
  else expect(received).toEqual(all.filter((id) => received.includes(id)));
  expect(new Set(received).size).toBe(received.length);
  // Also those of the deleted conversation are known.
  if (store()) expect(received.filter((id) => accepted.has(id))).toEqual([]);
}

describe("a client that repeats its messages after restarts", () => {
  test("keeps their order without a store", () =>
    fc.assert(
      fc.asyncProperty(plan, (given) => check(() => undefined, given)),
      { numRuns: runs(30) },
    ));

  test("keeps their order with SQLite", () =>
    fc.assert(
      fc.asyncProperty(plan, (given) => {
        const folder = createFolder();
        return check(() => storeIn(folder), given);
      }),
      { numRuns: runs(60) },
    ));

  describe.skipIf(!hasRedis)("with Redis", () => {
    let server: RedisServer;
    beforeAll(async () => {
      server = await startRedis();
    });
    afterAll(() => server.stop());

    test("keeps their order", () =>
      fc.assert(
        fc.asyncProperty(plan, (given) => {
          const prefix = randomUUID();
          return check(() => redis({ url: server.url, prefix, secret: redisSecret }), given);
        }),
        { numRuns: runs(45) },
      ));
  });
});
