import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import type { Clock } from "../../../kernel/index.ts";
import { createStoppedClock } from "../../../kernel/testing.ts";
import { programEnvironment } from "../../../plugins/program/index.ts";
import { isAlive, stand, until } from "../../support/program-harness.ts";

const echo = "each((m) => answer(m, m.payload.content));";

describe("a program that ends", () => {
  test("the message it was working on gets an error that says how, and the next one a new process", async () => {
    await using door = await stand(
      "each((m) => m.payload.content === 'crash' ? process.exit(3) : answer(m, String(process.pid)));",
    );
    const before = door.status().pid;
    await expect(door.say("crash")).rejects.toMatchObject({
      code: "application_ended",
      message:
        "The program that answers ended (exit code 3) before it had answered this message; it may have acted on it.",
    });
    expect(door.status()).toMatchObject({ state: "waiting", lastEnd: "exit code 3", failed: 1 });
    await door.say("who"); // waits for the new one
    expect((await door.seen.next("the answer")).message?.content).toBe(String(door.status().pid));
    expect(door.status().pid).not.toBe(before);
    expect(door.status().restarts).toBe(1);
  });

  test("a message it had accepted is told to have failed, and what it had half said is shown as whole", async () => {
    await using door = await stand(`each((m) => {
      say({ type: "message.ack", payload: { request_id: m.id } });
      say({ type: "typing.start", payload: { request_id: m.id } });
      answer(m, "I was ab", { message_id: "a", final: false });
      setTimeout(() => process.kill(process.pid, "SIGKILL"), 30);
    });`);
    expect(await door.say("hello")).toBe("accepted");
    expect(await door.failures.next("the failure")).toMatchObject({
      id: "m1",
      error: { code: "application_ended", message: expect.stringContaining("SIGKILL") as string },
    });
    expect(await door.seen.next("typing")).toMatchObject({ on: true });
    const { id } = await door.seen.next("the beginning");
    const rest = [await door.seen.next("the end"), await door.seen.next("the end")];
    expect(rest).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          what: "update",
          id,
          message: { content: "I was ab", inReplyTo: "m1", final: true },
        }),
        expect.objectContaining({ what: "typing", on: false }),
      ]),
    );
  });

  test("what it wrote before it ended counts", async () => {
    await using door = await stand(
      "each((m) => { answer(m, 'x'.repeat(500_000)); process.stdout.write('', () => process.exit(0)); });",
    );
    expect(await door.say("hello")).toBe("accepted");
    expect((await door.seen.next("the answer")).message?.content).toHaveLength(500_000);
  });

  test("so it does when this process is held up as it ends, for longer than its last words are waited for", async () => {
    const clock: Clock = {
      now: Date.now,
      monotonic: () => performance.now(),
      setTimeout: (run, ms) => setTimeout(run, ms === 300 ? 0 : ms),
      clearTimeout: (id) => clearTimeout(id as NodeJS.Timeout),
    };
    let waiting = 0;
    await using door = await stand(
      `each((m) => {
      if (m.payload.content === "bye") {
        answer(m, "x".repeat(150_000));
        if (process.stdout.writableLength === 0) process.exit(0);
        return console.error("the pipe holds less");
      }
      for (let at = 0; at < 256; at++) say({
        type: "message.create", channel: "toy", session_id: "s" + at, payload: { content: "x" },
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
    door.say("so much that nothing is read any more").catch(() => undefined);
    await until(() => waiting === 256);
    const said = door.say("bye", "last");
    said.catch(() => undefined);
    const { state, stderr } = await until(() => {
      const status = door.status();
      return (status.state === "ended" || status.stderr.length > 0) && status;
    });
    if (stderr.length > 0) return;
    expect([state, await said]).toEqual(["ended", "accepted"]);
  });

  test("one that fails again at once is not waited for: senders are told at once", async () => {
    await using door = await stand("process.exit(7);");
    await until(() => door.status().restarts >= 1 && door.status().state === "waiting");
    await expect(door.say("hello")).rejects.toMatchObject({
      code: "application_ended",
      message: expect.stringContaining("is not running (exit code 7)") as string,
    });
  });

  test.each([
    ["never", "process.exit(1)", "ended"],
    ["on-failure", "process.exit(0)", "ended"],
    ["on-failure", "process.exit(1)", "waiting"],
    ["always", "process.exit(0)", "waiting"],
  ] as const)("restart %s after %s: it is %s", async (restart, script, state) => {
    await using door = await stand(script, { restart });
    while ((await door.facts.next("a change")).state !== state);
    expect(door.status().state).toBe(state);
  });

  test("one that cannot be started is tried again, and says why", async () => {
    await using door = await stand("", { command: ["/nowhere/agent"] });
    await until(() => door.status().restarts > 0);
    expect(door.status()).toMatchObject({ lastEnd: "ENOENT" });
    await expect(door.say("hello")).rejects.toMatchObject({ code: "application_ended" });
  });

  test("a program that closes its input and stays is ended and started again", async () => {
    await using door = await stand(
      "require('node:fs').closeSync(0); console.error('deaf'); setTimeout(() => {}, 60_000);",
    );
    await until(() => door.status().stderr.length > 0);
    await expect(door.say("hello")).rejects.toMatchObject({ code: "application_ended" });
    expect(door.status().lastEnd).toBe("SIGTERM, it had closed its input");
    await until(() => door.status().restarts > 0);
  });

  test("one that is killed while much waits for it is not said to have closed its input", async () => {
    await using door = await stand("console.error('up'); setInterval(() => {}, 1_000);", {
      restart: "never",
    });
    await until(() => door.status().stderr.length > 0);
    for (const said of await door.fill("x".repeat(200_000))) said.catch(() => undefined);
    process.kill(door.status().pid!, "SIGKILL");
    await until(() => door.status().state === "ended");
    expect(door.status().lastEnd).toBe("SIGKILL");
  });
});

describe("stopping", () => {
  /** A program with a child of its own; both ignore what they can. */
  const stubborn = `
    process.on("SIGTERM", () => console.error("term"));
    const child = require("node:child_process").spawn(process.execPath,
      ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); process.stdout.write('up')"],
      { stdio: ["ignore", "pipe", "ignore"] });
    child.stdout.once("data", () => console.error("pids " + process.pid + " " + child.pid));
    setInterval(() => {}, 1000);`;
  const pidsOf = (door: Awaited<ReturnType<typeof stand>>) =>
    until(() => {
      const words = door
        .status()
        .stderr.find(({ text }) => text.startsWith("pids"))
        ?.text.split(" ");
      return words && words.slice(1).map(Number);
    });

  test("the end of its input is enough for a program that reads", async () => {
    const script = `${echo} process.stdin.on("end", () => console.error("end"));`;
    await using door = await stand(script, {}, {}, createStoppedClock()); // no signal comes
    await door.say("hello");
    const { pid } = door.status();
    await door.stop();
    expect(isAlive(pid!)).toBe(false);
    expect(door.lines.some(({ text }) => text === "end")).toBe(true);
  });

  test("one that ignores everything is gone within 1.8 s, and so is what it started", async () => {
    await using door = await stand(stubborn);
    const pids = await pidsOf(door);
    await door.stop();
    await until(() => pids.every((pid) => !isAlive(pid)));
    expect(door.lines.some(({ text }) => text === "term")).toBe(true);
  });

  test("one that cannot write on, because channels take no more, is ended", async () => {
    let sent = 0;
    await using door = await stand(
      `each(() => {
      for (let at = 0; at < 10_000; at++) say({
        type: "message.create", channel: "toy", session_id: "s" + at, payload: { content: "x".repeat(100) },
      });
      console.error("waits");
    });`,
      {},
      {
        send: () =>
          new Promise(() => {
            sent += 1;
          }),
      },
    );
    door.say("hello").catch(() => undefined);
    await until(() => sent >= 256 && door.status().stderr.length > 0);
    const { pid } = door.status();
    await door.stop();
    expect(isAlive(pid!)).toBe(false);
  });

  test("what a program leaves behind when it crashes is ended", async () => {
    await using door = await stand(`${stubborn} each(() => process.exit(1));`, {
      restart: "never",
    });
    const pids = await pidsOf(door);
    await door.say("crash").catch(() => undefined);
    await until(() => pids.every((pid) => !isAlive(pid)));
  });

  test("it gets its input's end while it works and may still answer", async () => {
    await using door = await stand(
      `each((m) => {
      process.stdin.on("end", () => answer(m, "just in time"));
      console.error("works");
    });`,
      {},
      {},
      createStoppedClock(),
    );
    const said = door.say("hello").catch((error: Error) => error.message);
    await until(() => door.status().stderr.length > 0);
    await door.stop();
    expect(await said).toMatch(/accepted|not_running|running/);
    expect((await door.seen.next("the answer")).message?.content).toBe("just in time");
  });

  test("a kernel can be started again", async () => {
    await using door = await stand(echo);
    await door.say("one");
    await door.kernel.stop();
    await door.kernel.start();
    await door.say("two");
    expect(door.status()).toMatchObject({ state: "running", restarts: 0 });
  });
});

describe("the program's environment", () => {
  test("nothing of ours is in it, whatever it is called; what the configuration adds is", () => {
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

  test("it has no other descriptor than its three pipes", async () => {
    await using door = await stand(`each((m) => answer(m,
      require("node:fs").readdirSync("/proc/self/fd").map((fd) => {
        try { return fd + " " + require("node:fs").readlinkSync("/proc/self/fd/" + fd); } catch { return ""; }
      }).filter((line) => /socket:|\\.(log|json)/.test(line) && !/^[012] /.test(line)).join()));`);
    await door.say("hello");
    if (process.platform === "linux")
      expect((await door.seen.next("the answer")).message?.content).toBe("");
  });
});

test.runIf(process.platform === "linux")(
  "the guard ends with a kernel that is stopped",
  async () => {
    await using door = await stand(echo);
    await door.say("hello");
    const children = async (): Promise<string[]> => {
      const tasks = await readFile(`/proc/${process.pid}/task/${process.pid}/children`, "utf8");
      const pids = tasks.trim().split(" ").filter(Boolean);
      const lines = await Promise.all(
        pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
      );
      return lines.filter((line) => line.includes("doorward-guard"));
    };
    expect(await children()).toHaveLength(1);
    await door.stop();
    expect(await children()).toEqual([]);
  },
);
