import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import type { Clock } from "../../../kernel/index.ts";
import { createStoppedClock } from "../../../kernel/testing.ts";
import { programEnvironment } from "../../../plugins/program/index.ts";
import { isAlive, startProgram, waitFor } from "../../support/program-harness.ts";

const echo = "each((m) => answer(m, m.payload.content));";

describe("program exit", () => {
  test("fails the current message and passes the next to a new process", async () => {
    await using harness = await startProgram(
      `each((m) =>
        m.payload.content === 'crash' ? process.exit(3) : answer(m, String(process.pid)));`,
    );
    const before = harness.status().pid;
    await expect(harness.say("crash")).rejects.toMatchObject({
      code: "application_ended",
      message:
        "The program ended (exit code 3) before it replied to this message. " +
        "It may have acted on the message.",
    });
    expect(harness.status()).toMatchObject({ state: "waiting", lastEnd: "exit code 3", failed: 1 });
    await harness.say("who"); // waits for the new process
    expect((await harness.seen.next("the reply")).message?.content).toBe(
      String(harness.status().pid),
    );
    expect(harness.status().pid).not.toBe(before);
    expect(harness.status().restarts).toBe(1);
  });

  test("reports accepted messages as failed and completes unfinished replies", async () => {
    await using harness = await startProgram(`each((m) => {
      say({ type: "message.ack", payload: { request_id: m.id } });
      say({ type: "typing.start", payload: { request_id: m.id } });
      answer(m, "I was ab", { message_id: "a", final: false });
      setTimeout(() => process.kill(process.pid, "SIGKILL"), 30);
    });`);
    expect(await harness.say("hello")).toBe("accepted");
    expect(await harness.failures.next("the failure")).toMatchObject({
      id: "m1",
      error: { code: "application_ended", message: expect.stringContaining("SIGKILL") as string },
    });
    expect(await harness.seen.next("typing")).toMatchObject({ on: true });
    const { id } = await harness.seen.next("the beginning");
    const rest = [await harness.seen.next("the end"), await harness.seen.next("the end")];
    expect(rest).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          what: "update",
          id,
          message: { content: "I was ab", added: "", inReplyTo: "m1", final: true },
        }),
        expect.objectContaining({ what: "typing", on: false }),
      ]),
    );
  });

  test("delivers output that was written before the exit", async () => {
    await using harness = await startProgram(
      `each((m) => {
        answer(m, 'x'.repeat(500_000));
        process.stdout.write('', () => process.exit(0));
      });`,
    );
    expect(await harness.say("hello")).toBe("accepted");
    expect((await harness.seen.next("the reply")).message?.content).toHaveLength(500_000);
  });

  test("delivers final output even if the launcher was suspended", async () => {
    const clock: Clock = {
      now: Date.now,
      monotonic: () => performance.now(),
      setTimeout: (run, ms) => setTimeout(run, ms === 300 ? 0 : ms),
      clearTimeout: (id) => clearTimeout(id as NodeJS.Timeout),
    };
    let waiting = 0;
    await using harness = await startProgram(
      `each((m) => {
      if (m.payload.content === "bye") {
        answer(m, "x".repeat(150_000));
        if (process.stdout.writableLength === 0) process.exit(0);
        return console.error("the pipe holds less");
      }
      for (let index = 0; index < 256; index++) say({
        type: "message.create", channel: "sample", session_id: "s" + index, payload: { content: "x" },
      });
    });`,
      { restart: "never" },
      {
        send: (session, id) =>
          session === "last"
            ? { id, status: "written" }
            : new Promise(() => {
                waiting += 1;
              }),
      },
      clock,
    );
    harness.say("fill the send queue").catch(() => undefined);
    await waitFor(() => waiting === 256);
    const sent = harness.say("bye", "last");
    sent.catch(() => undefined);
    const { state, stderr } = await waitFor(() => {
      const status = harness.status();
      return (status.state === "ended" || status.stderr.length > 0) && status;
    });
    if (stderr.length > 0) return;
    expect([state, await sent]).toEqual(["ended", "accepted"]);
  });

  test("fails messages immediately after a second crash in a row", async () => {
    await using harness = await startProgram("process.exit(7);");
    await waitFor(() => harness.status().restarts >= 1 && harness.status().state === "waiting");
    await expect(harness.say("hello")).rejects.toMatchObject({
      code: "application_ended",
      message: expect.stringContaining("is not running (exit code 7)") as string,
    });
  });

  test.each([
    ["never", "process.exit(1)", "ended"],
    ["on-failure", "process.exit(0)", "ended"],
    ["on-failure", "process.exit(1)", "waiting"],
    ["always", "process.exit(0)", "waiting"],
  ] as const)("applies restart %s after %s: state %s", async (restart, script, state) => {
    await using harness = await startProgram(script, { restart });
    while ((await harness.facts.next("a change")).state !== state);
    expect(harness.status().state).toBe(state);
  });

  test("retries a start that failed and reports the reason", async () => {
    await using harness = await startProgram("", { command: ["/nowhere/agent"] });
    await waitFor(() => harness.status().restarts > 0);
    expect(harness.status()).toMatchObject({ lastEnd: "ENOENT" });
    await expect(harness.say("hello")).rejects.toMatchObject({ code: "application_ended" });
  });

  test("restarts a program that closed its input", async () => {
    await using harness = await startProgram(
      "require('node:fs').closeSync(0); console.error('closed'); setTimeout(() => {}, 60_000);",
    );
    await waitFor(() => harness.status().stderr.length > 0);
    await expect(harness.say("hello")).rejects.toMatchObject({ code: "application_ended" });
    expect(harness.status().lastEnd).toBe("SIGTERM, it closed its input");
    await waitFor(() => harness.status().restarts > 0);
  });

  test("reports SIGKILL as the reason despite pending input", async () => {
    await using harness = await startProgram("console.error('up'); setInterval(() => {}, 1_000);", {
      restart: "never",
    });
    await waitFor(() => harness.status().stderr.length > 0);
    for (const sent of await harness.fill("x".repeat(200_000))) sent.catch(() => undefined);
    process.kill(harness.status().pid!, "SIGKILL");
    await waitFor(() => harness.status().state === "ended");
    expect(harness.status().lastEnd).toBe("SIGKILL");
  });
});

