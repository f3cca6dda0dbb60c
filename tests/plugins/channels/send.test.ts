// Tests sending: messages, replies, receipts and registration.
import { describe, expect, test } from "vitest";
import { createKernel, DoorwardError } from "../../../kernel/index.ts";
import { withKernel } from "../../../kernel/testing.ts";
import {
  application,
  channels,
  type Channels,
  type Receipt,
} from "../../../plugins/channels/index.ts";
import { gate, createSampleChannel } from "../../support/sample-channel.ts";

const code = (expected: string): object => expect.objectContaining({ code: expected });
const to = { channel: "sample", session: "s" };

describe("Channels.send", () => {
  test("assigns a random 16-byte id and returns the receipt", async () => {
    const { plugin, sent } = createSampleChannel();
    await withKernel([channels(), plugin], async ({ kernel }) => {
      const receipt = await kernel.services.channels.send(to, { content: "hello" });
      expect(receipt).toEqual({ id: expect.stringMatching(/^[0-9a-f]{32}$/), status: "written" });
      expect(sent).toEqual([
        { what: "send", session: "s", id: receipt.id, message: { content: "hello" } },
      ]);
    });
  });

  test("sends a reply to the session of the message", async () => {
    const { plugin, sent, inlet, message } = createSampleChannel();
    const answer = application(async ({ reply }) => void (await reply({ content: "yes" })));
    await withKernel([channels(), plugin, answer], async () => {
      await inlet().deliver(message({ id: "a", session: "t" }));
      expect(sent[0]).toMatchObject({ session: "t", message: { content: "yes", inReplyTo: "a" } });
    });
  });

  test("rejects calls that the channel does not support", async () => {
    const { plugin } = createSampleChannel();
    await withKernel([channels(), plugin], async ({ kernel: { services } }) => {
      await expect(services.channels.update(to, "a", { content: "" })).rejects.toEqual(
        code("unsupported"),
      );
      await expect(services.channels.remove(to, "a")).rejects.toEqual(code("unsupported"));
      expect(services.channels.typing(to, true)).toBeUndefined();
    });
  });

  test("passes supported calls to the channel", async () => {
    const calls: unknown[] = [];
    const { plugin } = createSampleChannel({
      update: (session, id, message) => (
        calls.push(["update", session, id, message]),
        { id, status: "written" }
      ),
      remove: (session, id) => (calls.push(["remove", session, id]), { id, status: "written" }),
      typing: (session, on) => void calls.push(["typing", session, on]),
    });
    await withKernel([channels(), plugin], async ({ kernel: { services } }) => {
      await services.channels.update(to, "a", { content: "b", final: true });
      await services.channels.remove(to, "a");
      services.channels.typing(to, true);
      const update = ["update", "s", "a", { content: "b", final: true }];
      expect(calls).toEqual([update, ["remove", "s", "a"], ["typing", "s", true]]);
    });
  });

  test("wraps errors without a code in undeliverable", async () => {
    const full = new DoorwardError("too_large", "The message is too large.");
    const { plugin } = createSampleChannel({
      send: (session) => {
        throw session === "big" ? full : new Error("inner");
      },
    });
    await withKernel([channels(), plugin], async ({ kernel: { services } }) => {
      await expect(services.channels.send(to, { content: "" })).rejects.toEqual(
        code("undeliverable"),
      );
      await expect(services.channels.send({ ...to, session: "big" }, { content: "" })).rejects.toBe(
        full,
      );
      const nowhere = services.channels.send({ ...to, channel: "none" }, { content: "" });
      await expect(nowhere).rejects.toEqual(code("undeliverable"));
    });
  });

  test("rejects messages that crossed more than four bridges", async () => {
    const { plugin, sent } = createSampleChannel();
    await withKernel([channels(), plugin], async ({ kernel: { services } }) => {
      await services.channels.send(to, { content: "", hops: 4 });
      await expect(services.channels.send(to, { content: "", hops: 5 })).rejects.toEqual(
        code("loop"),
      );
      expect(sent).toHaveLength(1);
    });
  });

  test("sends from ready until the channels stop", async () => {
    const { plugin, inlet, message, sent } = createSampleChannel();
    let service: Channels | undefined;
    let last: Promise<Receipt> | undefined;
    const started = gate();
    const early = {
      ...plugin,
      start: async (scope: Parameters<typeof plugin.start>[0]) => {
        service = scope.needs.channels;
        await expect(service.send(to, { content: "" })).rejects.toEqual(code("not_running"));
        await plugin.start(scope);
      },
    };
    const answer = application(({ reply }, signal) => {
      signal.addEventListener("abort", () => void (last = reply({ content: "last words" })));
      started.open();
      return new Promise(() => {});
    });
    const kernel = createKernel([channels(), early, answer]);
    await kernel.start();
    const pending = expect(inlet().deliver(message())).rejects.toEqual(code("not_running"));
    await started.opened;
    await kernel.stop();
    await pending;
    expect((await last)?.status).toBe("written");
    expect(sent.map(({ message: reply }) => reply?.content)).toEqual(["last words"]);
    await expect(service!.send(to, { content: "" })).rejects.toEqual(code("not_running"));
  });
});

