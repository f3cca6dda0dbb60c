// Tests growing replies: updates, end, abort and disconnected clients.
import { describe, expect, test } from "vitest";
import { createKernel } from "../../../kernel/index.ts";
import {
  createCapturedLog,
  createStoppedClock,
  withKernel,
  type StoppedClock,
} from "../../../kernel/testing.ts";
import {
  application,
  channels,
  type ReplyStream,
  type ChannelAdapter,
  type Channels,
  type StreamOptions,
} from "../../../plugins/channels/index.ts";
import { channelsErrors } from "../../../plugins/channels/errors.ts";
import { codeFrom, turn } from "../../support/sample-plugins.ts";
import {
  gate,
  createSampleChannel,
  type Sent,
  type SampleChannel,
} from "../../support/sample-channel.ts";
import { runFor, settled } from "../../support/timers.ts";

const to = { channel: "sample", session: "s" };

/** Creates a channel that records messages and updates. */
function updatable(adapter: Partial<ChannelAdapter> = {}): SampleChannel {
  const channel: SampleChannel = createSampleChannel({
    update(session, id, message) {
      channel.sent.push({ what: "update", session, id, message });
      return { id, status: "written" };
    },
    ...adapter,
  });
  return channel;
}

const shown = (sent: readonly Sent[]): unknown[] =>
  sent.map(({ what, message = { content: "" } }) => [
    what,
    message.content,
    ...("final" in message ? [message.final] : []),
  ]);

interface StreamFixture {
  readonly channels: Channels;
  readonly clock: StoppedClock;
  readonly answer: ReplyStream;
}

async function streaming(
  { plugin }: SampleChannel,
  visit: (fixture: StreamFixture) => Promise<void>,
  options: StreamOptions = {},
): Promise<void> {
  await withKernel([channels(), plugin], async ({ kernel: { services }, clock }) => {
    await visit({
      channels: services.channels,
      clock,
      answer: services.channels.stream(to, options),
    });
  });
}

describe("ReplyStream", () => {
  test("follows the pace of the channel while the text grows", async () => {
    const channel = updatable({ updateMs: 45 });
    await streaming(channel, async ({ answer, clock }) => {
      answer.write("a");
      await turn();
      const after = async (ms: number): Promise<number> => {
        clock.increment(ms);
        await turn();
        return channel.sent.length;
      };
      answer.write("b");
      expect([await after(44), await after(1)]).toEqual([1, 2]);
      // A replaced text is sent whole, so it waits for the longer time.
      answer.replace("x");
      expect([await after(111), await after(1)]).toEqual([2, 3]);
      expect(shown(channel.sent)).toEqual([
        ["send", "a", false],
        ["update", "ab"],
        ["update", "x"],
      ]);
      await answer.end();
    });
  });

  test("sends one message, updates it and ends with a final update", async () => {
    const channel = updatable();
    await streaming(channel, async ({ answer, clock }) => {
      for (const part of ["one", " two", " three"]) {
        answer.write(part);
        await turn();
      }
      clock.increment(112);
      await turn();
      answer.write(" four");
      const receipt = await answer.end({ contextUsage: { used: 10, total: 100 }, model: "m" });
      expect(shown(channel.sent)).toEqual([
        ["send", "one", false],
        ["update", "one two three"],
        ["update", "one two three four", true],
      ]);
      expect(new Set(channel.sent.map(({ id }) => id))).toEqual(new Set([receipt.id]));
      expect(channel.sent[2]!.message).toMatchObject({
        contextUsage: { used: 10, total: 100 },
        model: "m",
      });
    });
  });

  test("sends one whole message if the channel cannot update", async () => {
    const [quick, simple] = [updatable(), createSampleChannel()];
    await streaming(quick, async ({ answer }) => void (await answer.end()));
    await streaming(simple, async ({ answer, clock }) => {
      answer.write("one");
      clock.increment(1_000);
      await turn();
      answer.write(" two");
      await answer.end();
    });
    expect([shown(quick.sent), shown(simple.sent)]).toEqual([
      [["send", ""]],
      [["send", "one two"]],
    ]);
  });

  test("waits for a slow channel, then sends the newest text", async () => {
    const slow = gate();
    let calls = 0;
    const channel: SampleChannel = updatable({
      async update(session, id, message) {
        calls += 1;
        await slow.opened;
        channel.sent.push({ what: "update", session, id, message });
        return { id, status: "written" };
      },
    });
    await streaming(channel, async ({ answer, clock }) => {
      for (const part of ["a", "b", "c", "d"]) {
        answer.write(part);
        clock.increment(112);
        await turn();
      }
      expect(calls).toBe(1);
      slow.open();
      await answer.end();
      expect(shown(channel.sent)).toEqual([
        ["send", "a", false],
        ["update", "ab"],
        ["update", "abcd", true],
      ]);
    });
  });

  test("refers to the message that opened it", async () => {
    const channel = updatable();
    const answering = application(async (message) => {
      const answer = message.stream({ kind: "thought" });
      answer.write("hm");
      await answer.end();
    });
    await withKernel([channels(), channel.plugin, answering], async () => {
      await channel.inlet().deliver(channel.message({ id: "asked", session: "t" }));
      expect(channel.sent[0]).toMatchObject({
        session: "t",
        message: { inReplyTo: "asked", kind: "thought" },
      });
    });
  });

  test("rejects text after the end and ends once", async () => {
    const channel = updatable();
    await streaming(channel, async ({ answer }) => {
      answer.write("all");
      expect(await answer.end()).toEqual(await answer.end());
      expect(await codeFrom(() => answer.write("more"))).toBe("stream_ended");
      expect(shown(channel.sent)).toEqual([
        ["send", "all", false],
        ["update", "all", true],
      ]);
    });
  });
});

