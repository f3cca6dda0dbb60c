import { describe, expect, test } from "vitest";
import { createKernel } from "../../../kernel/index.ts";
import { createCapturedLog } from "../../../kernel/testing.ts";
import {
  application,
  channels,
  type Application,
  type ChannelAdapter,
} from "../../../plugins/channels/index.ts";
import { conversations } from "../../../plugins/conversations/index.ts";
import { createSampleChannel, gate } from "../../support/sample-channel.ts";
import { storeIn } from "../../support/sqlite-conversations.ts";
import { createFolder } from "../../support/sqlite-store.ts";

const address = { channel: "sample", session: "s" };

/** Runs a kernel with a store on disk and the sample channel, which keeps nothing itself. */
async function run(handler: Application, adapter: Partial<ChannelAdapter> = {}) {
  const channel = createSampleChannel(adapter);
  const store = conversations({ store: storeIn(createFolder()) });
  const { log, lines } = createCapturedLog();
  const plugins = [store, channels(), channel.plugin, application(handler)] as const;
  const kernel = createKernel(plugins, { log });
  await kernel.start();
  const { channels: service, conversations: history } = kernel.services;
  return {
    channel,
    service,
    history,
    lines,
    stop: () => kernel.stop(),
    turns: async () =>
      (await service.history(address)).items.map(
        ({ role, content, complete, inReplyTo, requestId }) =>
          [role, requestId ?? inReplyTo, content, complete].filter((part) => part !== undefined),
      ),
  };
}

const echo: Application = async ({ content, reply }) => void (await reply({ content }));

