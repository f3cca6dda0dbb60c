import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { WebSocket } from "ws";
import { freePort } from "../e2e/free-port.ts";
import {
  enablePico,
  finishSetup,
  sessionCookie,
  startLauncher,
  type RunningLauncher,
} from "../e2e/launcher.ts";
import { hasBrowser, launchBrowser, skipWithoutBrowser } from "./browser.ts";

/* A day with the real launcher: what people do on its pages, in the order in which it happens. */

let browser: Browser;
let launcher: RunningLauncher;
let context: BrowserContext;
let page: Page;
let channelToken: string;
let problems: string[];

const secret = /[0-9a-f]{64}/;
const url = (path: string, base = launcher.base): string => new URL(path, base).href;
const isLive = (on = page): Promise<void> => on.getByText("Live", { exact: true }).waitFor();

beforeEach(skipWithoutBrowser);
beforeAll(async () => {
  if (!hasBrowser) return;
  [browser, launcher] = await Promise.all([launchBrowser([], "complete"), startLauncher()]);
  channelToken = await enablePico(launcher, await finishSetup(launcher));
  context = await browser.newContext();
  page = watched(await context.newPage());
  await signIn(page);
});
afterAll(async () => {
  await browser?.close();
  await launcher?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  problems = [];
});

/** Reports what must never happen on our pages. */
function watched(page: Page): Page {
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on(
    "request",
    (request) => new URL(request.url()).host === launcher.base.host || problems.push(request.url()),
  );
  page.on("console", (message) => {
    if (/Content Security Policy|Refused to/.test(message.text())) problems.push(message.text());
  });
  return page;
}

async function signIn(on: Page, token = launcher.token!): Promise<void> {
  await on.goto(url("/login"));
  await on.getByLabel("Launcher token", { exact: true }).fill(token);
  await on.keyboard.press("Enter");
  await isLive(on);
}

/** Types the launcher token into the dialog that asks for it. */
async function confirm(on: Page, token = launcher.token!): Promise<void> {
  await on.getByRole("dialog").locator('input[type="password"]').fill(token);
  await on.keyboard.press("Enter");
}

it("every page comes to life without a fault, a foreign request or a broken policy", async () => {
  const paths = [
    "/connect",
    "/connections",
    "/chat",
    "/tokens",
    "/sessions",
    "/settings",
    "/log",
    "/doctor",
    "/",
  ];
  for (const path of paths) {
    await page.goto(url(path));
    await isLive();
    expect([path, await page.locator(".problem:visible").allTextContents()]).toEqual([path, []]);
  }
  expect(problems).toEqual([]);
});

it("every way in is tried, and a check of everything finds a reason for each result", async () => {
  await page.goto(url("/connect"));
  await page.getByRole("button", { name: "Try every way" }).click();
  await expect.poll(() => page.locator('[data-method="header"]').textContent()).toContain("Works");
  expect(await page.locator('[data-method="query"]').textContent()).toContain("Switched off");
  await page.goto(url("/doctor"));
  await page.getByText(/\d+ checks/).waitFor();
  expect(await page.locator(".checks li").count()).toBeGreaterThan(3);
  expect(problems).toEqual([]);
});

it("a chat goes on while the channel token is replaced, and its clients with the old one are cut off", async () => {
  const chat = watched(await context.newPage());
  await chat.goto(url("/chat#garden"));
  await chat.getByText("Connected", { exact: true }).waitFor();
  const client = new WebSocket(url("/pico").replace("http", "ws"), [`token.${channelToken}`]);
  const closed = new Promise<number>((resolve) => client.once("close", resolve));
  await new Promise((open, failed) => client.once("open", open).once("error", failed));

  await page.goto(url("/connections"));
  await page.getByText("this dashboard").waitFor();
  await page.getByText("subprotocol").waitFor();

  await page.goto(url("/tokens"));
  await page.getByRole("button", { name: "Replace the channel token" }).click();
  await confirm(page);
  const shown = await page
    .getByRole("dialog")
    .getByLabel("Channel token", { exact: true })
    .inputValue();
  expect(shown).toMatch(secret);
  expect(shown).not.toBe(channelToken);
  expect(await readFile(join(launcher.home, ".security.yml"), "utf8")).toContain(shown);
  expect(await closed).toBe(1012);

  await chat.getByLabel("Message", { exact: true }).fill("still here?");
  await chat.keyboard.press("Enter");
  await chat.locator(".message.answer").getByText("still here?").waitFor();
  await chat.getByText("taken", { exact: true }).waitFor();
  await chat.close();
  channelToken = shown;
  expect(problems).toEqual([]);
});

