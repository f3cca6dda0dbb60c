import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createSendQueue, type SendQueueOptions } from "../../../plugins/channels/index.ts";
import { createTimers, settled } from "../../support/timers.ts";

/** The error of a network that asks to wait. */
class Slower extends Error {
  readonly retryAfterMs: number;
  constructor(retryAfterMs: number) {
    super("slower");
    this.retryAfterMs = retryAfterMs;
  }
}

function make(options: Partial<SendQueueOptions> = {}) {
  const timers = createTimers();
  const queue = createSendQueue({
    after: timers.after,
    retryAfterMs: (error) => (error instanceof Slower ? error.retryAfterMs : undefined),
    ...options,
  });
  const sent: string[] = [];
  /** A call that fails with each error before it succeeds. */
  const call = (text: string, ...errors: Error[]) => {
    return async () => {
      const error = errors.shift();
      if (error) throw error;
      sent.push(text);
      return text;
    };
  };
  return { ...timers, queue, sent, call };
}

describe("createSendQueue", () => {
  test("repeats a call after the wait, before the later calls", async () => {
    const { queue, sent, call, pass } = make();
    const calls = [
      queue.add("s", call("one", new Slower(3_000))),
      queue.add("s", call("two")),
      queue.add("other", call("three")),
    ];
    await pass(2_999);
    expect(sent).toEqual(["three"]);
    await pass(1);
    expect(sent).toEqual(["three", "one", "two"]);
    expect(await Promise.all(calls)).toEqual(["one", "two", "three"]);
    expect(queue.size).toBe(0);
  });

  test("rejects the waiting calls of a deleted conversation", async () => {
    const { queue, sent, call, pass } = make();
    const calls = ["one", "two", "three"].map((text, at) =>
      queue.add("s", call(text, ...(at === 0 ? [new Slower(1_000)] : []))),
    );
    const other = queue.add("other", call("four", new Slower(1_000)));
    queue.drop("s");
    queue.drop("unknown");
    for (const dropped of calls.slice(1))
      await expect(dropped).rejects.toMatchObject({ code: "stopped" });
    expect(queue.size).toBe(2);
    await pass(1_000);
    expect(await Promise.all([calls[0], other])).toEqual(["one", "four"]);
    await queue.add("s", call("five"));
    expect(sent).toEqual(["one", "four", "five"]);
  });

  test("rejects a call that fails for another reason, and continues", async () => {
    const { queue, sent, call } = make();
    const failing = queue.add("s", call("one", new Error("no such chat")));
    const next = queue.add("s", call("two"));
    await expect(failing).rejects.toThrow("no such chat");
    await next;
    expect(sent).toEqual(["two"]);
  });

  test.each([
    ["too often", [1, 1, 1], 1_000],
    ["too long", [1_001], 1_000],
    ["for an unreadable time", [NaN], 1_000],
  ])("rejects a call if the network asks to wait %s", async (_, waits, maxRetryMs) => {
    const { queue, call, pass } = make({ maxAttempts: 3, maxRetryMs });
    const result = queue.add("s", call("one", ...waits.map((ms) => new Slower(ms))));
    const rejection = expect(result).rejects.toThrow("slower");
    for (const ms of waits) await pass(ms);
    await rejection;
  });

  test("limits the waiting calls per session and in total", async () => {
    const { queue, call } = make({ maxPerSession: 2, maxWaiting: 4 });
    const never = (): Promise<never> => new Promise(() => undefined);
    for (let index = 0; index < 3; index += 1) void queue.add("s", never);
    await expect(queue.add("s", call("x"))).rejects.toMatchObject({ code: "rate_limited" });
    void queue.add("other", never);
    await expect(queue.add("third", call("x"))).rejects.toMatchObject({ code: "rate_limited" });
    expect(queue.size).toBe(4);
  });

  test("rejects waiting and later calls after close", async () => {
    const { queue, sent, call } = make();
    const waiting = [queue.add("s", call("one", new Slower(60_000))), queue.add("s", call("two"))];
    await settled();
    queue.close();
    for (const each of [...waiting, queue.add("s", call("three"))])
      await expect(each).rejects.toMatchObject({ code: "not_running" });
    expect([sent, queue.size]).toEqual([[], 0]);
  });

  test("keeps the order of each session for any waits", async () => {
    const plan = fc.array(
      fc.record({
        session: fc.constantFrom("a", "b"),
        waits: fc.array(fc.nat(50), { maxLength: 3 }),
      }),
      { maxLength: 20 },
    );
    await fc.assert(
      fc.asyncProperty(plan, async (entries) => {
        const { queue, sent, call, pass } = make();
        const calls = entries.map(({ session, waits }, index) =>
          queue.add(session, call(`${session}${index}`, ...waits.map((ms) => new Slower(ms)))),
        );
        for (let guard = 0; queue.size > 0 && guard < 100; guard += 1) await pass(50);
        const all = await Promise.all(calls);
        for (const session of ["a", "b"]) {
          const of = (texts: string[]) => texts.filter((text) => text.startsWith(session));
          expect(of(sent)).toEqual(of(all));
        }
      }),
      { numRuns: 50 },
    );
  });
});
