import { describe, expect, test } from "vitest";
import { createKernel, type AnyPlugin, type Plugin } from "../../../kernel/index.ts";
import { createCapturedLog } from "../../../kernel/testing.ts";
import {
  application,
  channels,
  type Channels,
  type HistoryOptions,
} from "../../../plugins/channels/index.ts";
import { conversations, type Turn } from "../../../plugins/conversations/index.ts";
import { createSampleChannel } from "../../support/sample-channel.ts";
import { createHistory, storeIn } from "../../support/sqlite-conversations.ts";
import { entry, epoch } from "../../support/sqlite-store.ts";

const address = { channel: "sample", session: "s" };

/** Runs a kernel whose application reads the history of its first message, `q2`. */
async function readWith(first: AnyPlugin, options?: HistoryOptions) {
  const channel = createSampleChannel();
  let read: readonly Turn[] = [];
  const reader = application(async ({ history }) => {
    read = (await history(options)).items;
  });
  const { log } = createCapturedLog();
  const kernel = createKernel([first as Plugin, channels(), channel.plugin, reader], { log });
  await kernel.start();
  await channel.inlet().deliver(channel.message({ id: "q2", content: "And now?" }));
  const service: Channels = kernel.services.channels;
  return { read: read.map(({ content }) => content), service, stop: () => kernel.stop() };
}

/** A store with a question, its answer, and the message that the application handles. */
async function stored(): Promise<AnyPlugin> {
  const folder = await createHistory(
    entry("user", "q1", "Is it noon?", address),
    entry("create", "a1", "It is.", address),
    entry("user", "q2", "And now?", address),
  );
  return conversations({ store: storeIn(folder) }) as unknown as AnyPlugin;
}

describe("message.history", () => {
  test("returns the turns of both sides without the message itself", async () => {
    const { read, stop } = await readWith(await stored());
    expect(read).toEqual(["Is it noon?", "It is."]);
    await stop();
  });

  test("returns the page before a cursor", async () => {
    const { read, stop } = await readWith(await stored(), { limit: 1, before: `${epoch}:2` });
    expect(read).toEqual(["Is it noon?"]);
    await stop();
  });

  test("returns an empty page without a durable store", async () => {
    const nothing: AnyPlugin = { name: "nothing", api: 1, start: () => undefined };
    for (const first of [nothing, conversations() as unknown as AnyPlugin]) {
      const { read, stop } = await readWith(first);
      expect(read).toEqual([]);
      await stop();
    }
  });
});

describe("channels.history", () => {
  test("reads any session, and returns an empty page for an unknown one", async () => {
    const { service, stop } = await readWith(await stored());
    expect((await service.history(address, { limit: 2 })).items).toHaveLength(2);
    expect(await service.history({ ...address, session: "unknown" })).toEqual({ items: [] });
    await stop();
  });
});
