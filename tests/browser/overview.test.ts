import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { launchBrowser } from "./browser.ts";
import { fresh, running } from "./sample.ts";
import { startSite, type TestSite } from "./site.ts";

let browser: Browser;
let site: TestSite;

beforeAll(async () => {
  [browser, site] = await Promise.all([launchBrowser(), startSite()]);
});
afterAll(async () => {
  await browser?.close();
  await site?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  site.sent.length = 0;
  site.status = running;
  site.streams = true;
  site.answer = () => [200, {}];
});

type Look = (page: Page) => Promise<void>;

async function withPage(path: string, look: Look, options: BrowserContextOptions = {}): Promise<void> {
  const context = await browser.newContext(options);
  try {
    const page = await context.newPage();
    await page.goto(site.origin + path);
    await page.getByText("Live", { exact: true }).waitFor();
    await look(page);
  } finally {
    await context.close();
  }
}

test("what changes on the server appears by itself, as text only", async () => {
  await withPage("/overview-on", async (page) => {
    site.status = {
      ...running,
      channel: { ...running.channel!, connections: 17, perMinute: [0, 0, 0, 0, 0, 0, 0, 0, 0, 80] },
      signIns: [{ at: running.now, address: "<img src=x>", via: "form" }],
      warnings: [{ id: "w", text: "<b>weak token</b>", fix: "doorward token rotate" }],
    };
    site.emit("rate", { at: running.now, in: 1, out: 1, connections: 17, queuedBytes: 0 });
    await page.locator('[data-live="connections"]').getByText("17").waitFor();
    expect(await page.textContent('[data-live="chart-top"]')).toBe("80");
    expect(await page.locator("rect").last().getAttribute("height")).toBe("60");
    expect(await page.textContent('[data-live="sign-ins"]')).toContain("<img src=x>");
    expect(await page.isVisible("text=<b>weak token</b>")).toBe(true);
  });
});

test("a server that does not answer is said, and so is its return", async () => {
  site.streams = false;
  await withPage("/overview-on", async (page) => {
    site.status = undefined;
    await page.getByText("Reconnecting…").waitFor();
    site.status = running;
    await page.getByText("Live", { exact: true }).waitFor();
  });
});

test("an ended session is asked for the token over the page, and what was asked is asked again", async () => {
  let isSignedIn = false;
  site.answer = ({ path }) => {
    if (path === "/login") isSignedIn = true;
    const link = { url: "http://127.0.0.1/login?link=ott_x", expiresAt: "2026-04-14T09:35:00Z" };
    return isSignedIn ? [200, link] : [401, {}];
  };
  await withPage("/overview-on", async (page) => {
    await page.getByRole("button", { name: "Copy sign-in link" }).click();
    await page.getByLabel("Launcher token", { exact: true }).fill("the token");
    await page.keyboard.press("Enter");
    await page.getByText(/Works once, until \d/).waitFor();
    expect(site.sent.find(({ path }) => path === "/login")?.body).toBe('{"token":"the token"}');
  });
});

test("one click turns the channel on: with the etag last seen, and the card shows the address at once", async () => {
  site.status = fresh;
  site.answer = () => {
    site.status = running;
    return [200, { etag: '"b2"', now: ["enabled"], afterRestart: [] }];
  };
  await withPage("/overview-off", async (page) => {
    await page.getByRole("button", { name: "Turn the channel on" }).click();
    await page.getByText("The channel is on.").waitFor();
    expect(site.sent).toMatchObject([
      { method: "PUT", path: "/api/channels/pico", headers: { "if-match": '"a1"' }, body: '{"enabled":true}' },
    ]);
    expect(await page.inputValue("#channel-url")).toBe(running.channel?.url);
    expect(await page.isVisible("pre >> text=PASTE_CHANNEL_TOKEN")).toBe(true);
  });
});

test("settings changed meanwhile are loaded and said, and nothing is overwritten", async () => {
  site.status = fresh;
  site.answer = () => {
    site.status = { ...fresh, channel: { ...fresh.channel!, etag: '"c3"' } };
    return [412, { error: "etag_mismatch", message: "The file changed." }];
  };
  await withPage("/overview-off", async (page) => {
    const button = page.getByRole("button", { name: "Turn the channel on" });
    await button.click();
    await page.getByText("The settings had changed meanwhile.").waitFor();
    await button.click();
    await expect.poll(() => site.sent.map((request) => request.headers["if-match"])).toEqual(['"a1"', '"c3"']);
  });
});

test("turning the channel off asks first while clients are connected, and Escape keeps it on", async () => {
  await withPage("/overview-on", async (page) => {
    await page.getByRole("button", { name: "Turn off" }).click();
    await page.getByText("3 clients are disconnected.").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "hidden" });
    expect(site.sent).toEqual([]);
    await page.getByRole("button", { name: "Turn off" }).click();
    await page.getByRole("button", { name: "Turn it off" }).click();
    await expect.poll(() => site.sent.map((request) => request.body)).toEqual(['{"enabled":false}']);
  });
});

test("copying works through the clipboard, and without it selects the text for the keyboard", async () => {
  const allowed = { permissions: ["clipboard-read", "clipboard-write"] };
  await withPage("/overview-on", async (page) => {
    await page.getByRole("button", { name: "Copy snippet for Browser" }).click();
    await page.getByText("Copied").waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toContain('"message.send"');
  }, allowed);
  await withPage("/overview-on", async (page) => {
    await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
    await page.getByRole("button", { name: "Copy address" }).click();
    await page.getByText("Press Ctrl+C").waitFor();
    expect(await page.evaluate(() => getSelection()?.toString())).toBe(running.channel?.url);
  });
});

test("a sign-in link is made, shown and copied, with the time it ends", async () => {
  site.answer = () => [200, { url: "http://127.0.0.1/login?link=ott_x", expiresAt: "2026-04-14T09:35:00Z" }];
  await withPage("/overview-on", async (page) => {
    await page.getByRole("button", { name: "Copy sign-in link" }).click();
    await page.getByText(/Works once, until \d/).waitFor();
    expect(await page.inputValue("#sign-in-link")).toBe("http://127.0.0.1/login?link=ott_x");
    expect(site.sent).toMatchObject([{ method: "POST", path: "/api/signin-links" }]);
  });
});
