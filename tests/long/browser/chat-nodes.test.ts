// Tests chat pages of two launchers that share their conversations through Redis.
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { hasBrowser, launchBrowser, skipWithoutBrowser } from "../../browser/browser.ts";
import {
  connected,
  launcherToken,
  rows,
  signIn,
  stopButton,
  write,
} from "../../browser/chat-launcher.ts";
import { startLauncher, type RunningLauncher } from "../../e2e/launcher.ts";
import { redisSecret } from "../../support/redis-nodes.ts";
import { hasRedis, startRedis } from "../../support/redis-server.ts";

const program = fileURLToPath(new URL("../children/growing-agent.mjs", import.meta.url));

async function startNode(url: string, prefix: string): Promise<RunningLauncher> {
  const home = await mkdtemp(join(tmpdir(), "doorward-node-"));
  await mkdir(join(home, "home"), { mode: 0o700 });
  const handler = { command: [process.execPath, program], cwd: home };
  const store = { kind: "redis", url, prefix };
  const config = { channels: { pico: { enabled: true } }, handler, store };
  await writeFile(join(home, "home", "config.json"), JSON.stringify(config), { mode: 0o600 });
  const launcher = await startLauncher({
    env: {
      SERVICE_HOME: join(home, "home"),
      SERVICE_LAUNCHER_TOKEN: launcherToken,
      SERVICE_CHANNELS_PICO_TOKEN: "another-horse-battery-staple-0123456789-abc",
      SERVICE_STORE_SECRET: redisSecret,
    },
  });
  onTestFinished(async () => {
    await launcher[Symbol.asyncDispose]();
    await rm(home, { recursive: true, force: true });
  });
  return launcher;
}

async function openChat(browser: Browser, { base }: RunningLauncher): Promise<Page> {
  const context = await signIn(browser, base);
  const page = await context.newPage();
  await page.goto(new URL("/chat/shared", base).href);
  await connected(page);
  return page;
}

describe.skipIf(!hasRedis || !hasBrowser)("Running answer of another node", () => {
  beforeEach(skipWithoutBrowser);

  test("has Stop on every page, and is lost after a kill", async () => {
    await using server = await startRedis();
    const prefix = randomUUID();
    const nodes = [await startNode(server.url, prefix), await startNode(server.url, prefix)];
    const browser = await launchBrowser();
    onTestFinished(() => browser.close());
    const [here, there] = [await openChat(browser, nodes[0]!), await openChat(browser, nodes[1]!)];
    await write(here, "First");
    await expect.poll(() => rows(here)).toEqual(["> First", "About First | Writing…"]);
    await there.reload();
    await expect.poll(() => rows(there)).toEqual(["> First", "About First | Writing…"]);
    await stopButton(there).click();
    for (const page of [here, there]) {
      await expect.poll(() => rows(page)).toEqual(["> First", "About First | Stopped"]);
      await stopButton(page).waitFor({ state: "detached" });
    }
    await write(here, "Second");
    const before = ["> First", "About First | Stopped", "> Second"];
    await expect.poll(() => rows(there)).toEqual([...before, "About Second | Writing…"]);
    await stopButton(there).waitFor();
    nodes[0]!.child.kill("SIGKILL");
    await stopButton(there).waitFor({ state: "detached" });
    const after = [...before, "About Second | Doorward was stopped before the answer ended."];
    await expect.poll(() => rows(there)).toEqual(after);
    await there.reload();
    await expect.poll(() => rows(there)).toEqual(after);
  });
});
