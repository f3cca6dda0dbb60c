// Tests a program as the application of a launcher.
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { connectTestClient } from "../../testkit/index.ts";
import { isAlive, waitFor } from "../support/program-harness.ts";
import { startClient } from "./client.ts";
import { spawnLauncher, startLauncher } from "./launcher.ts";

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

/** Creates a home with a program and the environment that turns on the channel. */
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

describe("Setting handler", () => {
  test("starts a program without tokens and reports its crash", async () => {
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

  test("answers doorward send and doorward client in several parts", async () => {
    const { env } = await homeWith(`
      const say = (type, payload) => console.log(JSON.stringify({ type, payload }));
      const part = (request_id, content, more) => say("message.create", { request_id, content, ...more });
      say("ready", { can: process.env.DOORWARD_CAN.split(",") });
      require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
        const { type, id } = JSON.parse(line);
        if (type !== "message.send") return;
        part(id, "one");
        part(id, "", { kind: "tool_calls", tool_calls: [{ id: "c", function: { name: "f", arguments: "" } }] });
        setTimeout(() => {
          part(id, "two");
          say("message.ack", { request_id: id, final: true });
        }, 400);
      });`);
    await using launcher = await startLauncher({ env });
    const url = String(new URL("/pico", launcher.base)).replace("http", "ws");
    const folder = await mkdtemp(join(tmpdir(), "doorward-client-"));
    made.push(folder);
    const run = async (args: readonly string[], input = "") => {
      const own = { SERVICE_CHANNELS_PICO_CLIENT_TOKEN: token };
      await using client = await startClient({ folder, url }, args, own);
      client.child.stdin.end(input);
      return await client.ended;
    };
    expect(await run(["send", "hi"])).toMatchObject({ code: 0, out: "one\n\ntwo\n" });
    const json = await run(["send", "-json", "hi"]);
    expect(JSON.parse(json.out)).toMatchObject({ content: "one\n\ntwo", complete: true });
    expect(await run(["client"], "hi\n")).toMatchObject({ code: 0, out: "one\ntwo\n" });
    const lines = (
      await run(["client", "-json"], '{"type":"message.send","payload":{"content":"hi"}}\n')
    ).out;
    expect(lines).toMatch(/"content": ?"two"/);
    expect(launcher.stderr()).not.toContain("invalid");
  });

  test("stops all processes of the program when the launcher is killed", async () => {
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
    await waitFor(() => !pids.some(isAlive));
  });

  test("reports that a change needs a restart", async () => {
    const { env, config } = await homeWith(echo);
    await using launcher = await startLauncher({ env });
    await config({ timeout_s: 5 });
    await waitFor(() =>
      launcher.stderr().includes('\\"handler\\" was changed: it takes effect after a restart'),
    );
  });

  test.each([
    [
      "a command in one text",
      { command: "node agent.cjs" },
      /"handler\.command" must be a list of the program.*\["node", "agent\.cjs"\]/,
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
  ])("exits with one sentence for %s", async (_, handler, sentence) => {
    const { env } = await homeWith(echo, handler);
    await using launcher = await spawnLauncher({ env });
    expect((await launcher.ended).code).toBe(1);
    const sentences = launcher
      .stderr()
      .split("\n")
      .filter((line) => line.startsWith("doorward: "));
    expect(sentences).toEqual([expect.stringMatching(sentence)]);
  });

  test("rejects a program that other users can change", async () => {
    const { home, env } = await homeWith(echo);
    await chmod(join(home, "agent.cjs"), 0o666);
    await using launcher = await spawnLauncher({ env });
    expect((await launcher.ended).code).toBe(1);
    expect(launcher.stderr()).toContain(`chmod go-w ${join(home, "agent.cjs")}`);
  });
});

describe("doorward run", () => {
  test("starts a launcher around a program without any file", async () => {
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
    await waitFor(() => launcher.stderr().includes("a line for its author"));
    expect(launcher.stderr()).not.toContain("token source"); // all other output goes to the file
    expect(launcher.stdout()).toContain("agent.cjs");
    launcher.child.kill("SIGTERM");
    expect(await launcher.ended).toEqual({ code: 0, signal: null });
  });

  test.each([
    [["run"], "doorward.js run -- python3 agent.py"],
    [["run", "node", "a.js", "-x"], "doorward.js run -- node a.js -x"],
    [["run", "-port", "0", "--"], "doorward.js run -- python3 agent.py"],
    [["run", "mine.json", "--", "node"], "name no configuration file"],
  ])("prints its usage for %j", async (args, form) => {
    await using launcher = await spawnLauncher({ args });
    expect((await launcher.ended).code).toBe(2);
    expect(launcher.stderr()).toContain(form);
  });
});