describe("kernel.stop", () => {
  /** A program with a child process; both ignore SIGTERM. */
  const stubborn = `
    process.on("SIGTERM", () => console.error("term"));
    const child = require("node:child_process").spawn(process.execPath,
      ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);" +
        "process.stdout.write('up')"],
      { stdio: ["ignore", "pipe", "ignore"] });
    child.stdout.once("data", () => console.error("pids " + process.pid + " " + child.pid));
    setInterval(() => {}, 1000);`;
  const pidsOf = (harness: Awaited<ReturnType<typeof startProgram>>) =>
    waitFor(() => {
      const words = harness
        .status()
        .stderr.find(({ text }) => text.startsWith("pids"))
        ?.text.split(" ");
      return words && words.slice(1).map(Number);
    });

  test("stops a program that reads by ending its input", async () => {
    const script = `${echo} process.stdin.on("end", () => console.error("end"));`;
    await using harness = await startProgram(script, {}, {}, createStoppedClock()); // no signal is sent
    await harness.say("hello");
    const { pid } = harness.status();
    await harness.stop();
    expect(isAlive(pid!)).toBe(false);
    expect(harness.lines.some(({ text }) => text === "end")).toBe(true);
  });

  test("kills an unresponsive program and its children within 1.8 s", async () => {
    await using harness = await startProgram(stubborn);
    const pids = await pidsOf(harness);
    await harness.stop();
    await waitFor(() => pids.every((pid) => !isAlive(pid)));
    expect(harness.lines.some(({ text }) => text === "term")).toBe(true);
  });

  test("stops a program that is blocked by slow channels", async () => {
    let sendCount = 0;
    await using harness = await startProgram(
      `each(() => {
      for (let index = 0; index < 10_000; index++) say({
        type: "message.create", channel: "sample", session_id: "s" + index,
        payload: { content: "x".repeat(100) },
      });
      console.error("blocked");
    });`,
      {},
      {
        send: () =>
          new Promise(() => {
            sendCount += 1;
          }),
      },
    );
    harness.say("hello").catch(() => undefined);
    await waitFor(() => sendCount >= 256 && harness.status().stderr.length > 0);
    const { pid } = harness.status();
    await harness.stop();
    expect(isAlive(pid!)).toBe(false);
  });

  test("ends the child processes of a crashed program", async () => {
    await using harness = await startProgram(`${stubborn} each(() => process.exit(1));`, {
      restart: "never",
    });
    const pids = await pidsOf(harness);
    await harness.say("crash").catch(() => undefined);
    await waitFor(() => pids.every((pid) => !isAlive(pid)));
  });

  test("accepts a reply after the end of the input", async () => {
    await using harness = await startProgram(
      `each((m) => {
      process.stdin.on("end", () => answer(m, "just in time"));
      console.error("works");
    });`,
      {},
      {},
      createStoppedClock(),
    );
    const sent = harness.say("hello").catch((error: Error) => error.message);
    await waitFor(() => harness.status().stderr.length > 0);
    await harness.stop();
    expect(await sent).toMatch(/accepted|not_running|running/);
    expect((await harness.seen.next("the reply")).message?.content).toBe("just in time");
  });

  test("allows another start", async () => {
    await using harness = await startProgram(echo);
    await harness.say("one");
    await harness.kernel.stop();
    await harness.kernel.start();
    await harness.say("two");
    expect(harness.status()).toMatchObject({ state: "running", restarts: 0 });
  });
});

describe("programEnvironment", () => {
  test("drops prefixed variables and adds configured ones", () => {
    const env = {
      PATH: "/bin",
      SERVICE_LAUNCHER_TOKEN: "a",
      service_x: "b",
      SERVICE_HOME: "c",
      MY_SERVICE_: "d",
      E: undefined,
    };
    expect(programEnvironment(env, "service", { API_KEY: "k", PATH: "/usr/bin" })).toEqual({
      PATH: "/usr/bin",
      MY_SERVICE_: "d",
      API_KEY: "k",
    });
  });

  test("passes no file descriptors except three pipes", async () => {
    await using harness = await startProgram(`each((m) => answer(m,
      require("node:fs").readdirSync("/proc/self/fd").map((fd) => {
        try {
          return fd + " " + require("node:fs").readlinkSync("/proc/self/fd/" + fd);
        } catch { return ""; }
      }).filter((line) => /socket:|\\.(log|json)/.test(line) && !/^[012] /.test(line)).join()));`);
    await harness.say("hello");
    if (process.platform === "linux")
      expect((await harness.seen.next("the reply")).message?.content).toBe("");
  });
});

test.runIf(process.platform === "linux")(
  "ends the process guard when the kernel stops",
  async () => {
    await using harness = await startProgram(echo);
    await harness.say("hello");
    const children = async (): Promise<string[]> => {
      const tasks = await readFile(`/proc/${process.pid}/task/${process.pid}/children`, "utf8");
      const pids = tasks.trim().split(" ").filter(Boolean);
      const lines = await Promise.all(
        pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
      );
      return lines.filter((line) => line.includes("doorward-guard"));
    };
    expect(await children()).toHaveLength(1);
    await harness.stop();
    expect(await children()).toEqual([]);
  },
);