describe("a channel that keeps nothing", () => {
  test("has the turns of both sides in its history", async () => {
    const { channel, service, history, turns, stop } = await run(echo);
    await channel.inlet().deliver({ session: "s", id: "m1", content: "hello" });
    await service.send(address, { content: "a message of its own" });
    expect(await turns()).toEqual([
      ["user", "m1", "hello"],
      ["assistant", "m1", "hello"],
      ["assistant", "a message of its own"],
    ]);
    const { items } = await history.list();
    expect(items).toMatchObject([{ ...address, title: "hello", turns: 3 }]);
    expect(await history.search("own")).toHaveLength(1);
    await history.forget(items[0]!.id);
    expect(await turns()).toEqual([]);
    await stop();
  });

  test("records a growing answer, its update and its removal", async () => {
    const { channel, service, turns, stop } = await run(() => undefined, {
      update: () => undefined,
      remove: () => undefined,
    });
    const { id } = await service.send(address, { content: "one", final: false });
    expect(await turns()).toEqual([["assistant", "one", false]]);
    await service.update(address, id, { content: "one two", final: true });
    expect(await turns()).toEqual([["assistant", "one two"]]);
    await service.remove(address, id);
    expect(await turns()).toEqual([]);
    expect(channel.sent).toHaveLength(1);
    await stop();
  });

  test("records nothing that the channel rejects", async () => {
    const { service, turns, stop } = await run(echo, {
      send: () => Promise.reject(new Error("the network is gone")),
    });
    await expect(service.send(address, { content: "lost" })).rejects.toMatchObject({
      code: "undeliverable",
    });
    expect(await turns()).toEqual([]);
    await stop();
  });

  test("cuts a text of 2 MiB, and leaves out unusable files", async () => {
    const { channel, service, stop } = await run(() => undefined);
    const content = "é".repeat(1024 * 1024);
    await channel.inlet().deliver({ session: "s", id: "m1", content });
    const attachments = [{ type: "image/png", url: "file:///etc/passwd" }];
    await service.send(address, { content, attachments });
    const { items } = await service.history(address, { limit: 1 });
    expect(content.startsWith(items[0]!.content)).toBe(true);
    expect(items[0]!.content.length).toBeGreaterThan(100_000);
    expect(items[0]!.attachments).toBeUndefined();
    await stop();
  });

  test("keeps a file as media.put describes it", async () => {
    const { channel, service, stop } = await run(() => undefined);
    const id = `m_${"0".repeat(48)}`;
    const named = { id, size: 3, sha256: "0".repeat(64), filename: "a.txt" };
    const file = { ...address, ...named, contentType: "text/plain", sender: "application", at: 0 };
    await service.send(address, { content: "", attachments: [file] } as never);
    expect(channel.sent[0]!.message?.attachments).toEqual([{ ...named, type: "text/plain" }]);
    const { items } = await service.history(address, { limit: 1 });
    expect(items[0]!.attachments).toMatchObject([
      { id, type: "text/plain", filename: "a.txt", size: 3 },
    ]);
    await stop();
  });

  test("sends although the store fails, and logs that once", async () => {
    const { channel, service, lines, history, stop } = await run(echo);
    const log = history.open("sample", {} as never);
    log.append = () => Promise.reject(new Error("the disk is full"));
    for (const content of ["one", "two"]) await service.send(address, { content });
    expect(channel.sent).toHaveLength(2);
    expect(lines.filter(({ text }) => text.includes("are not kept"))).toHaveLength(1);
    await stop();
  });

  test("shows nothing of an answer whose message is not stored", async () => {
    let reason: unknown;
    const ended = gate();
    const { channel, history, stop } = await run(async ({ signal, reply }) => {
      signal.addEventListener("abort", () => void (reason = signal.reason));
      await reply({ content: "shown" }).catch(() => undefined);
      ended.open();
    });
    const log = history.open("sample", {} as never);
    log.append = () => Promise.reject(new Error("the disk is full"));
    const delivered = channel.inlet().deliver({ session: "s", id: "m1", content: "hello" });
    await expect(delivered).rejects.toThrow("the disk is full");
    await ended.opened;
    expect(channel.sent).toEqual([]);
    expect(reason).toMatchObject({ message: "the disk is full" });
    await stop();
  });

  test("hands over no message that the store refuses immediately", async () => {
    const received: string[] = [];
    const { channel, history, stop } = await run(({ id }) => void received.push(id));
    const log = history.open("sample", {} as never);
    log.append = () => {
      throw new Error("the disk is full");
    };
    const delivered = channel.inlet().deliver({ session: "s", id: "m1", content: "hello" });
    await expect(delivered).rejects.toThrow("the disk is full");
    expect(received).toEqual([]);
    await stop();
  });

  test("has a message in history while the application works on it", async () => {
    const seen = gate();
    const done = gate();
    const { channel, turns, stop } = await run(async ({ history }) => {
      expect((await history({ limit: 1 })).items).toEqual([]);
      seen.open();
      await done.opened;
      throw new Error("refused");
    });
    const delivered = channel.inlet().deliver({ session: "s", id: "m1", content: "hello" });
    const rejected = expect(delivered).rejects.toThrow("refused");
    await seen.opened;
    expect(await turns()).toEqual([["user", "m1", "hello"]]);
    done.open();
    await rejected;
    expect(await turns()).toEqual([["user", "m1", "hello"]]);
    await stop();
  });

  test("keeps the sentence of a host, and none of another error", async () => {
    const { channel, service, stop } = await run(({ content }) => {
      throw Object.assign(new Error(`The ${content}\nis full.`), { expose: content === "disk" });
    });
    for (const content of ["disk", "path"]) {
      const delivered = channel.inlet().deliver({ session: "s", id: content, content });
      await expect(delivered).rejects.toThrow("is full");
    }
    const ends = (await service.history(address)).items.map(({ message }) => message);
    expect(ends).toEqual(["The disk is full.", undefined]);
    await stop();
  });

  test("gives a repeated message the turn of its rejected delivery", async () => {
    let attempts = 0;
    const answer: Application = async ({ content, reply }) => {
      attempts += 1;
      await reply({ content: `${content} ${attempts}` });
      if (attempts === 1) throw new Error("refused");
    };
    const { channel, service, turns, stop } = await run(answer, { remove: () => undefined });
    const message = { session: "s", id: "m1", content: "hello" };
    const deliver = () => channel.inlet().deliver(message, { dedupe: true });
    await expect(deliver()).rejects.toThrow("refused");
    expect(await deliver()).toBe("accepted");
    expect(await turns()).toEqual([
      ["user", "m1", "hello"],
      ["assistant", "m1", "hello 2"],
    ]);
    expect((await service.history(address)).items[0]).toMatchObject({ outcome: "completed" });
    expect(await deliver()).toBe("duplicate");
    await stop();
  });

  test("keeps the stop of a repeated message whose first answer is removed", async () => {
    const [removing, removed] = [gate(), gate()];
    const answer: Application = async ({ reply }) => {
      await reply({ content: "first" });
      throw new Error("refused");
    };
    const remove = async (): Promise<void> => {
      removing.open();
      await removed.opened;
    };
    const { channel, service, stop } = await run(answer, { remove });
    const message = { session: "s", id: "m1", content: "hello" };
    const deliver = () => channel.inlet().deliver(message, { dedupe: true });
    await expect(deliver()).rejects.toThrow("refused");
    const again = deliver();
    await removing.opened;
    const rejected = expect(again).rejects.toMatchObject({ code: "stopped" });
    await channel.inlet().stop("s", "m1");
    removed.open();
    await rejected;
    await expect
      .poll(async () => (await service.history(address)).items)
      .toMatchObject([{ requestId: "m1", outcome: "stopped" }]);
    await stop();
  });

  test("names a session that the log cannot have", async () => {
    const { channel, lines, stop } = await run(echo);
    const session = "x".repeat(257);
    await channel.inlet().deliver({ session, id: "m1", content: "hello" });
    expect(channel.sent).toHaveLength(1);
    expect(lines.filter(({ text }) => text.includes("a session is not kept"))).toHaveLength(1);
    await stop();
  });

  test("keeps the methods of a class with private fields", async () => {
    const seen: string[] = [];
    class Adapter implements ChannelAdapter {
      readonly name = "private";
      readonly #seen = seen;
      send(): void {
        this.#seen.push("send");
      }
      typing(): void {
        this.#seen.push("typing");
      }
      ended(): void {
        this.#seen.push("ended");
      }
    }
    const { service, stop } = await run(echo);
    const handle = service.attach(new Adapter());
    service.typing({ channel: "private", session: "s" }, true);
    await handle.deliver({ session: "s", id: "m1", content: "hello" });
    expect(seen).toEqual(["typing", "send", "ended"]);
    await stop();
  });
});

