import { describe, expect, test } from "vitest";
import { createStoppedClock } from "../../../kernel/testing.ts";
import { createHangDetector } from "../../../lib/child-process/index.ts";
import { startProgram, waitFor } from "../../support/program-harness.ts";
import { runFor } from "../../support/timers.ts";

/** Replies to every message, and blocks its only thread after the message "hang". */
const hanging = `each((m) => {
  answer(m, "here");
  if (m.payload.content === "hang") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});`;

describe("Supervisor.restartHung", () => {
  const hang = async (restart: "always" | "on-failure" | "never") => {
    const clock = createStoppedClock();
    const harness = await startProgram(hanging, { restart }, {}, clock);
    await harness.say("hang");
    for (const session of ["a", "b", "c"]) {
      const sent = harness.say("are you there?", session);
      await waitFor(() => harness.status().inWork === 1);
      runFor(clock, 120_000);
      await expect(sent).rejects.toMatchObject({ code: "no_answer" });
    }
    return { harness, clock };
  };

  test.each(["always", "on-failure"] as const)(
    "restarts the program after three timeouts (%s)",
    async (restart) => {
      const { harness: hung, clock } = await hang(restart);
      await using harness = hung;
      clock.increment(500); // SIGTERM
      await waitFor(() => harness.status().state === "waiting");
      expect(harness.status().lastEnd).toBe("SIGTERM, it did not respond to 3 messages in a row");
      const sent = harness.say("hello");
      clock.increment(1_000);
      expect(await sent).toBe("accepted");
      expect(harness.status().restarts).toBe(1);
    },
  );

  test("leaves the program running if restart is never", async () => {
    const { harness: hung } = await hang("never");
    await using harness = hung;
    const { pid, state } = harness.status();
    expect([
      pid !== undefined,
      state,
      harness.lines.some(({ text }) => text.includes("did not respond to 3")),
    ]).toEqual([true, "running", false]);
    process.kill(pid!, "SIGKILL");
    await waitFor(() => harness.status().state === "ended");
  });

  test("ignores timeouts while reading is paused", async () => {
    let sendCount = 0;
    const clock = createStoppedClock();
    // After the first message, the output fits into the pipe. So the program can exit at the end of
    // its input, without a signal.
    await using harness = await startProgram(
      `let lines = 256; each((m) => {
    for (let index = 0; index < lines; index++) say({
      type: "message.create", channel: "sample", session_id: "s" + index, payload: { content: "x" },
    });
    lines = 1;
  });`,
      {},
      {
        send: () =>
          new Promise(() => {
            sendCount += 1;
          }),
      },
      clock,
    );
    for (const session of ["a", "b", "c"]) {
      const sent = harness.say("hello", session);
      sent.catch(() => undefined);
      await waitFor(() => harness.status().inWork === 1);
      await waitFor(() => sendCount >= 256);
      runFor(clock, 120_000);
      await expect(sent).rejects.toMatchObject({ code: "no_answer" });
    }
    expect(harness.lines.some(({ text }) => text.includes("did not respond to 3"))).toBe(false);
  });
});

describe("createHangDetector", () => {
  const createWatched = () => {
    let hangs = 0;
    const detector = createHangDetector(() => void (hangs += 1));
    const timeOut = (): void => detector.timedOut(detector.currentRound());
    return { detector, timeOut, hangs: () => hangs };
  };

  test("reports three consecutive timeouts once", () => {
    const { detector, timeOut, hangs } = createWatched();
    detector.outputReceived();
    timeOut();
    timeOut();
    expect(hangs()).toBe(0);
    timeOut();
    timeOut();
    expect(hangs()).toBe(1);
  });

  test("counts parallel timeouts as one", () => {
    const { detector, hangs } = createWatched();
    detector.outputReceived();
    const rounds = Array.from({ length: 10 }, detector.currentRound);
    rounds.forEach(detector.timedOut);
    expect(hangs()).toBe(0);
  });

  test("ignores timeouts with output between them", () => {
    const { detector, timeOut, hangs } = createWatched();
    for (let index = 0; index < 9; index++) {
      if (index % 2 === 0) detector.outputReceived();
      timeOut();
    }
    expect(hangs()).toBe(0);
  });

  test("ignores timeouts before the first output of each process", () => {
    const { detector, timeOut, hangs } = createWatched();
    for (let index = 0; index < 5; index++) timeOut();
    detector.outputReceived();
    detector.reset();
    for (let index = 0; index < 5; index++) timeOut();
    expect(hangs()).toBe(0);
  });
});
