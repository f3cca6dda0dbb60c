// Tests questions of the application: asked once, answered once.
import { describe, expect, test } from "vitest";
import { DoorwardError, type Plugin } from "../../../kernel/index.ts";
import { withKernel } from "../../../kernel/testing.ts";
import {
  application,
  channels,
  type Application,
  type Channels,
  type InboundMessage,
  type Message,
  type OpenQuestion,
  type OutboundMessage,
  type QuestionInput,
  type QuestionResult,
} from "../../../plugins/channels/index.ts";
import type { Conversations } from "../../../plugins/conversations/index.ts";
import { gate, createSampleChannel, type SampleChannel } from "../../support/sample-channel.ts";

type Visit = Parameters<Parameters<typeof withKernel>[1]>[0];
interface Fixture {
  readonly channel: SampleChannel;
  readonly calls: Channels;
  readonly clock: Visit["clock"];
  readonly store: { isAway: boolean; held: Promise<void> | undefined; losesReply?: boolean };
}

const turn = (): Promise<void> => new Promise(setImmediate);
/** Delivers a message that the end of the test may reject. */
const deliver = ({ inlet }: SampleChannel, message: InboundMessage): void =>
  void inlet()
    .deliver(message)
    .catch(() => undefined);

/** Runs an application behind a channel that stores each update, or refuses to. */
async function asking(
  handler: Application,
  visit: (fixture: Fixture) => Promise<void>,
): Promise<void> {
  const store: Fixture["store"] = { isAway: false, held: undefined };
  const channel: SampleChannel = createSampleChannel({
    keeps: false,
    async update(session, id, message) {
      await store.held;
      if (store.isAway) throw new DoorwardError("store_unavailable", "away");
      channel.sent.push({ what: "update", session, id, message });
      if (store.losesReply) throw new DoorwardError("store_unavailable", "away");
      return { id, status: "written" };
    },
    remove(session, id) {
      channel.sent.push({ what: "remove", session, id });
      return { id, status: "written" };
    },
  });
  const conversations = {
    taken: { known: async () => [], settle: async () => undefined },
    find: () => Promise.resolve({ id: "c" }),
    read: () =>
      Promise.resolve({ items: channel.sent.map(({ id, message }) => ({ id, ...message })) }),
  } as unknown as Conversations;
  const history: Plugin<{ offers: { conversations: Conversations } }> = {
    name: "conversations",
    api: 1,
    start: () => ({ conversations }),
  };
  await withKernel(
    [history, channels(), channel.plugin, application(handler)],
    async ({ kernel, clock }) => {
      await visit({ channel, calls: kernel.services.channels, clock, store });
    },
  );
}

const approval = {
  kind: "approval",
  content: "Delete 3 files?",
  title: "rm -r build",
  options: [
    { id: "once", label: "Allow once", effect: "allow" },
    { id: "no", label: "Deny", effect: "deny" },
  ],
} as const satisfies QuestionInput;

const to = { channel: "sample", session: "s" };
const ann = { id: "owner", name: "Ann" };