describe("ChannelHandle.receipt", () => {
  test("emits an event when the status advances", async () => {
    const { plugin, inlet } = createSampleChannel({
      send: (_, id) => ({ id, status: "buffered" }),
    });
    await withKernel([channels(), plugin], async ({ kernel }) => {
      const events: unknown[] = [];
      kernel.on("channels:receipt-changed", (event) => void events.push(event));
      const { id } = await kernel.services.channels.send(to, { content: "" });
      const report = (status: Receipt["status"], session = "s"): void =>
        inlet().receipt(session, { id, status });
      report("buffered");
      report("delivered", "another session");
      report("written");
      report("buffered");
      report("delivered");
      report("undelivered");
      expect(events).toEqual(["written", "delivered"].map((status) => ({ ...to, id, status })));
    });
  });

  test("keeps a status that arrives before the channel returns", async () => {
    const { plugin, inlet } = createSampleChannel({
      send: async (session, id) => {
        inlet().receipt(session, { id, status: "undelivered", reason: "expired" });
        return { id, status: "written" };
      },
    });
    await withKernel([channels(), plugin], async ({ kernel }) => {
      const receipt = await kernel.services.channels.send(to, { content: "" });
      expect(receipt).toEqual({ id: receipt.id, status: "undelivered", reason: "expired" });
    });
  });
});

describe("Channels.attach and Channels.handle", () => {
  test("rejects a second channel of a name and a second application", async () => {
    const { plugin, inlet } = createSampleChannel();
    await withKernel([channels(), plugin, application(() => {})], ({ kernel: { services } }) => {
      const second = { name: "sample", send: () => ({ id: "", status: "written" as const }) };
      expect(() => services.channels.attach(second)).toThrowError(code("channel_taken"));
      expect(() => services.channels.handle(() => {})).toThrowError(code("application_taken"));
      inlet().close();
      services.channels.attach(second).close();
    });
  });

  test.each([
    ["undefined", undefined],
    ["object", {}],
    ["null", null],
  ])("names an application that is not a function: %s", async (what, value) => {
    const given = application(value as never);
    const start = createKernel([channels(), given]).start();
    await expect(start).rejects.toMatchObject({
      code: "application_invalid",
      message: expect.stringContaining(`The application is ${what}, not a function: pass one`),
    });
  });

  test("offers the suggestions of the application, at most four short ones", async () => {
    const start = (suggestions: unknown) =>
      createKernel([channels(), application(() => {}, { suggestions } as never)]).start();
    const invalid = { code: "suggestions_invalid" };
    for (const wrong of ["x", [""], [1], ["x".repeat(81)], ["1", "2", "3", "4", "5"]])
      await expect(start(wrong)).rejects.toMatchObject(invalid);
    const suggestions = ["What is on today?"];
    for (const options of [{ suggestions }, {}]) {
      const kernel = createKernel([channels(), application(() => {}, options)]);
      await kernel.start();
      expect(kernel.services.channels.suggestions()).toEqual(options.suggestions);
      await kernel.stop();
    }
  });

  test.each([
    [undefined, "name must be a text"],
    [{ name: "", send: () => undefined }, "name must be a text"],
    [{ name: "sample" }, "send must be a function"],
  ])("names what an adapter lacks: %j", async (adapter, problem) => {
    await withKernel([channels()], ({ kernel: { services } }) => {
      expect(() => services.channels.attach(adapter as never)).toThrowError(
        `needs.channels.attach() takes { name, send(session, id, message) }: ${problem}.`,
      );
    });
  });

  test("accepts a new application after the previous one was removed", async () => {
    const { plugin, inlet, message } = createSampleChannel();
    const seen: string[] = [];
    await withKernel([channels(), plugin], async ({ kernel: { services } }) => {
      const release = services.channels.handle(() => void seen.push("one"));
      await inlet().deliver(message());
      release();
      services.channels.handle(() => void seen.push("two"));
      release();
      await inlet().deliver(message());
      expect(seen).toEqual(["one", "two"]);
    });
  });
});
