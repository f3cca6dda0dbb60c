// Tests the end of answers, and stopping them.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { withKernel } from "../../../kernel/testing.ts";
import {
  application,
  channels,
  type AnswerEnd,
  type Application,
  type ApplicationOptions,
  type ChannelAdapter,
  type Message,
  type StopStatus,
} from "../../../plugins/channels/index.ts";
import { gate, createSampleChannel, type SampleChannel } from "../../support/sample-channel.ts";
import { runFor } from "../../support/timers.ts";

interface Ended {
  readonly id: string;
  readonly end: AnswerEnd;
}
type Visit = Parameters<Parameters<typeof withKernel>[1]>[0];

/** Runs an application behind a channel that can update messages and reports the ends of answers. */
async function answering(
  handler: Application,
  visit: (fixture: {
    channel: SampleChannel;
    ended: Ended[];
    clock: Visit["clock"];
  }) => Promise<void>,
  options: ApplicationOptions = {},
  adapter: Partial<ChannelAdapter> = {},
): Promise<void> {
  const ended: Ended[] = [];
  const channel: SampleChannel = createSampleChannel({
    update(session, id, message) {
      channel.sent.push({ what: "update", session, id, message });
      return { id, status: "written" };
    },
    ended: (_, id, end) => void ended.push({ id, end }),
    ...adapter,
  });
  await withKernel(
    [channels(), channel.plugin, application(handler, options)],
    async ({ clock }) => {
      await visit({ channel, ended, clock });
    },
  );
}

const turn = (): Promise<void> => new Promise(setImmediate);
async function stop(
  { inlet }: SampleChannel,
  id?: string,
): Promise<readonly [string, StopStatus][]> {
  const results = await inlet().stop("s", id);
  return results.map((result) => [result.id, result.status]);
}

