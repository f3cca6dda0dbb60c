// Tests what channels do when a store tells them that it deletes a conversation.
import { describe, expect, test } from "vitest";
import type { Plugin } from "../../../kernel/index.ts";
import { createStoppedClock, withKernel } from "../../../kernel/testing.ts";
import { Deletions } from "../../../plugins/channels/deletions.ts";
import { Dedupe } from "../../../plugins/channels/dedupe.ts";
import { DedupedDelivery, settleAgain } from "../../../plugins/channels/deduped-delivery.ts";
import { createIdGenerator } from "../../../plugins/channels/outbound.ts";
import { Sessions } from "../../../plugins/channels/sessions.ts";
import {
  application,
  channels,
  type Application,
  type ChannelAdapter,
  type Channels,
  type OpenQuestion,
} from "../../../plugins/channels/index.ts";
import type { Conversations, DeletionListener } from "../../../plugins/conversations/index.ts";
import { createSampleChannel } from "../../support/sample-channel.ts";

const address = { channel: "sample", session: "s" };
const codeOf = ({ code }: { code: string }): string => code;

/** A store that knows no ids, and deletes when the test says so. */
function createStore() {
  let listener: DeletionListener | undefined;
  const service = {
    taken: {
      known: async () => [],
      settle: async () => undefined,
      discard: async () => undefined,
    },
    watchDeletions: (given: DeletionListener) => void (listener = given),
  } as unknown as Conversations;
  const plugin: Plugin<{ offers: { conversations: Conversations } }> = {
    name: "conversations",
    api: 1,
    start: () => ({ conversations: service }),
  };
  return { plugin, begin: () => listener!(address) };
}

async function run(
  handler: Application,
  use: (at: {
    readonly channel: ReturnType<typeof createSampleChannel>;
    readonly begin: () => () => void;
    readonly events: string[];
    readonly calls: string[];
    readonly services: { readonly channels: Channels };
  }) => Promise<void>,
  adapter: Partial<ChannelAdapter> = {},
): Promise<void> {
  const store = createStore();
  const calls: string[] = [];
  const channel = createSampleChannel({
    keeps: false,
    update(_, id, { content }) {
      calls.push(`update ${content}`);
      return { id, status: "written" };
    },
    ended: (_, id, { outcome }) => void calls.push(`ended ${id} ${outcome}`),
    forgotten: (session) => void calls.push(`forgotten ${session}`),
    ...adapter,
  });
  const events: string[] = [];
  await withKernel(
    [store.plugin, channels(), channel.plugin, application(handler)],
    async ({ kernel }) => {
      kernel.on("channels:session-cleared", ({ session }) => void events.push(session));
      const { begin } = store;
      await use({ channel, begin, events, calls, services: kernel.services });
    },
  );
}

