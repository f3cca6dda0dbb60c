import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { createStoppedClock } from "../../../kernel/testing.ts";
import { PendingMessages } from "../../../plugins/program/pending-messages.ts";
import { createSampleChannel } from "../../support/sample-channel.ts";
import { createLineReader } from "../../../lib/line-reader.ts";
import { isAlive, startProgram, waitFor } from "../../support/program-harness.ts";

describe("Supervisor", () => {
  test("kills a program that ignores signals if stop has no time", async () => {
    await using harness = await startProgram(
      `process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); console.error("up");`,
    );
    await waitFor(() => harness.status().stderr.length > 0);
    const pid = harness.status().pid!;
    await harness.kernel.stop({ timeoutMs: 20 });
    await waitFor(() => !isAlive(pid));
  });

  test("counts a failure after a clock change as the first one", async () => {
    let setBackMs = 0;
    const clock = createStoppedClock();
    const adjustableClock = {
      ...clock,
      setTimeout: clock.setTimeout.bind(clock),
      clearTimeout: clock.clearTimeout.bind(clock),
      now: () => clock.now() - setBackMs,
    };
    await using harness = await startProgram(
      "each((m) => m.payload.content === 'crash' ? process.exit(3) : answer(m, 'here'));",
      {},
      {},
      adjustableClock,
    );
    await harness.say("crash").catch(() => undefined);
    clock.increment(1_000);
    await harness.say("well");
    clock.increment(60_000);
    setBackMs = 86_400_000;
    await harness.say("crash").catch(() => undefined);
    const waiting = harness.say("sent during the pause");
    await waitFor(() => harness.status().queued === 1);
    clock.increment(1_000);
    expect(await waiting).toBe("accepted");
  });
});

describe("PendingMessages", () => {
  test("keeps new messages for the next program while one is stopping", () => {
    const written: string[] = [];
    let acceptsInput = false;
    const program = {
      pid: 1,
      acceptsInput: () => acceptsInput,
      pause: () => undefined,
      stop: () => undefined,
      kill: () => undefined,
      write: (line: string) => written.push(line) > 0,
    };
    const pendingMessages = new PendingMessages({
      afterRunning: () => () => undefined,
      timeoutS: 1,
      running: () => program,
      settled: () => undefined,
      closeAnswer: async () => undefined,
      downReason: () => undefined,
      isAsking: () => false,
      isOrdered: () => false,
      hung: () => undefined,
      findFiles: () => undefined,
      can: () => false,
      stopTimeoutsChanged: () => undefined,
    });
    const { message } = createSampleChannel();
    void pendingMessages.accept({
      ...message(),
      accept: () => undefined,
      reply: () => Promise.reject(),
      update: () => Promise.reject(),
      ask: () => {
        throw 0;
      },
      stream: () => {
        throw 0;
      },
      signal: new AbortController().signal,
      end: () => undefined,
      history: () => Promise.resolve({ items: [] }),
    });
    pendingMessages.pump();
    expect([written.length, pendingMessages.queued()]).toEqual([0, 1]);
    pendingMessages.programEnded("SIGTERM", false);
    acceptsInput = true;
    pendingMessages.pump();
    expect([written.length, pendingMessages.queued()]).toEqual([1, 0]);
  });
});

describe("createLineReader", () => {
  test("uses bounded memory for a line that arrives byte by byte", () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const lines: string[] = [];
    const { accept, end } = createLineReader({
      maxLineBytes: 1024 * 1024,
      line: (text) => void lines.push(text),
      tooLong: () => undefined,
    });
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let index = 0; index < 200_000; index++) accept(Buffer.from(new Uint8Array([46])));
    collect();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(10_000_000);
    end();
    expect(lines.map(({ length }) => length)).toEqual([200_000]);
  });
});
