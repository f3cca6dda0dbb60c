// Tests the log page when its stream restarts.
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { useDashboard } from "./dashboard-pages.ts";

const dashboard = useDashboard();
const line = (at: number, text: string, level = "info") => ({ at, level, text, fields: {} });
const shown = (page: Page): Promise<string[]> => page.locator(".lines li > span").allTextContents();

describe("Log page", () => {
  test("shows no line twice after a level change", async () => {
    await dashboard.openLive("/log", async (page) => {
      dashboard.site.emit("log", line(1, "line 1", "error"));
      await page.getByText("line 1").waitFor();
      await page.getByLabel("Level").selectOption("error");
      await expect.poll(() => dashboard.site.opened.at(-1)).toBe("?log=error");
    });
  });

  test("keeps lines while paused and loads skipped lines when continued", async () => {
    await dashboard.openLive("/log", async (page) => {
      await page.getByRole("button", { name: "Pause" }).click();
      const before = await shown(page);
      dashboard.site.views.set("GET /api/log", { lines: [line(9, "line 9")], truncated: false });
      const answered = page.waitForResponse("**/api/log?*");
      dashboard.site.emit("hello", { resumed: false, state: "running", now: 1 });
      await answered;
      dashboard.site.emit("log", line(10, "line 10"));
      await page.getByText("paused, 1 new").waitFor();
      expect(await shown(page)).toEqual(before);
      dashboard.site.views.set("GET /api/log", {
        lines: [line(9, "line 9"), line(10, "line 10")],
        truncated: false,
      });
      await page.getByRole("button", { name: "Continue" }).click();
      await expect.poll(() => shown(page)).toEqual(["line 9", "line 10"]);
    });
  });
});