describe("Questions", () => {
  test("names the channel whose adapter passes an answer", async () => {
    const results: QuestionResult[] = [];
    await asking(
      async ({ ask }) => void results.push(await ask(approval)),
      async ({ channel, calls }) => {
        deliver(channel, channel.message({ id: "m" }));
        await turn();
        const { id } = calls.questions()[0]!;
        await channel.inlet().answer(to.session, id, { option: "no" }, ann);
        await turn();
        expect(results).toMatchObject([{ effect: "deny", via: "sample" }]);
      },
    );
  });

  test("gives the application the answer after it was stored", async () => {
    const results: QuestionResult[] = [];
    await asking(
      async ({ ask }) => void results.push(await ask(approval)),
      async ({ channel, calls }) => {
        deliver(channel, channel.message({ id: "m" }));
        await turn();
        const [open] = calls.questions();
        expect(open).toMatchObject({ ...to, content: "Delete 3 files?", inReplyTo: "m" });
        const answered = calls.answer(to, open!.id, { option: "once" }, ann, "dashboard");
        expect(results).toEqual([]);
        await expect(answered).resolves.toMatchObject({ status: "settled" });
        expect(channel.sent.map(({ what }) => what)).toEqual(["send", "update"]);
        expect(channel.sent[1]!.message).toMatchObject({
          content: "Delete 3 files?\n\nAllowed (“Allow once”) by Ann, in the dashboard.",
          final: true,
          inReplyTo: "m",
          question: { state: "settled", settled: { outcome: "answered", option: "once" } },
        });
        await turn();
        expect(results).toMatchObject([{ outcome: "answered", option: "once", effect: "allow" }]);
        expect(calls.questions()).toEqual([]);
      },
    );
  });

  test("repairs half characters in the texts of a form", async () => {
    const results: QuestionResult[] = [];
    const properties = { name: { type: "string" } } as const;
    await asking(
      async ({ ask }) =>
        void results.push(
          await ask({ kind: "form", content: "Name?", schema: { type: "object", properties } }),
        ),
      async ({ channel, calls }) => {
        deliver(channel, channel.message({ id: "m" }));
        await turn();
        const [open] = calls.questions();
        const answer = { values: { name: "a\ud800" } };
        await calls.answer(to, open!.id, answer, ann, "dashboard");
        await turn();
        expect(results).toMatchObject([{ outcome: "answered", values: { name: "a\ufffd" } }]);
      },
    );
  });

  test("settles once when several people answer in the same step", async () => {
    await asking(
      async ({ ask }) => void (await ask(approval)),
      async ({ channel, calls }) => {
        deliver(channel, channel.message());
        await turn();
        const { id } = calls.questions()[0]!;
        const given = ["once", "no", "once"].map((option) =>
          calls.answer(to, id, { option }, ann, "pico"),
        );
        const statuses = (await Promise.all(given)).map(({ status }) => status);
        expect(statuses).toEqual(["settled", "already", "already"]);
        expect(channel.sent.filter(({ what }) => what === "update")).toHaveLength(1);
        await expect(calls.answer(to, id, { option: "no" }, ann, "cli")).resolves.toMatchObject({
          status: "already",
          settled: { option: "once" },
        });
      },
    );
  });

  test("stays open after an invalid answer and after a failed store", async () => {
    await asking(
      async ({ ask }) => void (await ask(approval)),
      async ({ channel, calls, store }) => {
        deliver(channel, channel.message());
        await turn();
        const { id } = calls.questions()[0]!;
        await expect(calls.answer(to, id, { option: "yes" }, ann, "pico")).resolves.toEqual({
          status: "invalid",
          problem: '"option": expected the id of an option',
        });
        store.isAway = true;
        await expect(calls.answer(to, id, { option: "no" }, ann, "pico")).rejects.toMatchObject({
          code: "store_unavailable",
        });
        store.isAway = false;
        await expect(calls.answer(to, id, { option: "no" }, ann, "pico")).resolves.toMatchObject({
          status: "settled",
        });
        await expect(calls.answer(to, "other", {}, ann, "pico")).resolves.toEqual({
          status: "unknown",
        });
      },
    );
  });

  test("aborts the signal of a stopped run with its question", async () => {
    const order: string[] = [];
    await asking(
      async ({ ask, signal }) => {
        signal.addEventListener("abort", () => order.push("abort"));
        // A bridge passes the signal on.
        order.push((await ask({ ...approval, signal })).outcome);
      },
      async ({ channel }) => {
        deliver(channel, channel.message({ id: "m" }));
        await turn();
        void channel.inlet().stop("s", "m", ann);
        await turn();
        await turn();
        expect(order).toEqual(["abort", "stopped"]);
        expect(channel.sent[1]!.message!.content).toBe(
          "Delete 3 files?\n\nStopped by Ann before this was answered.",
        );
      },
    );
  });

  test("expires, and refuses a later answer", async () => {
    const results: QuestionResult[] = [];
    await asking(
      async ({ ask }) => void results.push(await ask({ ...approval, timeoutMs: 1_000 })),
      async ({ channel, calls, clock }) => {
        deliver(channel, channel.message());
        await turn();
        const { id, question } = calls.questions()[0]!;
        expect(question.expiresAt).toBe(clock.now() + 1_000);
        clock.increment(1_000);
        await turn();
        expect(results).toMatchObject([{ outcome: "expired", via: "host" }]);
        await expect(calls.answer(to, id, { option: "once" }, ann, "pico")).resolves.toMatchObject({
          status: "already",
        });
      },
    );
  });

  test("refuses an answer after the time of day has passed its end", async () => {
    await asking(
      async ({ ask }) => void (await ask({ ...approval, timeoutMs: 1_000 })),
      async ({ channel, calls, clock }) => {
        deliver(channel, channel.message());
        await turn();
        const { id } = calls.questions()[0]!;
        const now = clock.now();
        clock.now = () => now + 5_000;
        const answered = calls.answer(to, id, { option: "once" }, ann, "pico");
        await expect(answered).resolves.toMatchObject({ status: "invalid" });
        expect(calls.questions()).toHaveLength(1);
      },
    );
  });

  test("expires by running time, and refuses answers after a suspension", async () => {
    const results: QuestionResult[] = [];
    await asking(
      async ({ ask }) => void results.push(await ask({ ...approval, timeoutMs: 1_000 })),
      async ({ channel, calls, clock }) => {
        deliver(channel, channel.message());
        await turn();
        const { id } = calls.questions()[0]!;
        clock.increment(60_000);
        await turn();
        const { now } = clock;
        clock.monotonic = now.bind(clock);
        clock.now = () => -5_000;
        const answered = calls.answer(to, id, { option: "once" }, ann, "pico");
        await expect(answered).resolves.toMatchObject({ status: "invalid" });
        expect(calls.questions()).toHaveLength(1);
        clock.now = now;
        clock.increment(1_000);
        await turn();
        expect(results).toMatchObject([{ outcome: "expired" }]);
      },
    );
  });

  test("withdraws the questions of an application that returns", async () => {
    await asking(
      ({ ask }) => void ask(approval),
      async ({ channel }) => {
        await channel.inlet().deliver(channel.message());
        await turn();
        expect(channel.sent.at(-1)!.message).toMatchObject({
          question: { settled: { outcome: "withdrawn" } },
        });
      },
    );
  });

  test("withdraws a question whose signal aborts or whose message is removed", async () => {
    const controller = new AbortController();
    const outcomes: string[] = [];
    await asking(
      () => undefined,
      async ({ calls, channel }) => {
        const { signal } = controller;
        void calls.ask(to, { ...approval, signal }).then(({ outcome }) => outcomes.push(outcome));
        void calls.ask(to, approval).then(({ outcome }) => outcomes.push(outcome));
        await turn();
        const second = calls.questions()[1]!.id;
        controller.abort();
        await calls.remove(to, second);
        await turn();
        expect(outcomes).toEqual(["withdrawn", "withdrawn"]);
        expect(channel.sent.at(-1)).toMatchObject({ what: "remove", id: second });
      },
    );
  });

  test("limits the open questions of a session", async () => {
    await asking(
      () => undefined,
      async ({ calls }) => {
        for (let count = 0; count < 16; count += 1) void calls.ask(to, approval);
        await expect(calls.ask(to, approval)).rejects.toMatchObject({ code: "too_many_questions" });
        const elsewhere = calls.ask({ ...to, session: "t" }, { ...approval, timeoutMs: 1 });
        expect(calls.questions({ session: "t" })).toHaveLength(1);
        void elsewhere;
        expect(calls.questionCounts().open).toBe(17);
      },
    );
  });

  test("loses open questions when the kernel stops", async () => {
    const outcomes: string[] = [];
    let sent: SampleChannel["sent"] = [];
    await asking(
      async ({ ask }) => void outcomes.push((await ask(approval)).outcome),
      async ({ channel }) => {
        deliver(channel, channel.message());
        await turn();
        sent = channel.sent;
      },
    );
    expect(outcomes).toEqual(["lost"]);
    expect(sent.at(-1)!.message!.content).toContain("Ask again.");
  });

  test("delivers the answer to a durable question as a message", async () => {
    const received: Message[] = [];
    await asking(
      async (message) => {
        received.push(message);
        if (!message.answer) await message.ask({ ...approval, durable: "plan-7" });
      },
      async ({ channel, calls }) => {
        await channel.inlet().deliver(channel.message({ id: "m" }));
        const [{ id }] = calls.questions() as readonly [OpenQuestion];
        await calls.answer(to, id, { option: "no", text: "not now" }, ann, "pico");
        await turn();
        await turn();
        expect(received[1]).toMatchObject({
          id: `answer:${id}`,
          content: "Delete 3 files?\n\nDenied (“Deny”) by Ann: “not now”.",
          sender: ann,
          answer: {
            key: "plan-7",
            messageId: id,
            outcome: "answered",
            option: "no",
            effect: "deny",
            text: "not now",
          },
        });
      },
    );
  });

  test("rejects a message of a client under the id of an answer", async () => {
    await asking(
      () => undefined,
      async ({ channel }) => {
        const message = channel.message({ id: `answer:${"0".repeat(32)}` });
        await expect(channel.inlet().deliver(message)).rejects.toMatchObject({ code: "id_reused" });
      },
    );
  });

  test("ends as stopped whatever the application does after that", async () => {
    for (const asks of [1, 2])
      await asking(
        async ({ ask, reply, end, signal }) => {
          await Promise.all(Array.from({ length: asks }, () => ask(approval)));
          expect(signal.aborted).toBe(true);
          await reply({ content: "shown" }).catch(() => end({ finishReason: "stop" }));
        },
        async ({ channel, calls }) => {
          calls.recordTimes();
          const delivered = channel.inlet().deliver(channel.message({ id: "m" }));
          await turn();
          void channel.inlet().stop("s", "m", ann);
          expect(await delivered).toBe("accepted");
          await expect.poll(() => calls.times()[0]?.outcome).toBe("stopped");
          expect(channel.sent.filter(({ message }) => !message?.question)).toEqual([]);
        },
      );
  });

  test("accepts the message that asks, and keeps the next one", async () => {
    const received: string[] = [];
    await asking(
      async ({ id, ask }) => {
        received.push(id);
        if (id === "m1") await ask(approval);
      },
      async ({ channel, calls }) => {
        const first = channel.inlet().deliver(channel.message({ id: "m1" }), { dedupe: true });
        const second = channel.inlet().deliver(channel.message({ id: "m2" }), { dedupe: true });
        expect(await first).toBe("accepted");
        await turn();
        expect(received).toEqual(["m1"]);
        const again = channel.inlet().deliver(channel.message({ id: "m1" }), { dedupe: true });
        expect(await again).toBe("duplicate");
        await calls.answer(to, calls.questions()[0]!.id, { option: "no" }, ann, "dashboard");
        expect(await second).toBe("accepted");
        expect(received).toEqual(["m1", "m2"]);
      },
    );
  });

  test("lets the next message in when the asking one is accepted", async () => {
    const received: string[] = [];
    await asking(
      async ({ id, ask, accept }) => {
        received.push(id);
        if (id === "m2") return;
        const asked = ask(approval);
        accept();
        await asked;
      },
      async ({ channel, calls }) => {
        void channel.inlet().deliver(channel.message({ id: "m1" }));
        await channel.inlet().deliver(channel.message({ id: "m2" }));
        expect(received).toEqual(["m1", "m2"]);
        expect(calls.questions()).toHaveLength(1);
      },
    );
  });

  test("accepts no message whose question is invalid", async () => {
    await asking(
      async ({ ask }) => void (await ask({ ...approval, title: 7 } as never)),
      async ({ channel }) => {
        await expect(channel.inlet().deliver(channel.message({ id: "m" }))).rejects.toThrow(
          "title",
        );
      },
    );
  });

  test("settles a stopped question later if the store is away", async () => {
    const outcomes: string[] = [];
    const aborted = gate();
    await asking(
      async ({ ask, signal }) => {
        signal.addEventListener("abort", aborted.open);
        outcomes.push((await ask(approval)).outcome);
      },
      async ({ channel, clock, store, calls }) => {
        deliver(channel, channel.message({ id: "m" }));
        await turn();
        const { id } = calls.questions()[0]!;
        store.isAway = true;
        void channel.inlet().stop("s", "m", ann);
        await aborted.opened;
        expect(outcomes).toEqual([]);
        await expect(calls.answer(to, id, { option: "once" }, ann, "pico")).rejects.toThrow();
        store.isAway = false;
        clock.increment(1_000);
        await turn();
        expect(outcomes).toEqual(["stopped"]);
      },
    );
  });
});

