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
import { gate, toy, type Sent, type Toy } from "../../support/sample-channel.ts";

const to = { channel: "toy", session: "s" };

/** A channel that keeps what it is told, updates too. */
function growing(port: Partial<ChannelAdapter> = {}): Toy {
  const own: Toy = toy({
    update(session, id, message) {
      own.sent.push({ what: "update", session, id, message });
      return { id, status: "written" };
    },
    ...port,
  });
  return own;
}

const shown = (sent: readonly Sent[]): unknown[] =>
  sent.map(({ what, message = { content: "" } }) => [
    what,
    message.content,
    ...("final" in message ? [message.final] : []),
  ]);

interface Given {
  readonly channels: Channels;
  readonly clock: StoppedClock;
  readonly answer: ReplyStream;
}

async function streaming(
  { plugin }: Toy,
  visit: (given: Given) => Promise<void>,
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

describe("a stream", () => {
  test("makes one message, updates it with the full text so far, and ends with a final update", async () => {
    const channel = growing();
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

  test("is one whole message when it ends before anything was shown, and where nothing can be changed", async () => {
    const [quick, simple] = [growing(), toy()];
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

  test("waits for a slow channel, and shows the newest text next", async () => {
    const slow = gate();
    let calls = 0;
    const channel: Toy = growing({
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

  test("a message's own stream answers that message", async () => {
    const channel = growing();
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

  test("takes no text after its end, and ends once", async () => {
    const channel = growing();
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

describe("an aborted stream", () => {
  test("ends with the text so far; what is written later is dropped", async () => {
    const channel = growing();
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

  test("before it began it shows nothing", async () => {
    const channel = growing();
    await streaming(channel, async ({ answer }) => {
      answer.abort();
      expect(await answer.end()).toMatchObject({ status: "undelivered", reason: "aborted" });
      expect(channel.sent).toEqual([]);
    });
  });

  test("a stop of the kernel ends it, and what it had goes out first", async () => {
    const channel = growing();
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

describe("a stream that nobody hears", () => {
  const nobody = channelsErrors.undeliverable("toy");

  test("is finished for those who come back, and shown whole when they have", async () => {
    let isThere = true;
    const channel: Toy = growing({
      update(session, id, message) {
        if (!isThere) throw nobody;
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
        isThere = false;
      }
      expect(answer.signal.aborted).toBe(false);
      isThere = true;
      await answer.end();
      expect(shown(channel.sent).at(-1)).toEqual(["update", "abc", true]);
    });
  });

  test.each([
    [
      "the channel finds nobody",
      (): never => {
        throw nobody;
      },
    ],
    [
      "the channel keeps it for later",
      (_: string, id: string) => ({ id, status: "buffered" as const }),
    ],
  ])("is cancelled on request when %s", async (_, send) => {
    await streaming(
      growing({ send }),
      async ({ answer }) => {
        answer.write("a");
        await turn();
        expect(answer.signal.aborted).toBe(true);
      },
      { cancelWhenAlone: true },
    );
  });

  test("is cancelled on request as soon as the channel says that the session is left", async () => {
    const channel = growing();
    await streaming(
      channel,
      async ({ answer, channels: all }) => {
        const kept = all.stream(to);
        const other = all.stream({ ...to, session: "t" }, { cancelWhenAlone: true });
        channel.inlet().sessionIdle("s");
        expect([answer, kept, other].map(({ signal }) => signal.aborted)).toEqual([
          true,
          false,
          false,
        ]);
      },
      { cancelWhenAlone: true },
    );
  });
});

test("is ended for those who saw its beginning, though they are found gone while they are told of it", async () => {
  const channel: Toy = growing({
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

test("a text the channel refuses aborts the stream, leaves what was shown, and the end says why", async () => {
  const tooLarge = channelsErrors.unsupported("toy", "take such long");
  const channel: Toy = growing({
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
