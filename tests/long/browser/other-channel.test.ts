// Tests the example channel of another author on pages and commands of a real launcher.
import { execFile } from "node:child_process";
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createQueue } from "../../../testkit/index.ts";
import { startLauncher, type RunningLauncher } from "../../e2e/launcher.ts";
import { hasBrowser, launchBrowser, skipWithoutBrowser } from "../../browser/browser.ts";
import { launcherToken, signIn } from "../../browser/chat-launcher.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../../", import.meta.url));
const many = "many words ".repeat(600);

let folder: string;
let env: Readonly<Record<string, string>>;
let browser: Browser;
let launcher: RunningLauncher;
let context: BrowserContext;
let port: number;
let client: Socket;
/** Datagrams that the client has received. */
const seen = createQueue<{ content?: string; from?: string; in_reply_to?: string }>(10_000);

/** Finds a port that no socket uses. */
async function freePort(): Promise<number> {
  const socket = createSocket("udp4");
  await once(socket.bind(0, "127.0.0.1"), "listening");
  const { port: free } = socket.address();
  socket.close();
  return free;
}

/** Creates a home with the example, as the page write-a-channel describes it. */
async function createHome(home: string): Promise<void> {
  await mkdir(join(home, "node_modules"), { recursive: true, mode: 0o700 });
  await copyFile(join(root, "examples", "channel-udp", "udp.js"), join(home, "udp.js"));
  await symlink(root, join(home, "node_modules", "doorward"), "junction");
  await symlink(join(root, "node_modules", "zod"), join(home, "node_modules", "zod"), "junction");
  await writeFile(join(home, "package.json"), '{"type":"module"}', { mode: 0o600 });
  const stream = join(root, "examples", "programs", "stream.mjs");
  const config = {
    plugins: ["./udp.js"],
    channels: { pico: { enabled: false }, udp: { port } },
    handler: { command: [process.execPath, stream] },
  };
  await writeFile(join(home, "config.json"), JSON.stringify(config), { mode: 0o600 });
}

beforeEach(skipWithoutBrowser);
beforeAll(async () => {
  if (!hasBrowser) return;
  folder = await mkdtemp(join(tmpdir(), "doorward-udp-"));
  const home = join(folder, "home");
  port = await freePort();
  await createHome(home);
  env = { SERVICE_HOME: home, SERVICE_LAUNCHER_TOKEN: launcherToken };
  [browser, launcher] = await Promise.all([launchBrowser(), startLauncher({ env })]);
  context = await signIn(browser, launcher.base);
  client = createSocket("udp4").on("message", (bytes) => seen.push(JSON.parse(String(bytes))));
  await once(client.bind(0, "127.0.0.1"), "listening");
});
afterAll(async () => {
  client?.close();
  await browser?.close();
  await launcher?.[Symbol.asyncDispose]();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const say = (text: string): void => client.send(text, port, "127.0.0.1");
const answer = (text: string) =>
  seen.next(`the answer "${text}"`, ({ content, from }) => content === text && !from);

/** Runs a command of the launcher. @returns Both outputs. */
async function command(...args: string[]): Promise<string> {
  const { stdout, stderr } = await run(
    process.execPath,
    [join(root, "dist", "bin", "doorward.js"), ...args],
    { env: { PATH: process.env["PATH"], HOME: folder, ...env } },
  );
  return stdout + stderr;
}

async function open(path: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(new URL(path, launcher.base).href);
  return page;
}

const stopButton = (page: Page) => page.getByRole("button", { name: "Stop", exact: true });

describe("a channel of another author", () => {
  test("shows its turns in the chat, and takes messages there", async () => {
    const isReady = async () => (await fetch(new URL("/readyz", launcher.base))).status;
    await expect.poll(isReady, { timeout: 10_000 }).toBe(200);
    say("hello there");
    await answer("You asked: hello there.");
    const page = await open("/chat");
    await page.getByRole("heading", { name: "hello there" }).waitFor();
    await page.locator(".msg.mine").getByText("hello there").waitFor();
    await page.getByText("You asked: hello there.").last().waitFor();
    await page.getByText("Channel udp", { exact: true }).waitFor();
    await page.getByLabel("Message", { exact: true }).fill("from the console");
    await page.keyboard.press("Enter");
    expect(
      await seen.next("the message of the owner", ({ from }) => from === "owner"),
    ).toMatchObject({ content: "from the console" });
    await answer("You asked: from the console.");
    await page.getByText("You asked: from the console.").last().waitFor();
    say("a third one");
    await page.getByText("You asked: a third one.").last().waitFor();
    await expect.poll(() => page.locator(".msg.mine").count()).toBe(3);
    await page.close();
  });

  test("stops its answers from the chat and the command line", async () => {
    const page = await open("/chat");
    for (const stop of [
      () => stopButton(page).click(),
      async () => expect(await command("stop")).toContain("stopped 1 message in 127.0.0.1 "),
    ]) {
      say(many);
      await stopButton(page).waitFor();
      await stop();
      await stopButton(page).waitFor({ state: "detached" });
    }
    expect(await command("stop")).toContain("no answer is running");
    await page.close();
  });

  test("appears in lists, searches, exports, status and metrics", async () => {
    const [, id = ""] = /^([\w-]+) {2}used/m.exec(await command("conversations", "list"))!;
    expect(await command("conversations", "search", "third")).toContain(id);
    expect(await command("conversations", "show", id)).toContain("You asked: a third one.");
    const document = JSON.parse(await command("conversations", "export", id)) as {
      conversation: { channel: string };
    };
    expect(document.conversation.channel).toBe("udp");
    expect(await command("status")).toMatch(/Channel +udp: 0 sessions, 5 received, \d+ sent/);
    expect(await command("doctor")).toContain("udp: kept");
    const headers = { authorization: `Bearer ${launcherToken}` };
    const metrics = await fetch(new URL("/metrics", launcher.base), { headers });
    expect(await metrics.text()).toContain(
      'doorward_channel_messages_total{channel="udp",direction="in"} 5',
    );
    expect(await command("conversations", "forget", id)).toContain("deleted");
    expect(await command("conversations", "list")).toContain("no conversations");
  });
});