describe("a settlement that was stored, and whose reply was lost", () => {
  const losing = (visit: (at: Fixture & { id: string; outcomes: string[] }) => Promise<void>) => {
    const outcomes: string[] = [];
    return asking(
      async ({ ask }) => {
        const { outcome, option } = await ask(approval);
        outcomes.push(`${outcome} ${option ?? ""}`);
      },
      async (fixture) => {
        const { channel, calls, store } = fixture;
        deliver(channel, channel.message({ id: "m" }));
        await turn();
        const { id } = calls.questions()[0]!;
        store.losesReply = true;
        await expect(calls.answer(to, id, { option: "no" }, ann, "pico")).rejects.toThrow();
        store.losesReply = false;
        await visit({ ...fixture, id, outcomes });
        expect(outcomes).toEqual(["answered no"]);
        expect(channel.sent.filter(({ what }) => what === "update")).toHaveLength(1);
      },
    );
  };

  test("counts when a second answer arrives", async () => {
    await losing(async ({ calls, id }) => {
      const second = await calls.answer(to, id, { option: "once" }, ann, "pico");
      expect(second).toMatchObject({ status: "already", settled: { option: "no" } });
      await turn();
    });
  });

  test("settles the question without a second answer", async () => {
    await losing(async ({ calls, clock }) => {
      clock.increment(1_000);
      await turn();
      await turn();
      expect(calls.questions()).toEqual([]);
    });
  });

  test("counts when the answer is stopped", async () => {
    await losing(async ({ channel }) => {
      await channel.inlet().stop("s", "m", ann);
      await turn();
      await turn();
    });
  });
});