describe("Run", () => {
  test("ends after the handler and its streams", async () => {
    const handler: Application = ({ stream, end }) => {
      const reply = stream();
      reply.write("one");
      end({ model: "m", suggestions: ["a", "b", "c", "d", "e"] });
      setImmediate(() => void reply.end({ usage: { input: 3 }, finishReason: "length" }));
    };
    await answering(handler, async ({ channel, ended }) => {
      await channel.inlet().deliver(channel.message({ id: "a" }));
      expect(ended).toEqual([]);
      await expect.poll(() => ended).toHaveLength(1);
      expect(ended[0]).toEqual({
        id: "a",
        end: {
          outcome: "completed",
          finishReason: "length",
          messages: 1,
          usage: { input: 3 },
          model: "m",
          suggestions: ["a", "b", "c", "d"],
        },
      });
    });
  });

  test.each([null, undefined, "More?"])("ends with %j instead of suggestions", async (given) => {
    const handler: Application = ({ end }) => end({ model: "m", suggestions: given } as never);
    await answering(handler, async ({ channel, ended }) => {
      await channel.inlet().deliver(channel.message({ id: "a" }));
      const suggestions = given === "More?" ? { suggestions: ["More?"] } : {};
      const end = { outcome: "completed", finishReason: "stop", messages: 0, model: "m" };
      expect(ended).toEqual([{ id: "a", end: { ...end, ...suggestions } }]);
    });
  });

  test("ends with the code of a failure", async () => {
    const failure = new Error("no");
    await answering(
      () => Promise.reject(failure),
      async ({ channel, ended }) => {
        await expect(channel.inlet().deliver(channel.message())).rejects.toBe(failure);
        expect(ended[0]!.end).toEqual({
          outcome: "failed",
          code: "internal",
          finishReason: "error",
          messages: 0,
        });
      },
    );
  });

  test("stops a message whose application names its end after a stopped question", async () => {
    const handler: Application = async ({ ask, end }) => {
      await ask({ kind: "approval", content: "Go on?" });
      end({ finishReason: "stop" });
    };
    await answering(handler, async ({ channel, ended }) => {
      const delivered = channel.inlet().deliver(channel.message({ id: "a" }));
      await turn();
      expect(await stop(channel)).toEqual([["a", "stopping"]]);
      expect(await delivered).toBe("accepted");
      await expect.poll(() => ended).toMatchObject([{ end: { outcome: "stopped" } }]);
    });
  });

  test("stops a message that the application has received", async () => {
    let signal: AbortSignal | undefined;
    const handler: Application = (message) => {
      ({ signal } = message);
      return new Promise((_, reject) =>
        signal!.addEventListener("abort", () => reject(signal!.reason as Error)),
      );
    };
    await answering(handler, async ({ channel, ended }) => {
      const outcome = channel.inlet().deliver(channel.message({ id: "a" }), { dedupe: true });
      expect(await stop(channel, "a")).toEqual([["a", "stopping"]]);
      expect(signal).toMatchObject({ aborted: true, reason: { code: "stopped" } });
      await expect(outcome).rejects.toMatchObject({ code: "stopped" });
      await turn();
      expect(ended).toEqual([
        { id: "a", end: { outcome: "stopped", finishReason: "stopped", messages: 0 } },
      ]);
      expect(await stop(channel, "a")).toEqual([["a", "over"]]);
      expect(await stop(channel, "b")).toEqual([["b", "unknown"]]);
      expect(await stop(channel)).toEqual([]);
      const again = channel.inlet().deliver(channel.message({ id: "a" }), { dedupe: true });
      await expect(again).rejects.toMatchObject({ code: "stopped" });
    });
  });

  test("removes a waiting message", async () => {
    const done = gate();
    const seen: string[] = [];
    const handler: Application = async ({ id }) => {
      seen.push(id);
      await done.opened;
    };
    await answering(handler, async ({ channel }) => {
      const first = channel.inlet().deliver(channel.message({ id: "a" }));
      const second = channel.inlet().deliver(channel.message({ id: "b" }));
      expect(await stop(channel, "b")).toEqual([["b", "removed"]]);
      await expect(second).rejects.toMatchObject({ code: "stopped" });
      done.open();
      await first;
      expect(seen).toEqual(["a"]);
    });
  });

  test("ends open streams with their text and drops what follows", async () => {
    let received: Message | undefined;
    let stream: ReturnType<Message["stream"]> | undefined;
    const done = gate();
    const handler: Application = async (message) => {
      received = message;
      message.accept();
      stream = message.stream();
      stream.write("so far");
      await done.opened;
    };
    await answering(handler, async ({ channel, ended }) => {
      await channel.inlet().deliver(channel.message());
      await stop(channel);
      await turn();
      stream!.write(" and more");
      await expect(received!.reply({ content: "late" })).rejects.toMatchObject({ code: "stopped" });
      const late = received!.stream();
      late.write("late");
      expect(late.signal.aborted).toBe(true);
      done.open();
      await expect.poll(() => ended).toHaveLength(1);
      expect(ended[0]!.end.outcome).toBe("stopped");
      expect(channel.sent.map(({ what, message }) => [what, message!.content])).toEqual([
        ["send", "so far"],
        ["update", "so far"],
      ]);
    });
  });

  test.each([
    ["stopped", "a complete text", {}],
    ["completed", "the reason of the end", { finishReason: "stop" as const }],
  ])("ends as %s by a stop after %s", async (outcome, _, reason) => {
    const done = gate();
    const handler: Application = async ({ accept, reply }) => {
      accept();
      await reply({ content: "all", ...reason });
      await done.opened;
    };
    await answering(handler, async ({ channel, ended }) => {
      await channel.inlet().deliver(channel.message({ id: "a" }));
      await turn();
      expect(await stop(channel)).toEqual([["a", "stopping"]]);
      done.open();
      await expect.poll(() => ended[0]?.end.outcome).toBe(outcome);
    });
  });

  test("stops after the complete text of a stream", async () => {
    const done = gate();
    const handler: Application = async ({ accept, stream }) => {
      accept();
      const reply = stream();
      reply.write("one");
      await reply.end();
      await done.opened;
    };
    await answering(handler, async ({ channel, ended }) => {
      await channel.inlet().deliver(channel.message({ id: "a" }));
      await expect.poll(() => channel.sent.at(-1)?.message).toMatchObject({ final: true });
      await turn();
      expect(await stop(channel)).toEqual([["a", "stopping"]]);
      done.open();
      await expect.poll(() => ended[0]?.end.outcome).toBe("stopped");
    });
  });

  test("frees the session of an application that ignores the stop", async () => {
    const seen: string[] = [];
    const handler: Application = ({ id }) => {
      seen.push(id);
      return id === "a" ? new Promise(() => undefined) : undefined;
    };
    await answering(
      handler,
      async ({ channel, ended, clock }) => {
        const first = channel.inlet().deliver(channel.message({ id: "a" }));
        const second = channel.inlet().deliver(channel.message({ id: "b" }));
        expect(await stop(channel, "a")).toEqual([["a", "stopping"]]);
        await expect(first).rejects.toMatchObject({ code: "stopped" });
        runFor(clock, 1_999);
        expect(seen).toEqual(["a"]);
        runFor(clock, 1);
        await second;
        expect(seen).toEqual(["a", "b"]);
        expect(ended.map(({ id, end }) => [id, end.outcome])).toEqual([
          ["b", "completed"],
          ["a", "stopped"],
        ]);
      },
      { stopGraceS: 2 },
    );
  });

  test("forgets a reply that is sent after the end of its answer", async () => {
    const sent = gate();
    const never = new Promise<void>(() => undefined);
    let sentTo: SampleChannel | undefined;
    const handler: Application = ({ content, reply }) => {
      if (content === "first") void reply({ content: "late", final: false }).catch(() => undefined);
      return never;
    };
    await answering(
      handler,
      async ({ channel, clock }) => {
        sentTo = channel;
        const deliver = (content: string): void =>
          void channel
            .inlet()
            .deliver(channel.message({ id: "a", content }))
            .catch(() => undefined);
        deliver("first");
        await turn();
        await stop(channel, "a");
        runFor(clock, 2_000);
        await turn();
        sent.open();
        await turn();
        deliver("second");
        await turn();
      },
      { stopGraceS: 2 },
      { send: (_, id) => sent.opened.then(() => ({ id, status: "written" })) },
    );
    // The stop of the kernel cuts the texts of messages in work.
    expect(sentTo!.sent.filter(({ what }) => what === "update")).toEqual([]);
  });

  test("aborts the signal of a message when the kernel stops", async () => {
    let signal: AbortSignal | undefined;
    const handler: Application = (message) => {
      ({ signal } = message);
      return new Promise(() => undefined);
    };
    await answering(handler, async ({ channel }) => {
      channel
        .inlet()
        .deliver(channel.message())
        .catch(() => undefined);
      await turn();
      expect(signal!.aborted).toBe(false);
    });
    expect(signal).toMatchObject({ aborted: true, reason: { code: "not_running" } });
  });

  test("accepts what a busy process reads after the grace of a stop", async () => {
    let settled: Promise<unknown> | undefined;
    const handler: Application = ({ signal }) =>
      new Promise((done) => {
        signal.addEventListener("abort", () =>
          setImmediate(() => {
            // Due in the same turn as the end of the grace, and after it.
            setTimeout(done, 251);
            Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
          }),
        );
      });
    await answering(handler, async ({ channel }) => {
      settled = channel.inlet().deliver(channel.message());
      settled.catch(() => undefined);
      await turn();
    });
    await settled;
  });

  test("settles each delivery and each answer once under random stops", () => {
    const step = fc.record({ id: fc.integer({ min: 0, max: 5 }), stop: fc.boolean() });
    return fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const handler: Application = async ({ signal, id, accept }) => {
          if (id.endsWith("0")) accept();
          await turn();
          if (!signal.aborted) await turn();
        };
        await answering(handler, async ({ channel, ended }) => {
          const settled: string[] = [];
          const deliveries = steps.map(async ({ id, stop: isStop }, index) => {
            if (isStop) return void stop(channel, `${index - 1}-${id}`);
            const own = `${index}-${id}`;
            await channel
              .inlet()
              .deliver(channel.message({ id: own }))
              .catch(() => undefined);
            settled.push(own);
          });
          await Promise.all(deliveries);
          await expect.poll(() => channel.inlet().isBusy()).toBe(false);
          expect(new Set(settled).size).toBe(settled.length);
          expect(new Set(ended.map(({ id }) => id)).size).toBe(ended.length);
        });
      }),
      { numRuns: 40 },
    );
  });
});

