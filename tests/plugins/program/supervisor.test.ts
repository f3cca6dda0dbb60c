import { describe, expect, test } from "vitest";
import { createStoppedClock } from "../../../kernel/testing.ts";
import { createHangDetector } from "../../../plugins/program/supervisor.ts";
import { stand, until } from "../../support/program-harness.ts";

/** Answers until it is told to hang; then nothing in it runs any more. */
const hanging = `each((m) => {
  answer(m, "here");
  if (m.payload.content === "hang") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});`;

describe("a program that hangs", () => {
  const restarted = async (restart: "always" | "on-failure" | "never") => {
    const clock = createStoppedClock();
    const door = await stand(hanging, { restart }, {}, clock);
    await door.say("hang");
    for (const session of ["a", "b", "c"]) {
      const said = door.say("are you there?", session);
      await until(() => door.status().inWork === 1);
      clock.increment(120_000);
      await expect(said).rejects.toMatchObject({ code: "no_answer" });
    }
    return { door, clock };
  };

  test.each(["always", "on-failure"] as const)(
    "is started again after three messages (%s)",
    async (restart) => {
      const { door: hung, clock } = await restarted(restart);
      await using door = hung;
      clock.increment(500); // SIGTERM
      await until(() => door.status().state === "waiting");
      expect(door.status().lastEnd).toBe("SIGTERM, it gave no sign of 3 messages in a row");
      const said = door.say("hello");
      clock.increment(1_000);
      expect(await said).toBe("accepted");
      expect(door.status().restarts).toBe(1);
    },
  );

  test("is left alone when it is never started again", async () => {
    const { door: hung } = await restarted("never");
    await using door = hung;
    const { pid, state } = door.status();
    expect([
      pid !== undefined,
      state,
      door.lines.some(({ text }) => text.includes("no sign of 3")),
    ]).toEqual([true, "running", false]);
    process.kill(pid!, "SIGKILL");
    await until(() => door.status().state === "ended");
  });
});

test("a program whose answers are not read at the moment is not taken for hung", async () => {
  let sent = 0;
  const clock = createStoppedClock();
  // After the first, so little that the pipe holds it: at a stop the program ends with its input, without a signal.
  await using door = await stand(
    `let lines = 256; each((m) => {
    for (let at = 0; at < lines; at++) say({
      type: "message.create", channel: "toy", session_id: "s" + at, payload: { content: "x" },
    });
    lines = 1;
  });`,
    {},
    {
      send: () =>
        new Promise(() => {
          sent += 1;
        }),
    },
    clock,
  );
  for (const session of ["a", "b", "c"]) {
    const said = door.say("hello", session);
    said.catch(() => undefined);
    await until(() => door.status().inWork === 1);
    await until(() => sent >= 256);
    clock.increment(120_000);
    await expect(said).rejects.toMatchObject({ code: "no_answer" });
  }
  expect(door.lines.some(({ text }) => text.includes("no sign of 3"))).toBe(false);
});

describe("what is taken for hanging", () => {
  const watched = () => {
    let hangs = 0;
    const silence = createHangDetector(() => void (hangs += 1));
    const time = (): void => silence.passed(silence.mark());
    return { silence, time, hangs: () => hangs };
  };

  test("three timeouts one after the other, told once", () => {
    const { silence, time, hangs } = watched();
    silence.broken();
    time();
    time();
    expect(hangs()).toBe(0);
    time();
    time();
    expect(hangs()).toBe(1);
  });

  test("not many at once: they began together", () => {
    const { silence, hangs } = watched();
    silence.broken();
    const marks = Array.from({ length: 10 }, silence.mark);
    marks.forEach(silence.passed);
    expect(hangs()).toBe(0);
  });

  test("not one that says something between them, whatever it is", () => {
    const { silence, time, hangs } = watched();
    for (let at = 0; at < 9; at++) {
      if (at % 2 === 0) silence.broken();
      time();
    }
    expect(hangs()).toBe(0);
  });

  test("not one that has not said anything yet, and each process anew", () => {
    const { silence, time, hangs } = watched();
    for (let at = 0; at < 5; at++) time();
    silence.broken();
    silence.begin();
    for (let at = 0; at < 5; at++) time();
    expect(hangs()).toBe(0);
  });
});
