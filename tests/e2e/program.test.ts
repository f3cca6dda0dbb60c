import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { connectTestClient } from "../../testkit/index.ts";
import { isAlive, until } from "../support/program-harness.ts";
import { spawnLauncher, startLauncher } from "./launcher.ts";

/* A program as the application of the real launcher, in a process of its own. */

const token = "correct-horse-battery-staple-channel";
const made: string[] = [];
afterEach(async () => {
  for (const folder of made.splice(0)) await rm(folder, { recursive: true, force: true });
});

const echo = `
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, payload: { content } } = JSON.parse(line);
  if (content === "crash") process.exit(9);
  console.error("a line for its author");
  const answer = content === "environment" ? JSON.stringify(process.env) : "you said " + content;
  console.log(JSON.stringify({ type: "message.create", payload: { request_id: id, content: answer } }));
});`;

/** A home with a program in it, and the environment that turns the channel on. */
async function homeWith(script: string, handler: object = {}) {
  const home = await mkdtemp(join(tmpdir(), "doorward-program-"));
  made.push(home);
  await mkdir(join(home, "s"), { mode: 0o700 });
  await writeFile(join(home, "s", "agent.cjs"), script);
  const config = (more: object): Promise<void> =>
    writeFile(
      join(home, "s", "config.json"),
      JSON.stringify({ handler: { command: [process.execPath, "agent.cjs"], ...more } }),
    );
  await config(handler);
  const env = {
    SERVICE_HOME: join(home, "s"),
    SERVICE_CHANNELS_PICO_ENABLED: "true",
    SERVICE_CHANNELS_PICO_TOKEN: token,
  };
  return { home: join(home, "s"), env, config };
}
const pico = (base: URL) => connectTestClient(new URL("/pico", base), { token });

describe("the handler of config.json", () => {
  test("its program answers, knows no token, and a crash is an error that names the message", async () => {
    const { env } = await homeWith(echo, { env: { API_KEY: "k" } });
    await using launcher = await startLauncher({ env: { ...env, OTHER: "kept" } });
    const client = await pico(launcher.base);
    client.say("hello");
    expect((await client.next("message.create")).payload?.["content"]).toBe("you said hello");
    client.say("environment");
    const content = String((await client.next("message.create")).payload?.["content"]);
    expect(JSON.parse(content)).toMatchObject({ API_KEY: "k", OTHER: "kept" });
    expect(content).not.toMatch(/SERVICE_/);
    client.send({ type: "message.send", id: "m3", payload: { content: "crash" } });
    const { payload } = await client.next("error");
    expect(payload).toMatchObject({ code: "application_ended", request_id: "m3" });
    expect(payload?.["message"]).toContain("exit code 9");
    client.say("again");
    expect((await client.next("message.create")).payload?.["content"]).toBe("you said again");
    await client.close();
  });

  test("a launcher that is killed leaves no program, and nothing of what that had started", async () => {
    const { home, env } = await homeWith(`
      process.on("SIGTERM", () => {}); process.on("SIGHUP", () => {});
      const { spawn } = require("node:child_process");
      const inner = "process.on('SIGTERM', () => {}); process.on('SIGHUP', () => {}); setInterval(() => {}, 1000);" +
        "console.log('up')";
      const child = spawn(process.execPath, ["-e", inner], { stdio: ["ignore", "pipe", "ignore"] });
      child.stdout.once("data", () => console.error("pids:" + process.pid + ":" + child.pid + ":"));
      setInterval(() => {}, 1000);`);
    await using launcher = await startLauncher({ env });
    const log = (): Promise<string> => readFile(join(home, "logs", "launcher.log"), "utf8");
    let pids: number[] = [];
    while (pids.length === 0)
      pids = (/pids:(\d+):(\d+):/.exec(await log()) ?? []).slice(1).map(Number);
    expect(pids.map(isAlive)).toEqual([true, true]);
    launcher.child.kill("SIGKILL");
    await launcher.ended;
    await until(() => !pids.some(isAlive));
  });

  test("an edit of it while it runs says that it waits for a restart", async () => {
    const { env, config } = await homeWith(echo);
    await using launcher = await startLauncher({ env });
    await config({ timeout_s: 5 });
    await until(() =>
      launcher.stderr().includes('\\"handler\\" was changed: it takes effect after a restart'),
    );
  });

  test.each([
    [
      "a command in one text",
      { command: "node agent.cjs" },
      /"handler\.command" must be a list of words.*\["node", "agent\.cjs"\]/,
    ],
    [
      "a program that is not there",
      { command: ["agnet"] },
      /The program "agnet" cannot be run: no folder of PATH/,
    ],
    [
      "an unknown key",
      { timeout: 5 },
      /"handler\.timeout" is not a setting\. Did you mean "timeout_s"/,
    ],
  ])("%s stops the start with one sentence", async (_, handler, sentence) => {
    const { env } = await homeWith(echo, handler);
    await using launcher = await spawnLauncher({ env });
    expect((await launcher.ended).code).toBe(1);
    const sentences = launcher
      .stderr()
      .split("\n")
      .filter((line) => line.startsWith("doorward: "));
    expect(sentences).toEqual([expect.stringMatching(sentence)]);
  });

  test("a program that others can change is not run", async () => {
    const { home, env } = await homeWith(echo);
    await chmod(join(home, "agent.cjs"), 0o666);
    await using launcher = await spawnLauncher({ env });
    expect((await launcher.ended).code).toBe(1);
    expect(launcher.stderr()).toContain(`chmod go-w ${join(home, "agent.cjs")}`);
  });
});

describe("doorward run", () => {
  test("starts a launcher around a program, in the folder where it was called and without any file", async () => {
    const { home, env } = await homeWith(echo);
    await rm(join(home, "config.json"));
    await using launcher = await startLauncher({
      env,
      cwd: home,
      args: ["run", "-port", "0", "--", process.execPath, "agent.cjs"],
    });
    const client = await pico(launcher.base);
    client.say("hello");
    expect((await client.next("message.create")).payload?.["content"]).toBe("you said hello");
    await client.close();
    await until(() => launcher.stderr().includes("a line for its author"));
    expect(launcher.stderr()).not.toContain("token source"); // what else the launcher says is for the file
    expect(launcher.stdout()).toContain("agent.cjs");
    launcher.child.kill("SIGTERM");
    expect(await launcher.ended).toEqual({ code: 0, signal: null });
  });

  test.each([
    [["run"], "doorward run -- python3 agent.py"],
    [["run", "node", "a.js", "-x"], "doorward run -- node a.js -x"],
    [["run", "-port", "0", "--"], "doorward run -- python3 agent.py"],
    [["run", "mine.json", "--", "node"], "no other file"],
  ])("%j says how it is called", async (args, form) => {
    await using launcher = await spawnLauncher({ args });
    expect((await launcher.ended).code).toBe(2);
    expect(launcher.stderr()).toContain(form);
  });
});
