// Tests deliveries: order, outcome, duplicates and shutdown.
import { describe, expect, test } from "vitest";
import { createKernel } from "../../../kernel/index.ts";
import { withKernel } from "../../../kernel/testing.ts";
import { application, channels, type Application } from "../../../plugins/channels/index.ts";
import { gate, createSampleChannel } from "../../support/sample-channel.ts";

const code = (expected: string): unknown => expect.objectContaining({ code: expected });
const nothing: Application = () => {};

describe("ChannelHandle.deliver", () => {
  test("resolves when the application has processed the message", async () => {
    const { plugin, inlet, message } = createSampleChannel();
    const done = gate();
    let settled = false;
    await withKernel([channels(), plugin, application(() => done.opened)], async () => {
      const outcome = inlet()
        .deliver(message())
        .finally(() => void (settled = true));
      await new Promise(setImmediate);
      expect(settled).toBe(false);
      done.open();
      expect(await outcome).toBe("accepted");
    });
  });

  test("passes only the fields of a message", async () => {
    const { plugin, inlet, message } = createSampleChannel();
    const received: object[] = [];
    const echo: Application = (given) => void received.push(given);
    await withKernel([channels(), plugin, application(echo)], async () => {
      const more = { botToken: "secret", signal: "on", end: 1 };
      expect(await inlet().deliver({ ...message(), ...more })).toBe("accepted");
    });
    expect(received[0]).toMatchObject({ channel: "sample", signal: expect.any(AbortSignal) });
    expect(received[0]).not.toHaveProperty("botToken");
  });

  test.each<[string, Application, string]>([
    ["synchronous", nothing, "duplicate"],
    ["asynchronous", async () => {}, "duplicate"],
    ["rejecting", () => Promise.reject(new Error("no")), "no"],
  ])("continues when a channel callback throws (%s application)", async (_, handler, expected) => {
    const { plugin, inlet, message } = createSampleChannel();
    const received: string[] = [];
    const broken = (): never => {
      throw new Error("broken callback");
    };
    await withKernel(
      [
        channels(),
        plugin,
        application(async (...args) => {
          received.push(args[0].id);
          await handler(...args);
        }),
      ],
      async ({ lines }) => {
        for (let times = 0; times < 2; times++) {
          inlet().hand(
            message({ id: "a" }),
            { accepted: broken, rejected: broken },
            { dedupe: true },
          );
        }
        const again = inlet()
          .deliver(message({ id: "a" }), { dedupe: true })
          .catch(({ message: reason }: Error) => reason);
        const next = inlet()
          .deliver(message({ id: "b" }))
          .catch(() => undefined);
        expect(await again).toBe(expected);
        await next;
        expect(received).toEqual(["a", "b"]);
        expect(lines.filter(({ level }) => level === "error")).toHaveLength(1);
      },
    );
  });

  test("keeps session and channel busy until the application returns", async () => {
    const { plugin, inlet, message } = createSampleChannel();
    const done = gate();
    const handler: Application = async ({ accept }) => {
      accept();
      await done.opened;
    };
    await withKernel([channels(), plugin, application(handler)], async () => {
      expect(inlet().isBusy()).toBe(false);
      await inlet().deliver(message({ session: "a" }));
      expect([inlet().isBusy(), inlet().isBusy("a"), inlet().isBusy("b")]).toEqual([
        true,
        true,
        false,
      ]);
      done.open();
      await expect.poll(() => inlet().isBusy()).toBe(false);
      expect(inlet().isBusy("a")).toBe(false);
    });
  });

  test("rejects with the error of the application", async () => {
    const { plugin, inlet, message } = createSampleChannel();
    const thrown = new Error("no");
    await withKernel(
      [
        channels(),
        plugin,
        application(() => {
          throw thrown;
        }),
      ],
      async () => {
        await expect(inlet().deliver(message())).rejects.toBe(thrown);
      },
    );
  });

  test("delivers the next message of the session after accept()", async () => {
    const { plugin, inlet, message } = createSampleChannel();
    const done = gate();
    const seen: string[] = [];
    const handler: Application = async (received) => {
      seen.push(received.id);
      received.accept();
      received.accept();
      if (received.id === "first") await done.opened;
    };
    await withKernel([channels(), plugin, application(handler)], async () => {
      expect(await inlet().deliver(message({ id: "first" }))).toBe("accepted");
      expect(await inlet().deliver(message({ id: "second" }))).toBe("accepted");
      expect(seen).toEqual(["first", "second"]);
      expect(inlet().isBusy("s")).toBe(true);
      done.open();
      await expect.poll(() => inlet().isBusy("s")).toBe(false);
    });
  });

  test("keeps the order of a session until accept()", async () => {
    const { plugin, inlet, message } = createSampleChannel();
    const done = gate();
    const seen: string[] = [];
    const handler: Application = async ({ id, accept }) => {
      seen.push(id);
      if (id === "first") await done.opened;
      accept();
    };
    await withKernel([channels(), plugin, application(handler)], async () => {
      const first = inlet().deliver(message({ id: "first" }));
      const second = inlet().deliver(message({ id: "second" }));
      await new Promise(setImmediate);
      expect(seen).toEqual(["first"]);
      done.open();
      expect(await Promise.all([first, second])).toEqual(["accepted", "accepted"]);
      expect(seen).toEqual(["first", "second"]);
    });
  });

  test("logs a failure after acceptance without the content", async () => {
    const { plugin, inlet, message } = createSampleChannel();
    const handler: Application = (received) => {
      received.accept();
      throw new Error("late");
    };
    await withKernel([channels(), plugin, application(handler)], async ({ lines }) => {
      expect(await inlet().deliver(message({ content: "the content" }))).toBe("accepted");
      await new Promise(setImmediate);
      const line = lines.find(({ level }) => level === "error");
      expect(line).toMatchObject({ plugin: "channels", code: "internal", session: "s" });
      expect(JSON.stringify(line)).not.toContain("the content");
    });
  });

  test("delivers to other sessions while one session waits", async () => {
    const { plugin, inlet, message } = createSampleChannel();
    const done = gate();
    const handler: Application = ({ session }) => (session === "slow" ? done.opened : undefined);
    await withKernel([channels(), plugin, application(handler)], async () => {
      const slow = inlet().deliver(message({ session: "slow" }));
      expect(await inlet().deliver(message({ session: "fast" }))).toBe("accepted");
      done.open();
      await slow;
    });
  });

  test("runs up to perSession messages of one session in parallel", async () => {
    const { plugin, inlet, message } = createSampleChannel();
    const done = gate();
    let running = 0;
    const handler: Application = () => {
      running += 1;
      return done.opened;
    };
    await withKernel([channels(), plugin, application(handler, { perSession: 2 })], async () => {
      const all = [1, 2, 3].map(() => inlet().deliver(message()));
      await new Promise(setImmediate);
      expect(running).toBe(2);
      done.open();
      await Promise.all(all);
      expect(running).toBe(3);
    });
  });

  test("warns once if no application registers after the start", async () => {
    const { plugin, inlet, message } = createSampleChannel();
    await withKernel([channels(), plugin], async ({ clock, lines }) => {
      const warnings = () => lines.filter(({ text }) => /^No application receives/.test(text));
      clock.increment(999);
      expect(warnings()).toEqual([]);
      clock.increment(1);
      expect(warnings()).toHaveLength(1);
      await expect(inlet().deliver(message())).rejects.toEqual(code("no_application"));
      expect(warnings()).toHaveLength(1);
    });
  });

  test("warns of no missing application if a host registers one", async () => {
    const { plugin } = createSampleChannel();
    await withKernel([channels(), plugin], ({ kernel, clock, lines }) => {
      kernel.services.channels.handle(() => {});
      clock.increment(10_000);
      expect(lines).toEqual([]);
    });
  });

  test("rejects without an application and emits no event", async () => {
    const { plugin, inlet, message } = createSampleChannel();
    await withKernel([channels(), plugin], async ({ kernel, lines }) => {
      const events: unknown[] = [];
      kernel.on("channels:message-received", (event) => void events.push(event));
      for (let sent = 0; sent < 2; sent += 1)
        await expect(inlet().deliver(message())).rejects.toEqual(code("no_application"));
      expect(events).toEqual([]);
      const warnings = lines.filter(({ level }) => level === "warn").map(({ text }) => text);
      expect(warnings).toEqual([expect.stringContaining("add application() or echo()")]);
    });
  });

  test("rejects messages that crossed more than four bridges", async () => {
    const { plugin, inlet, message } = createSampleChannel();
    await withKernel([channels(), plugin, application(nothing)], async () => {
      expect(await inlet().deliver(message({ hops: 4 }))).toBe("accepted");
      await expect(inlet().deliver(message({ hops: 5 }))).rejects.toEqual(code("loop"));
    });
  });

  test("rejects before ready, after close and after stop", async () => {
    const { plugin, inlet, message } = createSampleChannel();
    let early: Promise<unknown> | undefined;
    const eager = {
      ...plugin,
      start: (scope: Parameters<typeof plugin.start>[0]) => {
        void plugin.start(scope);
        early = expect(inlet().deliver(message())).rejects.toEqual(code("not_running"));
      },
    };
    await withKernel([channels(), eager, application(nothing)], async () => {
      await early;
      inlet().close();
      await expect(inlet().deliver(message())).rejects.toEqual(code("not_running"));
    });
    await expect(inlet().deliver(message())).rejects.toEqual(code("not_running"));
  });

  test("rejects pending deliveries at stop and aborts the signal", async () => {
    const { plugin, inlet, message } = createSampleChannel();
    let signal: AbortSignal | undefined;
    const handler: Application = (_, aborted) => {
      signal = aborted;
      return new Promise(() => {});
    };
    const kernel = createKernel([channels(), plugin, application(handler)]);
    await kernel.start();
    const running = expect(inlet().deliver(message())).rejects.toEqual(code("not_running"));
    const waiting = expect(inlet().deliver(message())).rejects.toEqual(code("not_running"));
    expect(signal?.aborted).toBe(false);
    await kernel.stop();
    await Promise.all([running, waiting]);
    expect(signal?.aborted).toBe(true);
  });

  test("emits an event with the size and without the content", async () => {
    const { plugin, inlet, message } = createSampleChannel();
    await withKernel([channels(), plugin, application(nothing)], async ({ kernel }) => {
      const events: unknown[] = [];
      kernel.on("channels:message-received", (event) => void events.push(event));
      const media = [{ type: "image/png", bytes: new Uint8Array(7) }];
      await inlet().deliver(message({ id: "a", content: "ä", media, at: 5 }));
      expect(events).toEqual([{ channel: "sample", session: "s", id: "a", bytes: 9, at: 5 }]);
    });
  });
});

