// Tests how the chat page begins without a channel or without all of its scripts.
import type { Page } from "playwright-core";
import { beforeEach, describe, expect, test } from "vitest";
import { useDashboard } from "./dashboard-pages.ts";

const dashboard = useDashboard();
const connected = (page: Page): Promise<void> =>
  page.getByText("Connected", { exact: true }).waitFor();
const field = (page: Page) => page.getByLabel("Message", { exact: true });

beforeEach(() => {
  dashboard.site.channel.echoes = true;
});

describe("Chat page", () => {
  test("waits with its connection until the channel is on", async () => {
    const { site } = dashboard;
    const off = { ...site.status!.channel!, enabled: false, etag: '"c1"' };
    const on = site.status;
    site.status = { ...on!, channel: off };
    const before = site.channel.dialled.length;
    await dashboard.openLive("/chat/quiet", async (page) => {
      await page.getByText("The channel is off.", { exact: true }).waitFor();
      await page.getByText("Disconnected", { exact: true }).waitFor();
      await field(page).fill("hello");
      await field(page).press("Enter");
      await page.getByText("Waiting for connection…", { exact: true }).waitFor();
      const asked = page.waitForResponse(/\/api\/status/);
      site.emit("settings", {});
      await asked;
      expect(site.channel.dialled).toHaveLength(before);
      site.status = on;
      site.emit("settings", {});
      await connected(page);
      await page.getByText("echo: hello", { exact: true }).waitFor();
      expect(site.channel.dialled).toHaveLength(before + 1);
    });
  });

  test("says that a script is missing, and keeps the draft", async () => {
    await dashboard.open("/message", {}, async (page) => {
      await page.route(/\/wire-/, (route) => route.abort());
      await page.goto(`${dashboard.site.origin}/chat/scripts`);
      await page.getByText("A part of the page could not be loaded.", { exact: true }).waitFor();
      await field(page).fill("are you there?");
      await page.unroute(/\/wire-/);
      await page.getByRole("button", { name: "Reload the page" }).click();
      await connected(page);
      await expect.poll(() => field(page).inputValue()).toBe("are you there?");
      await field(page).press("Enter");
      await page.getByText("echo: are you there?", { exact: true }).waitFor();
    });
  });

  test("keeps a draft that the browser has not stored yet", async () => {
    await dashboard.openLive("/chat/storing", async (page) => {
      await page.evaluate(() => {
        IDBObjectStore.prototype.put = () => {
          document.body.dataset["storing"] = "";
          return new EventTarget() as IDBRequest<IDBValidKey>;
        };
      });
      await field(page).fill("half a thought");
      await page.locator("body[data-storing]").waitFor();
      await page.reload();
      await expect.poll(() => field(page).inputValue()).toBe("half a thought");
    });
  });
});
