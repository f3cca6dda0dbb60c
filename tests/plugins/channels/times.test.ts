// Tests the recorded times of requests.
import { SimulatedClock } from "xstate";
import { describe, expect, test } from "vitest";
import { createKernel, type Clock } from "../../../kernel/index.ts";
import { application, channels, type Application } from "../../../plugins/channels/index.ts";
import { createSampleChannel } from "../../support/sample-channel.ts";

/** Starts a kernel with a stopped clock and one channel that can update messages. */
async function start(handler: Application) {
  const simulated = new SimulatedClock();
  const clock: Clock = {
    now: () => 1_000 + simulated.now(),
    monotonic: () => simulated.now(),
    setTimeout: (run, ms) => simulated.setTimeout(run, ms),
    clearTimeout: (id) => simulated.clearTimeout(id as number),
  };
  const channel = createSampleChannel({
    update: (_, id) => ({ id, status: "written" }),
  });
  const kernel = createKernel([channels(), channel.plugin, application(handler)], { clock });
  await kernel.start();
  return {
    service: kernel.services.channels,
    deliver: (id: string) => channel.inlet().deliver(channel.message({ id })),
    pass: (ms: number) => simulated.increment(ms),
    [Symbol.asyncDispose]: () => kernel.stop(),
  };
}
type Stand = Awaited<ReturnType<typeof start>>;

describe("Channels.times", () => {
  test("records acceptance, first text, parts and end, without content", async () => {
    const box: { stand?: Stand } = {};
    const pass = (ms: number): void => box.stand!.pass(ms);
    await using stand = await start(async (message) => {
      pass(5);
      message.accept();
      pass(10);
      await message.reply({ kind: "thought", content: "secret thought" });
      const stream = message.stream({ model: "m1" });
      pass(10);
      stream.write("secret");
      pass(200);
      stream.write(" text");
      pass(100);
      await stream.end({ usage: { input: 3, output: 4 } });
      pass(5);
    });
    box.stand = stand;
    const release = stand.service.recordTimes();
    await stand.deliver("a");
    await expect.poll(() => stand.service.times()[0]?.endedMs).toBe(330);
    const [times] = stand.service.times();
    expect(times).toMatchObject({
      ...{ channel: "sample", session: "s", id: "a", at: 1_000, outcome: "completed", left: 0 },
      ...{ acceptedMs: 5, firstTextMs: 25, usage: { input: 3, output: 4 } },
      parts: [
        { kind: "thought", fromMs: 15, toMs: 15, updates: 0, final: true },
        { kind: "text", fromMs: 25, final: true },
      ],
    });
    expect(times!.parts[1]!.updates).toBeGreaterThan(0);
    expect(times!.parts[1]!.toMs).toBe(325);
    expect(JSON.stringify(times)).not.toContain("secret");
    release();
    expect(stand.service.times()).toEqual([]);
  });

  test("lists a repeated request once, as the newest", async () => {
    await using stand = await start(() => undefined);
    stand.service.recordTimes();
    for (const id of ["a", "b", "c", "a"]) await stand.deliver(id);
    expect(stand.service.times().map(({ id }) => id)).toEqual(["b", "c", "a"]);
  });

  test("keeps the newest 200 requests and 100 parts of each", async () => {
    await using stand = await start(async ({ id, reply }) => {
      for (let at = 0; at < (id === "200" ? 103 : 1); at++) await reply({ content: "x" });
    });
    await stand.deliver("before");
    expect(stand.service.times()).toEqual([]);
    stand.service.recordTimes();
    for (let at = 0; at <= 200; at++) await stand.deliver(`${at}`);
    const times = stand.service.times();
    expect([times.length, times[0]!.id, times.at(-1)!.id]).toEqual([200, "1", "200"]);
    expect([times.at(-1)!.parts.length, times.at(-1)!.left]).toEqual([100, 3]);
  });

  test("records for each plugin that asked until all have released", async () => {
    await using stand = await start(() => Promise.reject(new Error("no")));
    const [first, second] = [stand.service.recordTimes(), stand.service.recordTimes()];
    first();
    first();
    await expect(stand.deliver("a")).rejects.toThrow("no");
    expect(stand.service.times()).toMatchObject([{ id: "a", outcome: "failed" }]);
    expect(stand.service.times()[0]).not.toHaveProperty("acceptedMs");
    second();
    expect(stand.service.times()).toEqual([]);
  });
});
