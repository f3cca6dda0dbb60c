import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { connectTestClient } from "../../testkit/index.ts";
import { findTool } from "../support/tools.ts";
import { startLauncher, type RunningLauncher } from "../e2e/launcher.ts";

const token = "0123456789abcdef".repeat(4);
const connections = 200;
const seconds = 25;

const slowhttptest = findTool("slowhttptest");

/** Returns the output of slowhttptest without colours. */
function slow({ base }: RunningLauncher, how: string): Promise<string> {
  const target = ["-u", new URL("/login", base).href, "-c", `${connections}`, "-r", "200"];
  const args = [how, ...target, "-i", "2", "-x", "10", "-p", "5", "-l", `${seconds}`];
  return new Promise((done, failed) => {
    execFile(slowhttptest!, args, { timeout: (seconds + 15) * 1_000 }, (error, stdout) =>
      error && stdout === "" ? failed(error) : done(stripVTControlCharacters(stdout)),
    );
  });
}

test.skipIf(!slowhttptest)("isolates slow headers, bodies and readers and cleans up", async () => {
  await using launcher = await startLauncher({
    env: {
      SERVICE_LAUNCHER_TOKEN: token,
      SERVICE_CHANNELS_PICO_ENABLED: "true",
      SERVICE_CHANNELS_PICO_TOKEN: token,
    },
  });
  const descriptors = async (): Promise<number> =>
    (await readdir(`/proc/${launcher.child.pid}/fd`)).length;
  await using client = await connectTestClient(new URL("/pico", launcher.base), {
    token,
    timeoutMs: 60_000,
  });
  const before = await descriptors();
  let most = 0;
  let isOver = false;
  const attacks = Promise.all(["-H", "-B", "-X"].map((how) => slow(launcher, how))).finally(() => {
    isOver = true;
  });
  for (let n = 0; !isOver; n++) {
    client.say(`message ${n}`);
    expect((await client.next("message.create")).payload?.["content"]).toBe(`message ${n}`);
    expect((await fetch(new URL("/healthz", launcher.base))).status).toBe(200);
    const login = {
      method: "POST",
      body: new URLSearchParams({ token }),
      redirect: "manual",
    } as const;
    if (n % 20 === 0)
      expect((await fetch(new URL("/login", launcher.base), login)).status).toBe(303);
    most = Math.max(most, await descriptors());
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const [headers = "", ...others] = await attacks;
  // The launcher closes slow headers well before the tool ends. Slow bodies and readers stay open.
  expect(headers).toContain("No open connections left");
  for (const output of [headers, ...others]) {
    expect(output).toMatch(/service available: +YES/);
    expect(output).not.toMatch(/service available: +NO/);
  }
  expect(most).toBeGreaterThan(before + connections);
  await expect.poll(descriptors, { timeout: 15_000 }).toBeLessThan(before + 20);
});
