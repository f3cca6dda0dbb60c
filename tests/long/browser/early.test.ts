// Tests what users do on a page of the console before its script has loaded.
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { useDashboard } from "../../browser/dashboard-pages.ts";
import { running } from "../../browser/sample.ts";

const dashboard = useDashboard();

/** Opens a page whose script loads when `release` is called. */
async function openUnready(
  path: string,
  script: string,
  use: (page: Page, release: () => void) => Promise<void>,
): Promise<void> {
  await dashboard.open("/message", { viewport: { width: 1280, height: 900 } }, async (page) => {
    let release = (): void => undefined;
    const isReleased = new Promise<void>((resolve) => (release = resolve));
    await page.route(new RegExp(`/${script}`), async (route) => {
      await isReleased;
      await route.continue();
    });
    await page.goto(dashboard.site.origin + path, { waitUntil: "commit" });
    try {
      await use(page, release);
    } finally {
      release();
    }
  });
}

describe("Page whose script loads slowly", () => {
  test("opens the menu that was clicked, once", async () => {
    await openUnready("/overview-on", "overview\\.js", async (page, release) => {
      const more = page.getByRole("button", { name: "More about the channel" });
      await more.click();
      await more.click();
      expect(await page.locator("html[data-ready]").count()).toBe(0);
      release();
      await page.getByRole("menuitem", { name: "Turn off…" }).waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("menu").waitFor({ state: "detached" });
    });
  });

  test("repeats clicks by their order", async () => {
    await openUnready("/overview-on", "overview\\.js", async (page, release) => {
      await page.getByRole("radio", { name: "Dark" }).click();
      await page.getByRole("button", { name: "Search Ctrl K" }).press("Enter");
      release();
      await page.getByRole("combobox").waitFor();
      expect(await page.getAttribute("html", "data-theme")).toBe("dark");
    });
  });

  test("keeps text that was typed", async () => {
    await openUnready("/clients/connections", "connections\\.js", async (page, release) => {
      const filter = page.getByLabel("Filter connections");
      await filter.pressSequentially("kitchen");
      const filtered = page.waitForRequest(/\/api\/connections\?.*text=kitchen/);
      release();
      await filtered;
      expect(await filter.inputValue()).toBe("kitchen");
    });
  });
});

describe("Part of a page whose script loads slowly", () => {
  test("keeps the elements of the server and repeats clicks", async () => {
    await openUnready("/overview-on", "cards-", async (page, release) => {
      await page.getByText("Live", { exact: true }).waitFor();
      const chart = await page.getByRole("img", { name: /^Messages per minute/ }).elementHandle();
      const channel = { ...running.channel!, connections: 17 };
      dashboard.site.status = { ...running, channel };
      dashboard.site.emit("connected", { at: running.now });
      await page.locator(".tile .v", { hasText: "17" }).waitFor();
      await page.getByRole("radio", { name: "24 h" }).click();
      release();
      await page.getByRole("radio", { name: "24 h", checked: true }).waitFor();
      expect(await page.getByRole("img", { name: /^Messages per minute/ }).count()).toBe(1);
      expect(await chart!.evaluate((element) => element.isConnected)).toBe(true);
      expect(await page.locator("[data-waiting]").count()).toBe(0);
    });
  });
});

describe("Page whose script cannot be loaded at first", () => {
  test.each(["overview\\.js", "common-"])("reloads itself if %s is missing", async (script) => {
    await dashboard.open("/message", { viewport: { width: 1280, height: 900 } }, async (page) => {
      let attempts = 0;
      await page.route(new RegExp(`/${script}`), (route) =>
        ++attempts <= 2 ? route.abort() : route.continue(),
      );
      await page.goto(`${dashboard.site.origin}/overview-on`);
      await page
        .getByText("A script of this page could not be loaded. The page reloads.")
        .waitFor();
      await page.getByText("Live", { exact: true }).waitFor();
      expect(attempts).toBe(3);
    });
  });
});
