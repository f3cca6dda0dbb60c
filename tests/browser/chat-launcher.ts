// A real launcher whose program writes what a test says, and chat pages of it.
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { startLauncher } from "../e2e/launcher.ts";
import { findTool } from "../support/tools.ts";
import { hasBrowser, launchBrowser, skipWithoutBrowser } from "./browser.ts";

const program = fileURLToPath(new URL("puppet-agent.mjs", import.meta.url));
export const launcherToken = "correct-horse-battery-staple-0123456789-abc";
const channelToken = "another-horse-battery-staple-0123456789-abc";

/** Type and payload of a line of the program. */
export type Line = readonly [type: string, payload: object];

export const growing = (message_id: string, content: string): Line => [
  "message.create",
  { message_id, content, final: false },
];
export const ends = (message_id: string, content: string): Line => [
  "message.update",
  { message_id, content, final: true },
];

export const connected = (page: Page): Promise<void> =>
  page.getByText("Connected", { exact: true }).waitFor();
export const stopButton = (page: Page) => page.getByRole("button", { name: "Stop", exact: true });
export const sendButton = (page: Page) => page.getByRole("button", { name: "Send", exact: true });

/** Enters the launcher token on the page. */
export async function enterToken(page: Page): Promise<void> {
  await page.getByLabel("Launcher token", { exact: true }).fill(launcherToken);
  await page.keyboard.press("Enter");
}

/** @returns A signed-in browser without open pages. */
export async function signIn(
  browser: Browser,
  base: URL,
  options: BrowserContextOptions = {},
): Promise<BrowserContext> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  await page.goto(new URL("/login", base).href);
  await enterToken(page);
  await page.getByText("Live", { exact: true }).first().waitFor({ state: "attached" });
  await page.close();
  return context;
}

/** Sends a message with the composer. */
export async function write(page: Page, text: string): Promise<void> {
  await page.getByLabel("Message", { exact: true }).fill(text);
  await page.keyboard.press("Enter");
}

/** Texts of the rows, in order: messages with `> `, answers without. Omits how long work takes. */
export const rows = (page: Page) =>
  page
    .locator("article.msg")
    .evaluateAll((all) =>
      all.map((row) =>
        row.classList.contains("mine")
          ? `> ${row.querySelector(".bubble")?.textContent}`
          : [...row.querySelectorAll(".prose, .working, .failure p")]
              .map((part) => part.textContent.replace(/…\d+ s$/, "…"))
              .join(" | "),
      ),
    );

/** Starts the launcher and a browser that is signed in. */
async function startChat(example?: readonly string[]) {
  const home = await mkdtemp(join(tmpdir(), "doorward-runs-"));
  await mkdir(join(home, "home"), { mode: 0o700 });
  const node = join(home, "node");
  await symlink(process.execPath, node);
  const command = example ?? [node, program];
  const handler = { command, cwd: home, restart: "always" };
  const config = { channels: { pico: { enabled: true } }, handler };
  await writeFile(join(home, "home", "config.json"), JSON.stringify(config), { mode: 0o600 });
  const env = {
    SERVICE_HOME: join(home, "home"),
    SERVICE_LAUNCHER_TOKEN: launcherToken,
    SERVICE_CHANNELS_PICO_TOKEN: channelToken,
  };
  const [browser, launcher] = await Promise.all([launchBrowser(), startLauncher({ env })]);
  const faults: string[] = [];

  const signedIn = (base: URL, options?: BrowserContextOptions): Promise<BrowserContext> =>
    signIn(browser, base, options);
  /** Posts a message as a client with the channel token. */
  const post = (session_id: string, content: string, more = "") =>
    fetch(new URL(`/pico/messages${more}`, launcher.base), {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${channelToken}` },
      body: JSON.stringify({ session_id, id: `p-${Math.random()}`, content }),
    });
  let context = await signedIn(launcher.base);
  return {
    launcher,
    signedIn,
    post,
    /** Signs in again, after all sign-ins were ended. */
    renew: async (): Promise<void> => void (context = await signedIn(launcher.base)),
    /** Opens a conversation on a page. */
    async open(session: string, base = launcher.base, inside = context): Promise<Page> {
      const page = await inside.newPage();
      page.on("pageerror", (error) => faults.push(String(error)));
      await page.goto(new URL(`/chat/${session}`, base).href);
      await connected(page);
      return page;
    },
    /** Lets the program write lines about a message, once it has received it. */
    async say(to: string, about: string, ...lines: Line[]): Promise<void> {
      await expect
        .poll(async () => {
          const answer = await post(
            "control",
            JSON.stringify({ to, about, lines: [] }),
            "?wait=30",
          );
          const { messages } = (await answer.json()) as {
            messages: { payload: { content: string } }[];
          };
          return messages[0]?.payload.content;
        })
        .toMatch(/^\d+$/);
      await post("control", JSON.stringify({ to, about, lines }), "?wait=30");
    },
    /** Lets the program end. It cannot start again until `allowStart` is called. */
    async end(exit: number): Promise<void> {
      await rm(node);
      await post("control", JSON.stringify({ exit })).catch(() => undefined);
    },
    allowStart: (): Promise<void> => symlink(process.execPath, node),
    /** @throws the errors of the pages since the last call. */
    assertFaultless(): void {
      if (faults.length > 0) throw new Error(faults.splice(0).join("\n"));
    },
    async close(): Promise<void> {
      await browser.close();
      await launcher[Symbol.asyncDispose]();
      await rm(home, { recursive: true, force: true });
    },
  };
}

type LaunchedChat = Awaited<ReturnType<typeof startChat>>;

/**
 * Starts a launcher and a signed-in browser for the tests of a file or group. No page may have an
 * error.
 *
 * @param example - A program of `examples` in Python. @defaultValue the program of `say`
 */
export function useChat(example?: string): LaunchedChat {
  const python = example === undefined ? undefined : findTool("python");
  const isPossible = hasBrowser && (example === undefined || python !== undefined);
  const path = fileURLToPath(new URL(`../../examples/${example}`, import.meta.url));
  let chat: LaunchedChat | undefined;
  beforeEach(skipWithoutBrowser);
  beforeEach(({ skip }) => skip(!isPossible, "needs python3"));
  beforeAll(async () => {
    if (isPossible) chat = await startChat(python === undefined ? undefined : [python, path]);
  });
  afterEach(() => chat?.assertFaultless());
  afterAll(() => chat?.close());
  return new Proxy({} as LaunchedChat, { get: (_, name) => Reflect.get(chat!, name) as unknown });
}
