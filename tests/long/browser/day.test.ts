// Tests the pages of a running launcher in the order of a day.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { describe, afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { WebSocket } from "ws";
import { freePort } from "../../e2e/free-port.ts";
import {
  enablePico,
  finishSetup,
  sessionCookie,
  startLauncher,
  type RunningLauncher,
} from "../../e2e/launcher.ts";
import { hasBrowser, launchBrowser, skipWithoutBrowser } from "../../browser/browser.ts";

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

/** Records errors, foreign requests and policy violations. */
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

/** Enters the launcher token in the open dialog. */
async function confirm(on: Page, token = launcher.token!): Promise<void> {
  await on.getByRole("dialog").locator('input[type="password"]').fill(token);
  await on.keyboard.press("Enter");
}

describe("Dashboard of a running launcher", () => {
  it("loads every page without errors, foreign requests or policy violations", async () => {
    const paths = [
      "/clients",
      "/clients/connections",
      "/chat",
      "/security",
      "/settings",
      "/activity",
      "/doctor",
      "/overview",
    ];
    for (const path of paths) {
      await page.goto(url(path));
      await isLive();
      await expect
        .poll(async () => [path, await page.locator(".problem:visible").allTextContents()])
        .toEqual([path, []]);
    }
    expect(problems).toEqual([]);
  });

  it("tests all methods and runs all doctor checks", async () => {
    await page.goto(url("/clients"));
    await page.getByRole("button", { name: "Try every way" }).click();
    await expect
      .poll(() => page.locator('[data-method="header"]').textContent())
      .toContain("Works");
    await expect
      .poll(() => page.locator('[data-method="query"]').textContent())
      .toContain("Turned off");
    await page.goto(url("/doctor"));
    await page.getByText(/\d+ checks/).waitFor();
    await expect.poll(() => page.locator(".checks li").count()).toBeGreaterThan(3);
    expect(problems).toEqual([]);
  });

  it("keeps the chat open and disconnects old clients during token rotation", async () => {
    const chat = watched(await context.newPage());
    await chat.goto(url("/chat#garden"));
    await chat.getByText("Connected", { exact: true }).waitFor();
    const client = new WebSocket(url("/pico").replace("http", "ws"), [`token.${channelToken}`]);
    const closed = new Promise<number>((resolve) => client.once("close", resolve));
    await new Promise((open, failed) => client.once("open", open).once("error", failed));

    await page.goto(url("/clients/connections"));
    await page.getByText("This dashboard").first().waitFor();
    await page.getByText("subprotocol").waitFor();

    await page.goto(url("/security"));
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
    await chat.locator(".msg:not(.mine)").getByText("still here?").waitFor();
    await chat.getByText("Sent", { exact: true }).waitFor();
    await chat.close();
    channelToken = shown;
    expect(problems).toEqual([]);
  });

  it("ends the chat of a browser that another browser signed out", async () => {
    const elsewhere = await browser.newContext({ userAgent: "Elsewhere/1.0" });
    const other = watched(await elsewhere.newPage());
    await signIn(other);
    await other.goto(url("/chat#lost"));
    await other.getByText("Connected", { exact: true }).waitFor();
    await page.goto(url("/security"));
    await page.getByRole("button", { name: /Sign out Elsewhere/ }).click();
    await confirm(page);
    await other.getByText("signed out from another browser").waitFor();
    await other.getByText("Your session has ended. Sign in, then connect again.").waitFor();
    await confirm(other);
    await isLive(other);
    await other.getByText("Connected", { exact: true }).waitFor();
    await elsewhere.close();
    expect(problems).toEqual([]);
  });

  it("explains a token rotation and resumes the chat after sign-in", async () => {
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
    await chat.getByText("Your session has ended. Sign in, then connect again.").waitFor();
    await chat
      .getByRole("dialog")
      .getByText("The launcher token was rotated, which signs out all browsers.")
      .waitFor();
    await confirm(chat, token);
    await isLive(chat);
    await chat.getByText("Connected", { exact: true }).waitFor();
    await chat.getByLabel("Message", { exact: true }).fill("back again");
    await chat.keyboard.press("Enter");
    await chat.locator(".msg:not(.mine)").getByText("back again").waitFor();
    await elsewhere.close();

    expect((await rotate(token, launcher.token!)).status).toBe(200);
    await page.goto(url("/login"));
    await signIn(page);
    expect(problems).toEqual([]);
  });

  it("applies settings and shows a file edit next to typed input", async () => {
    await page.goto(url("/settings"));
    await page.locator("#channels-pico-max_connections").fill("55");
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByText("1 setting saved").waitFor();

    await page.getByLabel("Ping interval", { exact: true }).fill("15");
    const file = join(launcher.home, "config.json");
    await writeFile(
      file,
      (await readFile(file, "utf8")).replace(/("max_connections": *55)/, '$1, "ping_interval": 45'),
    );
    await page.getByText("The file now contains 45 s. You typed 15 s.").waitFor();
    await page.getByRole("button", { name: "Use file value" }).click();

    await page.goto(url("/overview"));
    await page.getByText("of 55").waitFor();
    expect(problems).toEqual([]);
  });

  it("asks for the token after a restart and resumes", async () => {
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
    await left.goto(url("/clients/connections", first.base));
    await isLive(left);
    await left.getByLabel("Filter connections").fill("half typed");
    first.child.kill("SIGTERM");
    await first.ended;
    await left.getByText("Reconnecting…").waitFor();
    await using second = await startLauncher({ home, args });
    await left.getByText("Your session has ended").waitFor();
    await confirm(left, first.token!);
    await isLive(left);
    await expect.poll(() => left.getByLabel("Filter connections").inputValue()).toBe("half typed");
    await own.close();
    await second[Symbol.asyncDispose]();
    await rm(home, { recursive: true, force: true });
  }, 120_000); // two starts

  /** Signs in 100 times with one write, so that the requests arrive within a second. */
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

  it("samples a flooded log and stays usable", async () => {
    await page.goto(url("/activity"));
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
    // After more than 100 events in a second, the page loads all lines again.
    const signedIn = page.locator(".line", { hasText: "signed in" });
    const missing = page.getByText(/lines not shown/);
    await expect
      .poll(async () => (await missing.count()) > 0 || (await signedIn.count()) >= 100)
      .toBe(true);
    await page.getByLabel("Filter").fill("signed out");
    await expect.poll(() => page.locator(".line", { hasText: "signed in" }).count()).toBe(0);
    await expect
      .poll(() => page.locator(".line", { hasText: "signed out" }).count())
      .toBeGreaterThan(0);
    expect(problems).toEqual([]);
  });

  it("counts down the rate limit where wrong tokens were typed", async () => {
    await page.goto(url("/security"));
    await page.getByRole("button", { name: "Show the channel token" }).click();
    for (let attempt = 0; attempt < 12; attempt++) {
      await page.getByRole("dialog").locator('input[type="password"]').fill(`wrong ${attempt}`);
      await page.keyboard.press("Enter");
      const problem = () => page.getByRole("dialog").locator(".problem").textContent();
      await expect.poll(problem).not.toBe("");
      if ((await problem())?.startsWith("Too many")) break;
    }
    await page.getByText(/Try again in \d+ s/).waitFor();
    // A generated token bypasses the limit.
    await confirm(page);
    await expect
      .poll(() =>
        page.getByRole("dialog").getByLabel("Channel token", { exact: true }).inputValue(),
      )
      .toBe(channelToken);
    expect(problems).toEqual([]);
  });

  it("rotates the launcher token with the keyboard and stays signed in", async () => {
    await page.goto(url("/overview"));
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
    await tabTo(/^Security$/);
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
    await expect.poll(() => page.getByText("Your session has ended").count()).toBe(0);
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.getByRole("heading", { name: "Sign in", exact: true }).waitFor();
    await signIn(page, token);
    expect(problems).toEqual([]);
  });
});
