// Tests a page of the console whose scripts load slowly or not at all.
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

const loading = (page: Page) => page.getByText("Loading… If it takes long, reload the page.");

describe("Page whose script loads slowly", () => {
  test("shows that it loads, and ignores clicks until it reacts", async () => {
    await openUnready("/overview-on", "overview\\.js", async (page, release) => {
      await loading(page).waitFor();
      const more = page.getByRole("button", { name: "More about the channel" });
      await expect(more.click({ timeout: 1_000 })).rejects.toThrow("intercepts pointer events");
      release();
      await loading(page).waitFor({ state: "hidden" });
      await more.click();
      await page.getByRole("menuitem", { name: "Turn off…" }).waitFor();
    });
  });

  test("offers to reload if the script is missing", async () => {
    await dashboard.open("/message", { viewport: { width: 1280, height: 900 } }, async (page) => {
      await page.route(/\/overview\.js/, (route) => route.abort());
      await page.goto(`${dashboard.site.origin}/overview-on`);
      await loading(page).waitFor();
      await page.unroute(/\/overview\.js/);
      await page.getByRole("link", { name: "reload the page" }).click();
      await page.getByText("Live", { exact: true }).waitFor();
    });
  });
});

describe("Chat whose script loads slowly", () => {
  test("loads the code of the conversation in the meantime", async () => {
    await openUnready("/chat/early", "chat\\.js", async (page) => {
      const loaded = () =>
        page.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => name));
      await expect.poll(loaded).toContainEqual(expect.stringMatching(/\/open-thread-\w+\.js$/));
    });
  });
});

describe("Part of a page whose script loads slowly", () => {
  test("keeps the elements of the server", async () => {
    await openUnready("/overview-on", "cards-", async (page, release) => {
      await page.getByText("Live", { exact: true }).waitFor();
      const chart = page.getByRole("img", { name: /^Messages per minute/ });
      await expect.poll(() => chart.count()).toBe(1);
      const channel = { ...running.channel!, connections: 17 };
      dashboard.site.status = { ...running, channel };
      dashboard.site.emit("connected", { at: running.now });
      await page.locator(".tile .v", { hasText: "17" }).waitFor();
      await expect.poll(() => chart.count()).toBe(1);
      release();
      const day = page.getByRole("radio", { name: "24 h" });
      // A click before the code of the cards is there has no effect.
      await expect.poll(() => day.click().then(() => day.isChecked())).toBe(true);
      await expect.poll(() => chart.count()).toBe(1);
    });
  });
});
