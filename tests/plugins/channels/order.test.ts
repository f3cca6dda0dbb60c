// Tests when the next message of a session follows.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { withKernel } from "../../../kernel/testing.ts";
import { application, channels, type ApplicationOptions } from "../../../plugins/channels/index.ts";
import { startProgram } from "../../support/program-harness.ts";
import { createSampleChannel, gate } from "../../support/sample-channel.ts";
import { runFor } from "../../support/timers.ts";

const turn = (): Promise<void> => new Promise(setImmediate);

/** Runs an application that accepts each message immediately, and ends when the test says so. */
async function running(
  options: ApplicationOptions,
  visit: (fixture: {
    begun: string[];
    gates: Map<string, ReturnType<typeof gate>>;
    channel: ReturnType<typeof createSampleChannel>;
    clock: { increment(ms: number): void };
  }) => Promise<void>,
): Promise<void> {
  const begun: string[] = [];
  const gates = new Map<string, ReturnType<typeof gate>>();
  const channel = createSampleChannel();
  const handler = application((message) => {
    begun.push(message.id);
    message.accept();
    const held = gate();
    gates.set(message.id, held);
    return held.opened;
  }, options);
  await withKernel([channels(), channel.plugin, handler], async ({ clock }) => {
    await visit({ begun, gates, channel, clock });
    for (const held of gates.values()) held.open();
    await turn();
    for (const held of gates.values()) held.open();
  });
}

describe("ApplicationOptions.order", () => {
  test.each([
    [undefined, ["a", "b"]],
    ["accepted", ["a", "b"]],
    ["ended", ["a"]],
  ] as const)("passes the next message when %s", async (order, expected) => {
    await running({ ...(order && { order }) }, async ({ begun, gates, channel }) => {
      const deliver = (id: string) => channel.inlet().deliver(channel.message({ id }));
      expect(await deliver("a")).toBe("accepted");
      const second = deliver("b");
      await turn();
      expect(begun).toEqual(expected);
      gates.get("a")!.open();
      expect(await second).toBe("accepted");
      expect(begun).toEqual(["a", "b"]);
    });
  });

  test("waits for the end of a stopped answer, or its grace period", async () => {
    const options = { order: "ended", stopGraceS: 5 } as const;
    await running(options, async ({ begun, gates, channel, clock }) => {
      const deliver = (id: string) => channel.inlet().deliver(channel.message({ id }));
      await deliver("a");
      const waiting = [deliver("b"), deliver("c")];
      await channel.inlet().stop("s", "a");
      await turn();
      expect(begun).toEqual(["a"]);
      gates.get("a")!.open();
      await waiting[0];
      await channel.inlet().stop("s", "b");
      expect(begun).toEqual(["a", "b"]);
      runFor(clock, 5_001);
      await waiting[1];
      expect(begun).toEqual(["a", "b", "c"]);
    });
  });

  test("keeps one answer at a time, in order, for each session", async () => {
    const steps = fc.array(fc.tuple(fc.constantFrom("s", "t"), fc.boolean()), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(steps, async (given) => {
        await running({ order: "ended" }, async ({ begun, gates, channel }) => {
          const sent: Record<string, string[]> = { s: [], t: [] };
          const open: Record<string, number> = { s: 0, t: 0 };
          for (const [session, ends] of given) {
            const next = sent[session]![open[session]!];
            if (ends && next !== undefined) {
              gates.get(next)!.open();
              open[session]! += 1;
            } else {
              const id = `${session}${sent[session]!.length}`;
              sent[session]!.push(id);
              channel
                .inlet()
                .deliver(channel.message({ session, id }))
                .catch(() => undefined);
            }
            await turn();
            for (const name of ["s", "t"])
              expect(begun.filter((id) => id.startsWith(name))).toEqual(
                sent[name]!.slice(0, open[name]! + 1),
              );
          }
        });
      }),
      { numRuns: 50 },
    );
  });
});

describe("order of a program", () => {
  const script = (order: string): string => `
    say({ type: "ready", payload: { can: ["stop", "parts"], order: ${JSON.stringify(order)} } });
    const open = [];
    each((m) => {
      if (m.type === "message.stop") return;
      say({ type: "message.ack", payload: { request_id: m.id } });
      answer(m, "begun " + m.payload.content);
      open.push(m.id);
      if (m.payload.content === "end") for (const id of open.splice(0))
        say({ type: "message.ack", payload: { request_id: id, final: true } });
      else setTimeout(() => say({ type: "message.ack", payload: { request_id: m.id, final: true } }), 50);
    });`;

  test("passes the next message when the answer has ended", async () => {
    await using running = await startProgram(script("ended"));
    await Promise.all(["one", "two", "three"].map((text) => running.say(text)));
    const order: string[] = [];
    for (let ended = 0; ended < 3; ended += 1) {
      order.push((await running.seen.next("a text")).message!.content);
      order.push((await running.ends.next("an end")).end.outcome);
    }
    expect(order).toEqual([
      ...["begun one", "completed"],
      ...["begun two", "completed"],
      ...["begun three", "completed"],
    ]);
  });

  test("passes the next message after an acknowledgement without it", async () => {
    await using running = await startProgram(script("accepted"));
    const said = [running.say("one"), running.say("end")];
    expect((await running.seen.next("a text")).message!.content).toBe("begun one");
    expect((await running.seen.next("a text")).message!.content).toBe("begun end");
    await Promise.all(said);
  });

  test("reports an order that does not exist", async () => {
    await using running = await startProgram(script("never"));
    await running.say("one");
    expect(running.status()).toMatchObject({
      invalidLines: 1,
      lastInvalidLine: { text: expect.stringContaining("never"), reason: expect.any(String) },
    });
  });
});
