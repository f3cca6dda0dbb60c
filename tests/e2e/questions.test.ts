// Tests questions of a real program, from the message to the answer on the command line.
import { spawn } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { hasTools } from "../support/tools.ts";
import { startLauncher } from "./launcher.ts";

const program = fileURLToPath(new URL("../../dist/bin/doorward.js", import.meta.url));
const example = fileURLToPath(new URL("../../examples/ask.py", import.meta.url));
const token = "correct-horse-battery-staple-channel";

/** Starts a launcher that runs the example in a folder with a folder `build`. */
async function start() {
  const folder = await mkdtemp(join(tmpdir(), "doorward-ask-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, "build"));
  await copyFile(example, join(folder, "ask.py"));
  const env = {
    SERVICE_HOME: join(folder, "home"),
    SERVICE_CHANNELS_PICO_ENABLED: "true",
    SERVICE_CHANNELS_PICO_TOKEN: token,
  };
  const args = ["run", "-console", "-port", "0", "--", "python3", "ask.py"];
  const launcher = await startLauncher({ env, args, cwd: folder });
  onTestFinished(() => launcher[Symbol.asyncDispose]());
  const doorward = (...words: string[]) =>
    new Promise<{ code: number | null; out: string; err: string }>((done) => {
      const child = spawn(process.execPath, [program, ...words], {
        env: { PATH: process.env["PATH"] ?? "", HOME: folder, ...env },
      });
      let out = "";
      let err = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => void (out += text));
      child.stderr.setEncoding("utf8").on("data", (text: string) => void (err += text));
      child.on("close", (code) => done({ code, out, err }));
    });
  const hasBuild = () =>
    stat(join(folder, "build")).then(
      () => true,
      () => false,
    );
  const questions = async () => {
    const { out } = await doorward("questions", "-json");
    return (JSON.parse(out) as { questions: { id: string }[] }).questions;
  };
  return { doorward, hasBuild, questions, launcher };
}

describe.skipIf(!hasTools("python"))("examples/ask.py", () => {
  test("deletes the folder after an answer on the command line", async () => {
    const { doorward, hasBuild, questions } = await start();
    const sent = doorward("send", "clean up");
    await expect.poll(questions, { timeout: 15_000 }).toHaveLength(1);
    expect(await hasBuild()).toBe(true);
    const [{ id }] = (await questions()) as [{ id: string }];
    expect((await doorward("questions")).out).toContain("Delete the folder build?");
    expect(await doorward("answer", id, "yes")).toMatchObject({ code: 1 });
    expect(await doorward("answer", id, "allow", "-text", "go on")).toMatchObject({
      code: 0,
      err: "answered: Allow by owner (cli)\n",
    });
    expect(await sent).toMatchObject({
      code: 0,
      out: "Deleted.\n",
      err: expect.stringContaining(`answer ${id} OPTION`),
    });
    expect(await hasBuild()).toBe(false);
    expect(await doorward("answer", id, "deny")).toMatchObject({
      code: 3,
      err: expect.stringContaining("another answer came first"),
    });
    expect(await doorward("answer", "0".repeat(32), "deny")).toMatchObject({ code: 3 });
  }, 60_000);

  test("ends send with the exit code 6 while the question is open", async () => {
    const { doorward, hasBuild } = await start();
    const { code, err } = await doorward("send", "-timeout", "1", "clean up");
    expect([code, err]).toEqual([6, expect.stringContaining("It is still open.")]);
    expect(await hasBuild()).toBe(true);
  }, 60_000);
});