describe("a channel with keeps: false", () => {
  test("adds nothing to the conversations", async () => {
    const { channel, service, turns, stop } = await run(echo, { keeps: false });
    await channel.inlet().deliver({ session: "s", id: "m1", content: "hello" });
    expect(await turns()).toEqual([]);
    channel.inlet().sessionActive("s");
    expect(service.list()).toEqual([
      {
        name: "sample",
        isKept: false,
        acceptsConsole: false,
        received: 1,
        sent: 1,
        sessions: 1,
      },
    ]);
    await stop();
  });
});

describe("Channels.deliver", () => {
  test("delivers a message of the owner and lets the channel show it", async () => {
    const shown: string[] = [];
    const { service, turns, stop } = await run(echo, {
      accepts: "console",
      turn: ({ content, protocol }) => void shown.push(`${protocol}: ${content}`),
    });
    const message = { id: "c1", content: "from the console", sender: { id: "owner" } };
    expect(await service.deliver(address, message)).toBe("accepted");
    expect(await service.deliver(address, message)).toBe("duplicate");
    expect(shown).toEqual(["dashboard: from the console"]);
    expect(await turns()).toEqual([
      ["user", "c1", "from the console"],
      ["assistant", "c1", "from the console"],
    ]);
    await stop();
  });

  test("rejects it for other channels", async () => {
    const { service, stop } = await run(echo);
    await expect(service.deliver(address, { id: "c1", content: "x" })).rejects.toMatchObject({
      code: "unsupported",
    });
    await stop();
  });
});

describe("an adapter in JavaScript", () => {
  test("has written what it returns nothing for", async () => {
    const { service, stop } = await run(echo, { send: () => undefined, remove: async () => {} });
    const receipt = await service.send(address, { content: "hello" });
    expect(receipt).toEqual({ id: receipt.id, status: "written" });
    expect(await service.remove(address, receipt.id)).toMatchObject({ status: "written" });
    await stop();
  });

  test.each([true, null, "ok", {}, { id: "x", status: "sent" }])(
    "names the missing receipt if it returns %j",
    async (returned) => {
      const returns = [() => returned as never, () => Promise.resolve(returned as never)];
      for (const send of returns) {
        const { service, stop } = await run(echo, { send, keeps: false });
        const sending = service.send(address, { content: "hello" });
        await expect(sending).rejects.toThrow(
          /send\(\) of the channel "sample" returned .* receipt/,
        );
        await stop();
      }
    },
  );

  test("names the field of a message that is not a text", async () => {
    const { channel, stop } = await run(echo);
    const message = { session: "s", id: 7 as never, content: "hello" };
    await expect(channel.inlet().deliver(message)).rejects.toThrow("id must be a text");
    await stop();
  });
});