describe("the deletion of a conversation", () => {
  test("ends running and waiting messages before the store deletes", async () => {
    const received: string[] = [];
    const handler: Application = ({ id, signal, stream }) => {
      received.push(id);
      stream().write("growing");
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
    };
    await run(handler, async ({ channel, begin, events, calls }) => {
      const outcomes = ["a", "b"].map((id) =>
        channel.inlet().deliver(channel.message({ id }), { dedupe: true }).catch(codeOf),
      );
      await expect.poll(() => received).toEqual(["a"]);
      begin()();
      expect(await Promise.all(outcomes)).toEqual(["stopped", "stopped"]);
      expect(events).toEqual(["s"]);
      await expect.poll(() => channel.inlet().isBusy()).toBe(false);
      expect(calls).toEqual(["ended a stopped", "forgotten s"]);
      const repeated = channel.inlet().deliver(channel.message({ id: "b" }), { dedupe: true });
      expect(await repeated.catch(codeOf)).toBe("stopped");
    });
  });

  test("holds later messages back until it has ended", async () => {
    const received: string[] = [];
    const handler: Application = ({ id }) => void received.push(id);
    await run(handler, async ({ channel, begin }) => {
      const end = begin();
      const again = begin();
      const outcomes = [
        channel.inlet().deliver(channel.message({ id: "a" }), { dedupe: true }),
        channel.inlet().deliver(channel.message({ id: "b" })),
      ];
      await channel.inlet().deliver(channel.message({ id: "c", session: "other" }));
      again();
      expect(received).toEqual(["c"]);
      end();
      expect(await Promise.all(outcomes)).toEqual(["accepted", "accepted"]);
      expect(received).toEqual(["c", "a", "b"]);
    });
  });

  test("delivers no answer of a conversation that was deleted after it", async () => {
    const seen: string[] = [];
    const handler: Application = async (message) => {
      seen.push(message.id);
      if (message.answer) return;
      await message.ask({ kind: "approval", content: "Go on?", durable: "plan" });
    };
    const update: ChannelAdapter["update"] = async (_, id) => ({ id, status: "written" });
    const use = async ({ channel, begin, services }: Parameters<Parameters<typeof run>[1]>[0]) => {
      await channel.inlet().deliver(channel.message({ id: "a" }));
      const [{ id }] = services.channels.questions() as readonly [OpenQuestion];
      // The deletion begins in the turn of the event loop in which the answer is settled.
      const answer = services.channels.answer(address, id, { option: "allow" }, undefined, "pico");
      let end = (): void => undefined;
      const deleted = answer.then(() => void (end = begin()));
      await expect(answer).resolves.toMatchObject({ status: "settled" });
      await deleted;
      for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
      end();
      for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
      expect(seen).toEqual(["a"]);
    };
    await run(handler, use, { update });
  });

  test("tells a person who answers what the application reads", async () => {
    const outcomes: string[] = [];
    const handler: Application = async ({ ask }) => {
      outcomes.push((await ask({ kind: "approval", content: "Go on?" })).outcome);
    };
    let store = (): void => undefined;
    const stored = new Promise<void>((resolve) => void (store = resolve));
    const update: ChannelAdapter["update"] = async (_, id) => {
      await stored;
      return { id, status: "written" };
    };
    const use = async ({ channel, begin, services }: Parameters<Parameters<typeof run>[1]>[0]) => {
      void channel
        .inlet()
        .deliver(channel.message({ id: "a" }))
        .catch(codeOf);
      await expect.poll(() => services.channels.questions()).toHaveLength(1);
      const [{ id }] = services.channels.questions() as readonly [OpenQuestion];
      const answer = services.channels.answer(address, id, { option: "allow" }, undefined, "pico");
      await new Promise(setImmediate);
      begin()();
      store();
      const settled = { outcome: "withdrawn" };
      await expect(answer).resolves.toMatchObject({ status: "already", settled });
      expect(outcomes).toEqual(["withdrawn"]);
    };
    await run(handler, use, { update });
  });

  test("drops later changes to messages of the application, and nothing else", async () => {
    await run(
      () => undefined,
      async ({ channel, begin, calls, services }) => {
        const elsewhere = { ...address, session: "other" };
        const sent = await services.channels.send(address, { content: "old" });
        const other = await services.channels.send(elsewhere, { content: "other" });
        const stream = services.channels.stream(address);
        stream.write("old");
        await expect.poll(() => channel.sent).toHaveLength(3);
        begin()();
        stream.write(" text");
        await stream.end();
        const late = services.channels.update(address, sent.id, { content: "late" });
        expect(await late).toEqual({ id: sent.id, status: "undelivered", reason: "deleted" });
        await services.channels.update(elsewhere, other.id, { content: "edited" });
        const next = await services.channels.send(address, { content: "new" });
        await services.channels.update(address, next.id, { content: "newer" });
        expect(calls).toEqual(["forgotten s", "update edited", "update newer"]);
      },
    );
  });
});

describe("Deletions", () => {
  test("separates ids also if the clock is set back", () => {
    let now = 5_000;
    const next = createIdGenerator(
      (bytes) => new Uint8Array(bytes).fill(255),
      () => now,
    );
    const deletions = new Deletions(() => next.cut(), new Sessions(createStoppedClock()));
    const old = Array.from({ length: 20 }, () => next());
    now = 1_000;
    deletions.add(address);
    const later = Array.from({ length: 20 }, () => next());
    expect(old.every((id) => deletions.hasMessage(address, id))).toBe(true);
    expect(later.some((id) => deletions.hasMessage(address, id))).toBe(false);
    expect(deletions.hasMessage({ ...address, session: "other" }, old[0]!)).toBe(false);
    expect([deletions.hasSince(address, 0), deletions.hasSince(address, 1)]).toEqual([true, false]);
  });
});

describe("DedupedDelivery", () => {
  test("stores no id of a deleted message at a later attempt", async () => {
    const clock = createStoppedClock();
    const dedupe = new Dedupe(clock, new Sessions(clock));
    const { message } = createSampleChannel({ keeps: false });
    const one = message({ id: "a" });
    const stored: string[] = [];
    const unavailable = Object.assign(new Error("away"), { code: "store_unavailable" });
    const taken = {
      known: async () => [],
      settle: (_: unknown, id: string) => {
        stored.push(id);
        return Promise.reject(unavailable);
      },
      discard: async () => undefined,
    };
    const context = {
      dedupe,
      taken,
      failed: (error: unknown): never => {
        throw error;
      },
    };
    const record = dedupe.remember(one);
    const outcomes: unknown[] = [];
    const callbacks = {
      accepted: (status: string) => void outcomes.push(status),
      rejected: (error: unknown) => void outcomes.push(codeOf(error as { code: string })),
    };
    const delivery = new DedupedDelivery(context, one, record, callbacks);
    delivery.accepted("accepted");
    await delivery.reporting;
    expect([outcomes, record.mustSettle]).toEqual([["store_unavailable"], true]);
    dedupe.discardOpen(one);
    settleAgain(context, one, dedupe.find(one)!, callbacks);
    expect(outcomes).toEqual(["store_unavailable", "duplicate"]);
    expect(stored).toEqual(["a"]);
  });
});