describe("the form of a question", () => {
  const reject = async (question: object, code: string, text: string): Promise<void> =>
    asking(
      () => undefined,
      async ({ calls }) => {
        const asked = calls.ask(to, { ...approval, ...question } as QuestionInput);
        await expect(asked).rejects.toMatchObject({ code, message: expect.stringContaining(text) });
      },
    );

  test("names the field that is wrong", async () => {
    await reject({ content: "" }, "invalid_question", '"content"');
    await reject({ kind: "other" }, "invalid_question", '"kind"');
    await reject({ options: [{ id: "a", label: "" }] }, "invalid_question", '"options.0.label"');
    await reject({ timeoutMs: 8 * 86_400_000 }, "invalid_question", '"timeoutMs"');
    await reject({ kind: "link", url: "javascript:1" }, "invalid_question", '"url"');
    await reject({ kind: "form", options: undefined }, "invalid_question", '"schema"');
  });

  test("refuses secrets and schemas that clients do not know", async () => {
    const form = (properties: object) => ({
      kind: "form",
      options: undefined,
      schema: { type: "object", properties },
    });
    await reject(form({ apiKey: { type: "string" } }), "unsupported_question", "secret");
    await reject(
      form({ a: { type: "string", format: "password" } }),
      "unsupported_question",
      '"schema.properties.a.format"',
    );
    await reject(form({ a: { type: "object" } }), "unsupported_question", '"schema.properties.a');
    await reject(form({}), "unsupported_question", "1 to 20");
  });

  test("gives an approval a way to say no", async () => {
    const messages: OutboundMessage[] = [];
    await asking(
      () => undefined,
      async ({ calls, channel }) => {
        void calls.ask(to, { kind: "approval", content: "Go on?" });
        await turn();
        messages.push(channel.sent[0]!.message!);
      },
    );
    expect(messages[0]!.question!.options).toEqual([
      { id: "allow", label: "Allow", effect: "allow" },
      { id: "deny", label: "Deny", effect: "deny" },
    ]);
  });
});

test("describes settled questions in events without content", async () => {
  const channel = createSampleChannel({ update: (_, id) => ({ id, status: "written" }) });
  const seen: object[] = [];
  await withKernel([channels(), channel.plugin], async ({ kernel, clock }) => {
    kernel.on("channels:question-asked", (event) => void seen.push(event));
    kernel.on("channels:question-settled", (event) => void seen.push(event));
    const calls = kernel.services.channels;
    void calls.ask(to, approval);
    await turn();
    const { id } = calls.questions()[0]!;
    clock.increment(5_000);
    await calls.answer(to, id, { option: "no" }, ann, "cli");
    expect(seen).toEqual([
      { ...to, id, kind: "approval" },
      { ...to, id, outcome: "answered", via: "cli", by: "owner", ms: 5_000 },
    ]);
    expect(calls.questionCounts()).toMatchObject({
      open: 0,
      settled: [{ outcome: "answered", via: "cli", count: 1 }],
      waits: { count: 1, sum: 5 },
    });
  });
});