describe("ChannelHandle.deliver with dedupe", () => {
  test("reports duplicates and rejects a reused id", async () => {
    const { plugin, inlet, message } = createSampleChannel();
    let count = 0;
    await withKernel(
      [channels(), plugin, application(() => void (count += 1))],
      async ({ kernel, clock }) => {
        const events: unknown[] = [];
        kernel.on("channels:message-received", (event) => void events.push(event));
        const dedupe = { dedupe: true };
        expect(await inlet().deliver(message({ id: "a" }), dedupe)).toBe("accepted");
        expect(await inlet().deliver(message({ id: "a", at: 9 }), dedupe)).toBe("duplicate");
        await expect(
          inlet().deliver(message({ id: "a", content: "other" }), dedupe),
        ).rejects.toEqual(code("id_reused"));
        expect(await inlet().deliver(message({ id: "a", session: "t" }), dedupe)).toBe("accepted");
        expect([count, events.length]).toEqual([2, 2]);
        clock.increment(600_000);
        expect(await inlet().deliver(message({ id: "a", content: "other" }), dedupe)).toBe(
          "accepted",
        );
      },
    );
  });

  test("shares a pending outcome and accepts the message after a failure", async () => {
    const { plugin, inlet, message } = createSampleChannel();
    const thrown = new Error("no");
    const fail = gate();
    let count = 0;
    const handler: Application = async () => {
      count += 1;
      if (count > 1) return;
      await fail.opened;
      throw thrown;
    };
    await withKernel([channels(), plugin, application(handler)], async () => {
      const both = [0, 1].map(() => inlet().deliver(message({ id: "a" }), { dedupe: true }));
      const outcomes = Promise.allSettled(both);
      fail.open();
      expect(await outcomes).toEqual([0, 1].map(() => ({ status: "rejected", reason: thrown })));
      expect(await inlet().deliver(message({ id: "a" }), { dedupe: true })).toBe("accepted");
      expect(count).toBe(2);
    });
  });

  test("remembers between 1,024 and 2,048 ids of a session", async () => {
    const { plugin, inlet, message } = createSampleChannel();
    await withKernel([channels(), plugin, application(nothing)], async () => {
      const deliver = (id: string): Promise<string> =>
        inlet().deliver(message({ id }), { dedupe: true });
      for (let n = 0; n <= 2_048; n += 1) await deliver(`${n}`);
      expect(await deliver("2048")).toBe("duplicate");
      expect(await deliver("1025")).toBe("duplicate");
      expect(await deliver("0")).toBe("accepted");
    });
  });
});
