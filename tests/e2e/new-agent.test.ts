// Tests the agents that `doorward new` writes, as a person who has just installed Doorward.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import { connectTestClient } from "../../testkit/index.ts";
import { findTool } from "../support/tools.ts";
import { spawnLauncher, startLauncher } from "./launcher.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const python = findTool("python");
const token = "correct-horse-battery-staple-channel";
const made: string[] = [];
afterEach(async () => {
  for (const folder of made.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function createFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "doorward-new-"));
  made.push(folder);
  return folder;
}

/** Writes a new agent. @returns Its folder, as npm and pip would leave it. */
async function createAgent(language: string): Promise<string> {
  const folder = join(await createFolder(), "my bot");
  await using command = await spawnLauncher({ args: ["new", language, folder] });
  expect(await command.ended).toMatchObject({ code: 0 });
  expect(command.stdout()).toContain(`cd '${folder}'\n`);
  if (language === "node") {
    await mkdir(join(folder, "node_modules"));
    await symlink(root, join(folder, "node_modules", "doorward"), "junction");
  }
  return folder;
}

const pythonPath = { PYTHONPATH: join(root, "python", "src") };

/** Sends messages to the agent, and answers its question. @returns the texts */
async function talkTo(words: readonly string[], folder: string): Promise<string[]> {
  await using launcher = await startLauncher({
    args: ["run", "-console", "-no-browser", "-port", "0", "--", ...words],
    cwd: folder,
    env: {
      SERVICE_CHANNELS_PICO_ENABLED: "true",
      SERVICE_CHANNELS_PICO_TOKEN: token,
      ...pythonPath,
    },
  });
  const client = await connectTestClient(new URL("/pico?session_id=s", launcher.base), { token });
  const texts: string[] = [];
  client.say("hello");
  texts.push(String((await client.next("message.create")).payload?.["content"]));
  client.say("delete build");
  const asked = (await client.next("message.create")).payload;
  const answer = await fetch(new URL("/pico/answer", launcher.base), {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({
      session_id: "s",
      message_id: asked?.["message_id"],
      option: "deny",
    }),
  });
  expect(answer.status).toBe(200);
  texts.push(String((await client.next("message.create")).payload?.["content"]));
  return texts;
}

describe("doorward new", () => {
  test("writes a Node agent that passes its test and asks", async () => {
    const folder = await createAgent("node");
    await run(process.execPath, ["--test"], { cwd: folder });
    expect(await talkTo(["node", "bot.mjs"], folder)).toEqual(["you said hello", "Kept."]);
  });

  test.skipIf(!python)("writes a Python agent that asks", async () => {
    const folder = await createAgent("python");
    const script =
      "import test_bot; test_bot.test_repeats_the_message(); " +
      "test_bot.test_asks_before_it_deletes()";
    await run(python!, ["-c", script], { cwd: folder, env: { ...process.env, ...pythonPath } });
    expect(await talkTo([python!, "bot.py"], folder)).toEqual(["you said hello", "Kept."]);
  });

  test.each([
    [["new"], /Name a language and a new folder/],
    [["new", "ruby", "x"], /Name a language and a new folder/],
  ])("rejects %j", async (args, expected) => {
    await using command = await spawnLauncher({ args });
    expect(await command.ended).toMatchObject({ code: 2 });
    expect(command.stderr()).toMatch(expected);
  });

  test("overwrites no file", async () => {
    const folder = await createFolder();
    await writeFile(join(folder, "bot.py"), "mine");
    await using command = await spawnLauncher({ args: ["new", "python", folder] });
    expect(await command.ended).toMatchObject({ code: 2 });
    expect(command.stderr()).toContain("has files");
    expect(await readdir(folder)).toEqual(["bot.py"]);
  });
});

describe("agent", () => {
  const bot = (name: string): string =>
    `import { agent } from "${new URL("../../dist/lib/agent/index.js", import.meta.url).href}";
    console.log("printed by a library");
    agent(async function* ({ content }) { yield "${name} " + content; });`;

  test("ends with one sentence behind a Doorward that is too old", async () => {
    const env = { ...process.env, DOORWARD_CAN: "stop" };
    const child = spawn(process.execPath, ["--input-type=module", "-e", bot("x")], { env });
    let err = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => void (err += text));
    expect(await once(child, "close")).toEqual([1, null]);
    expect(err).toMatch(/^This program needs a newer Doorward: .* no append, parts\.$/m);
  });

  test("keeps what libraries print away from Doorward", async () => {
    const folder = await createFolder();
    await writeFile(join(folder, "bot.mjs"), bot("you said"));
    await using launcher = await startLauncher({
      args: ["run", "-console", "-no-browser", "-port", "0", "--", "node", "bot.mjs"],
      cwd: folder,
      env: { SERVICE_CHANNELS_PICO_ENABLED: "true", SERVICE_CHANNELS_PICO_TOKEN: token },
    });
    const client = await connectTestClient(new URL("/pico", launcher.base), { token });
    client.say("hello");
    expect((await client.next("message.create")).payload?.["content"]).toBe("you said hello");
    await expect
      .poll(() => launcher.stderr() + launcher.stdout())
      .toContain("printed by a library");
  });
});