it("a browser signed out from another one hears why at once, and its chat ends too", async () => {
  const elsewhere = await browser.newContext({ userAgent: "Elsewhere/1.0" });
  const other = watched(await elsewhere.newPage());
  await signIn(other);
  await other.goto(url("/chat#lost"));
  await other.getByText("Connected", { exact: true }).waitFor();
  await page.goto(url("/sessions"));
  await page.getByRole("button", { name: /Sign out Elsewhere/ }).click();
  await confirm(page);
  await other.getByText("signed out from another browser").waitFor();
  await other.getByText("The session of this browser has ended").waitFor();
  await confirm(other);
  await isLive(other);
  await other.getByRole("button", { name: "Connect again" }).click();
  await other.getByText("Connected", { exact: true }).waitFor();
  await elsewhere.close();
  expect(problems).toEqual([]);
});

it("a launcher token replaced elsewhere ends a chat, which says why and goes on after signing in again", async () => {
  const elsewhere = await browser.newContext();
  const chat = watched(await elsewhere.newPage());
  await signIn(chat);
  await chat.goto(url("/chat#handover"));
  await chat.getByText("Connected", { exact: true }).waitFor();
  const token = "another-launcher-token-0123456789";
  const rotate = (current: string, next: string): Promise<Response> =>
    fetch(url("/api/token/rotate"), {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${current}` },
      body: JSON.stringify({ which: "launcher", current, token: next }),
    });
  expect((await rotate(launcher.token!, token)).status).toBe(200);
  await chat.getByText("The session of this browser has ended").waitFor();
  await chat
    .getByRole("dialog")
    .getByText("The launcher token was replaced, which ends every session.")
    .waitFor();
  await confirm(chat, token);
  await isLive(chat);
  await chat.getByRole("button", { name: "Connect again" }).click();
  await chat.getByText("Connected", { exact: true }).waitFor();
  await chat.getByLabel("Message", { exact: true }).fill("back again");
  await chat.keyboard.press("Enter");
  await chat.locator(".message.answer").getByText("back again").waitFor();
  await elsewhere.close();

  expect((await rotate(token, launcher.token!)).status).toBe(200);
  await page.goto(url("/login"));
  await signIn(page);
  expect(problems).toEqual([]);
});

it("settings take effect, and a hand edit of the file while one types is shown beside it", async () => {
  await page.goto(url("/settings"));
  await page.getByLabel("Maximum connections").fill("55");
  await page
    .getByRole("form", { name: "Pico channel" })
    .getByRole("button", { name: "Save" })
    .click();
  await page.getByText(/Saved\..*Maximum connections/).waitFor();

  await page.getByLabel("Ping interval").fill("15");
  const file = join(launcher.home, "config.json");
  await writeFile(
    file,
    (await readFile(file, "utf8")).replace(/("max_connections": *55)/, '$1, "ping_interval": 45'),
  );
  await page.getByText("The file says 45 meanwhile; you typed 15.").waitFor();
  await page.getByRole("button", { name: "Take theirs" }).click();

  await page.goto(url("/"));
  await page.getByText("of 55").waitFor();
  expect(problems).toEqual([]);
});

it("a page left open through a restart of the launcher asks for the token and goes on", async () => {
  const home = await mkdtemp(join(tmpdir(), "doorward-home-"));
  const args = ["-console", "-port", String(await freePort())];
  await using first = await startLauncher({ home, args });
  const own = await browser.newContext();
  const left = await own.newPage();
  await finishSetup(first);
  await left.goto(url("/login", first.base));
  await left.getByLabel("Launcher token", { exact: true }).fill(first.token!);
  await left.keyboard.press("Enter");
  await isLive(left);
  await left.goto(url("/connections", first.base));
  await isLive(left);
  await left.fill("#filter", "half typed");
  first.child.kill("SIGTERM");
  await first.ended;
  await left.getByText("Reconnecting…").waitFor();
  await using second = await startLauncher({ home, args });
  await left.getByText("Sign in again").waitFor();
  await confirm(left, first.token!);
  await isLive(left);
  expect(await left.inputValue("#filter")).toBe("half typed");
  await own.close();
  await second[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
}, 120_000); // two starts

/** A program that signs in a hundred times at once: one write, so that however slow the machine is no second passes. */
async function flood(): Promise<void> {
  const body = JSON.stringify({ token: launcher.token });
  const head = [
    "POST /login HTTP/1.1",
    `Host: ${launcher.base.host}`,
    "Content-Type: application/json",
  ];
  const request = [...head, `Content-Length: ${body.length}`, "", body].join("\r\n");
  const socket = connect(Number(launcher.base.port), launcher.base.hostname).setEncoding("utf8");
  socket.write(request.repeat(100));
  let answers = "";
  for await (const text of socket) {
    answers += text;
    if (answers.split("HTTP/1.1 200").length > 100) break;
  }
}

it("under a flood the log shows a part and says how much it leaves out, and stays usable", async () => {
  await page.goto(url("/log"));
  await isLive();
  const post = (path: string, cookie: string): Promise<Response> =>
    fetch(url(path), {
      method: "POST",
      headers: { cookie },
      body: new URLSearchParams({ token: launcher.token! }),
      redirect: "manual",
    });
  await post("/logout", sessionCookie(await post("/login", "")));
  await flood();
  await page.getByText(/were too many to show/).waitFor();
  await page.getByLabel("Filter").fill("signed out");
  await expect.poll(() => page.locator(".lines li", { hasText: "signed in" }).count()).toBe(0);
  expect(await page.locator(".lines li", { hasText: "signed out" }).count()).toBeGreaterThan(0);
  expect(problems).toEqual([]);
});

it("wrong tokens run into the limit, which counts down where they were typed", async () => {
  await page.goto(url("/tokens"));
  await page.getByRole("button", { name: "Show the channel token" }).click();
  for (let attempt = 0; attempt < 12; attempt++) {
    await page.getByRole("dialog").locator('input[type="password"]').fill(`wrong ${attempt}`);
    await page.keyboard.press("Enter");
    await expect
      .poll(() => page.getByRole("dialog").locator(".problem").textContent())
      .not.toBe("");
    if ((await page.getByText(/Try again in \d+ s/).count()) > 0) break;
    await page
      .getByRole("dialog")
      .locator(".problem")
      .evaluate((element) => {
        element.textContent = "";
      });
  }
  await page.getByText(/Try again in \d+ s/).waitFor();
  // A whole generated token is let through all the same.
  await confirm(page);
  expect(
    await page.getByRole("dialog").getByLabel("Channel token", { exact: true }).inputValue(),
  ).toBe(channelToken);
  expect(problems).toEqual([]);
});

it("with the keyboard alone: to the tokens, replace the launcher token, see it, and stay signed in", async () => {
  await page.goto(url("/"));
  await isLive();
  const focused = () =>
    page.evaluate(() => {
      const { ariaLabel, textContent } = document.activeElement!;
      return (ariaLabel ?? textContent ?? "").trim();
    });
  const tabTo = async (name: RegExp): Promise<void> => {
    for (let steps = 0; steps < 40; steps++) {
      await page.keyboard.press("Tab");
      if (name.test(await focused())) return;
    }
    throw new Error(`the focus does not reach ${name}`);
  };
  await tabTo(/^Tokens$/);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Replace the launcher token" }).waitFor();
  await tabTo(/^Replace the launcher token$/);
  await page.keyboard.press("Enter");
  await page.keyboard.type(launcher.token!);
  await page.keyboard.press("Enter");
  const token = await page
    .getByRole("dialog")
    .getByLabel("Launcher token", { exact: true })
    .inputValue();
  expect(token).not.toBe(launcher.token);
  await tabTo(/^Done$/);
  await page.keyboard.press("Enter");
  await expect.poll(focused).toBe("Replace the launcher token");
  await isLive();
  expect(await page.getByText("Sign in again").count()).toBe(0);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in", exact: true }).waitFor();
  await signIn(page, token);
  expect(problems).toEqual([]);
});