describe("ReplyStream.abort", () => {
  test("ends with the text so far and drops later text", async () => {
    const channel = updatable();
    await streaming(channel, async ({ answer }) => {
      answer.write("so far");
      await turn();
      answer.abort("enough");
      answer.write(" and more");
      expect([answer.signal.aborted, answer.signal.reason]).toEqual([true, "enough"]);
      expect((await answer.end()).status).toBe("written");
      expect(shown(channel.sent)).toEqual([
        ["send", "so far", false],
        ["update", "so far", true],
      ]);
    });
  });

  test("sends nothing if the stream has no text", async () => {
    const channel = updatable();
    await streaming(channel, async ({ answer }) => {
      answer.abort();
      expect(await answer.end()).toMatchObject({ status: "undelivered", reason: "aborted" });
      expect(channel.sent).toEqual([]);
    });
  });

  test("sends the text so far when the kernel stops", async () => {
    const channel = updatable();
    const kernel = createKernel([channels(), channel.plugin], {
      clock: createStoppedClock(),
      log: createCapturedLog().log,
    });
    await kernel.start();
    const answer = kernel.services.channels.stream(to);
    answer.write("half an ans");
    await turn();
    await kernel.stop();
    expect(await codeFrom(Promise.reject(answer.signal.reason))).toBe("not_running");
    expect(shown(channel.sent)).toEqual([
      ["send", "half an ans", false],
      ["update", "half an ans", true],
    ]);
  });
});