describe("AnswerStop", () => {
  test("ends the answers of a channel that was detached", async () => {
    const aborted: unknown[] = [];
    const handler: Application = ({ signal }) =>
      new Promise((done) =>
        signal.addEventListener("abort", () => {
          aborted.push(signal.reason);
          done();
        }),
      );
    await answering(handler, async ({ channel }) => {
      const delivery = channel.inlet().deliver(channel.message());
      delivery.catch(() => undefined);
      channel.inlet().close();
    });
    expect(aborted).toMatchObject([{ code: "not_running" }]);
  });
});

describe("ReplyStream", () => {
  test("asks the writer to pause while much text waits", async () => {
    const shown = gate();
    let isPending = true;
    let stream: ReturnType<Message["stream"]> | undefined;
    const channel: SampleChannel = createSampleChannel({
      async send(_, id) {
        await shown.opened;
        return { id, status: "written" };
      },
      update: (_, id) => ({ id, status: "written" }),
    });
    const handler: Application = (message) => void (stream = message.stream());
    await withKernel([channels(), channel.plugin, application(handler)], async ({ clock }) => {
      await channel.inlet().deliver(channel.message());
      expect(stream!.write("a")).toBe(true);
      expect(stream!.write("b".repeat(65_536))).toBe(false);
      const drained = stream!.drained().then(() => void (isPending = false));
      await turn();
      expect(isPending).toBe(true);
      shown.open();
      await turn();
      clock.increment(112);
      await drained;
      stream!.replace("c");
      await stream!.end();
    });
  });
});