describe("ReplyStream without a connected client", () => {
  const undeliverable = channelsErrors.undeliverable("sample");

  test("names the added text, except after a failure", async () => {
    let isConnected = true;
    const calls: unknown[] = [];
    const channel = updatable({
      update(_session, id, { content, added }) {
        calls.push([content, added]);
        if (!isConnected) throw undeliverable;
        return { id, status: "written" };
      },
    });
    await streaming(channel, async ({ answer, clock }) => {
      const show = async (write: () => unknown): Promise<void> => {
        write();
        await turn();
        clock.increment(112);
        await turn();
      };
      await show(() => answer.write("a"));
      await show(() => answer.write("b"));
      await show(() => answer.replace("x"));
      isConnected = false;
      await show(() => answer.write("y"));
      isConnected = true;
      await show(() => answer.write("z"));
      await show(() => answer.write("!"));
      await answer.end();
      expect(calls).toEqual([
        ["ab", "b"],
        ["x", undefined],
        ["xy", "y"],
        ["xy", undefined],
        ["xyz", undefined],
        ["xyz!", "!"],
        ["xyz!", ""],
      ]);
    });
  });

  test("continues and sends the whole text when a client returns", async () => {
    let isConnected = true;
    const channel: SampleChannel = updatable({
      update(session, id, message) {
        if (!isConnected) throw undeliverable;
        channel.sent.push({ what: "update", session, id, message });
        return { id, status: "written" };
      },
    });
    await streaming(channel, async ({ answer, clock }) => {
      for (const part of ["a", "b", "c"]) {
        answer.write(part);
        await turn();
        clock.increment(112);
        await turn();
        isConnected = false;
      }
      expect(answer.signal.aborted).toBe(false);
      isConnected = true;
      await answer.end();
      expect(shown(channel.sent).at(-1)).toEqual(["update", "abc", true]);
    });
  });

  test.each([
    [
      "has no client",
      (): never => {
        throw undeliverable;
      },
    ],
    ["buffers the message", (_: string, id: string) => ({ id, status: "buffered" as const })],
  ])("aborts with cancelWhenAlone if the channel %s", async (_, send) => {
    await streaming(
      updatable({ send }),
      async ({ answer }) => {
        answer.write("a");
        await turn();
        expect(answer.signal.aborted).toBe(true);
      },
      { cancelWhenAlone: true },
    );
  });

  test("aborts with cancelWhenAlone when the session becomes idle", async () => {
    const channel = updatable();
    await streaming(
      channel,
      async ({ answer, channels: all }) => {
        const withoutOption = all.stream(to);
        const other = all.stream({ ...to, session: "t" }, { cancelWhenAlone: true });
        channel.inlet().sessionIdle("s");
        expect([answer, withoutOption, other].map(({ signal }) => signal.aborted)).toEqual([
          true,
          false,
          false,
        ]);
      },
      { cancelWhenAlone: true },
    );
  });

  test.each([
    ["the time of the option", { afterMs: 2_000 }, 2_000, undefined],
    ["the resume time of the channel", true, 5_000, 5_000],
  ])("waits %s for a client", async (_, cancelWhenAlone, waitMs, resumeMs) => {
    const channel = updatable(resumeMs === undefined ? {} : { resumeMs });
    await streaming(
      channel,
      async ({ answer, clock }) => {
        channel.inlet().sessionIdle("s");
        runFor(clock, waitMs - 1);
        channel.inlet().sessionActive("s");
        runFor(clock, waitMs);
        await settled();
        expect(answer.signal.aborted).toBe(false);
        channel.inlet().sessionIdle("s");
        clock.increment(600_000); // a suspension
        await settled();
        expect(answer.signal.aborted).toBe(false);
        runFor(clock, waitMs);
        await settled();
        expect(answer.signal.reason).toMatchObject({ code: "no_client" });
      },
      { cancelWhenAlone },
    );
  });

  test("ends a begun message if the session becomes idle during the send", async () => {
    const channel: SampleChannel = updatable({
      send(session, id, message) {
        channel.sent.push({ what: "send", session, id, message });
        channel.inlet().sessionIdle(session);
        return { id, status: "buffered" };
      },
    });
    await streaming(
      channel,
      async ({ answer }) => {
        answer.write("so far");
        expect(answer.signal.aborted).toBe(true);
        await answer.end();
        expect(shown(channel.sent)).toEqual([
          ["send", "so far", false],
          ["update", "so far", true],
        ]);
      },
      { cancelWhenAlone: true },
    );
  });

  test("aborts on a rejected text and reports the error at the end", async () => {
    const tooLarge = channelsErrors.unsupported("sample", "take such long");
    const channel: SampleChannel = updatable({
      update(session, id, message) {
        if (message.content.length > 3) throw tooLarge;
        channel.sent.push({ what: "update", session, id, message });
        return { id, status: "written" };
      },
    });
    await streaming(channel, async ({ answer, clock }) => {
      answer.write("abc");
      await turn();
      answer.write("def");
      clock.increment(112);
      await turn();
      expect(answer.signal.reason).toBe(tooLarge);
      expect(await codeFrom(answer.end())).toBe("unsupported");
      expect(shown(channel.sent)).toEqual([
        ["send", "abc", false],
        ["update", "abc", true],
      ]);
    });
  });
});
