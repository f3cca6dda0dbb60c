// Tests the activity page in a browser.
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { useDashboard } from "./dashboard-pages.ts";
import { running } from "./sample.ts";

const dashboard = useDashboard();
const line = (at: number, text: string, level = "info", fields: object = {}) => ({
  at,
  level,
  text,
  fields,
});
/** Shown lines, newest first. */
const shown = (page: Page): Promise<string[]> => page.locator(".line .text").allTextContents();
const list = (page: Page) => page.getByRole("log", { name: "Log, newest line first" });

describe("Activity page", () => {
  test("filters by level and keeps the filter in the address", async () => {
    await dashboard.openLive("/activity", async (page) => {
      dashboard.site.emit("log", line(running.now, "line 1", "error"));
      await page.getByText("line 1").waitFor();
      for (const name of [/Warnings/, /Info/]) await page.getByRole("button", { name }).click();
      await expect.poll(() => dashboard.site.opened.at(-1)).toBe("?log=error");
      await expect.poll(() => new URL(page.url()).search).toBe("?level=error");
      await expect.poll(() => page.locator(".line:not(.lv-error)").count()).toBe(0);
      await page.getByLabel("Filter").fill("nothing like this");
      await page.getByText("No matching lines").waitFor();
      await page.getByRole("button", { name: "Clear filters" }).click();
      await expect.poll(() => new URL(page.url()).search).toBe("");
    });
  });

  test("filters loaded and new lines by words and fields", async () => {
    await dashboard.openLive("/activity", async (page) => {
      await expect
        .poll(() => page.getByRole("link", { name: "Download" }).getAttribute("href"))
        .toMatch(/\/api\/log\/download$/);
      const asked = page.waitForRequest("**/api/log?*text=kitchen*");
      await page.getByLabel("Filter").fill("opened conversation:kitchen");
      await asked;
      const expected = Array.from({ length: 10 }, () => "connection opened");
      await expect.poll(() => shown(page)).toEqual(expected);
      dashboard.site.emit("log", line(running.now, "opened in the garden"));
      dashboard.site.emit(
        "log",
        line(running.now, "window opened", "info", { session: "kitchen" }),
      );
      await expect.poll(() => shown(page)).toEqual(["window opened", ...expected]);
      await expect.poll(() => page.locator("mark").first().textContent()).toBe("opened");
    });
  });

  test("shows the reason of a line in its row", async () => {
    await dashboard.openLive("/activity", async (page) => {
      const fields = { reason: "token_mismatch", ip: "::1" };
      dashboard.site.emit("log", line(running.now, "client rejected", "warn", fields));
      await page.getByText("client rejected · token_mismatch").waitFor();
      const bars = page.locator(".histogram .room");
      await expect.poll(() => bars.count()).toBeLessThanOrEqual(90);
      await expect.poll(() => page.locator(".histogram .warn").count()).toBeGreaterThan(0);
    });
  });

  test("opens a line with its fields and narrows the filter to them", async () => {
    await dashboard.openLive("/activity", async (page) => {
      const fields = { request_id: "7f3a", ip: "::1" };
      dashboard.site.emit("log", line(running.now, "<b>slow</b> reply", "warn", fields));
      await page.getByRole("button", { name: "<b>slow</b> reply" }).click();
      await page.locator(".more code", { hasText: '"request_id": "7f3a"' }).waitFor();
      await expect.poll(() => new URL(page.url()).search).toMatch(/^\?line=\d+-\w+$/);
      await page.getByRole("button", { name: "Only request 7f3a" }).click();
      await expect.poll(() => page.getByLabel("Filter").inputValue()).toBe("request:7f3a");
      await expect.poll(() => page.locator(".line b").count()).toBe(0);
    });
  });

  test("opens the line that the address names", async () => {
    await dashboard.openLive("/activity-line", async (page) => {
      await page.locator(".line.open .more").waitFor();
      await expect.poll(() => page.getByLabel("Filter").inputValue()).toBe("connection");
    });
  });

  test("keeps lines while paused and loads skipped lines afterwards", async () => {
    await dashboard.openLive("/activity", async (page) => {
      await page.getByRole("button", { name: "Pause" }).click();
      const before = await shown(page);
      dashboard.site.views.set("GET /api/log", { lines: [line(9, "line 9")], truncated: false });
      const answered = page.waitForResponse("**/api/log?*");
      dashboard.site.emit("hello", { resumed: false, state: "running", now: 1 });
      await answered;
      dashboard.site.emit("log", line(10, "line 10"));
      await page.getByText("paused, 1 new").waitFor();
      await expect.poll(() => shown(page)).toEqual(before);
      dashboard.site.views.set("GET /api/log", {
        lines: [line(9, "line 9"), line(10, "line 10")],
        truncated: false,
      });
      await page.getByRole("button", { name: "Follow" }).click();
      await expect.poll(() => shown(page)).toEqual(["line 10", "line 9"]);
    });
  });

  test("stops following while scrolled and returns to the newest line", async () => {
    await dashboard.openLive("/activity", async (page) => {
      await list(page).evaluate((box) => {
        box.scrollTop = 300;
      });
      // The scroll event comes with the next frame.
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => done(0))));
      dashboard.site.emit("log", line(running.now, "while scrolled"));
      await page.getByRole("button", { name: "1 new line" }).click();
      await page.getByText("while scrolled").waitFor();
      await expect.poll(() => list(page).evaluate((box) => box.scrollTop)).toBe(0);
    });
  });

  test("draws only lines near the visible part of 1,000", async () => {
    await dashboard.openLive("/activity", async (page) => {
      for (let at = 0; at < 1500; at++)
        dashboard.site.emit("log", line(running.now, `line ${at}`, "info", { at }));
      await page.getByText("line 1499", { exact: true }).waitFor();
      dashboard.site.emit("log-skipped", { count: 731 });
      await page.getByText("731 lines skipped").waitFor();
      await page.getByText("731 lines not shown").waitFor();
      await expect.poll(() => page.locator(".line").count()).toBeLessThan(300);
      await expect
        .poll(() => list(page).evaluate((box) => box.scrollHeight))
        .toBeGreaterThan(999 * 25);
      await list(page).evaluate((box) => {
        box.scrollTop = box.scrollHeight;
      });
      await page.getByText("line 501", { exact: true }).waitFor();
      await expect.poll(() => page.getByText("line 1499", { exact: true }).count()).toBe(0);
    });
  });

  test("limits the list to a minute of the histogram with the keyboard", async () => {
    await dashboard.openLive("/activity", async (page) => {
      const slider = page.getByRole("slider");
      await expect.poll(() => slider.getAttribute("aria-valuetext")).toMatch(/: \d+ lines?/);
      const all = (await shown(page)).length;
      await slider.focus();
      await page.keyboard.press("ArrowLeft");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: /^Only \d\d:\d\d$/ }).waitFor();
      await expect.poll(async () => (await shown(page)).length).toBeLessThan(all);
      await page.getByRole("button", { name: /^Only/ }).click();
      await expect.poll(async () => (await shown(page)).length).toBe(all);
    });
  });

  test("moves between lines with the keyboard", async () => {
    await dashboard.openLive("/activity", async (page) => {
      const focusedLine = () =>
        page.evaluate(() => document.activeElement?.closest(".line")?.getAttribute("data-line"));
      await page.locator("body").press("j");
      await expect.poll(focusedLine).toBeDefined();
      const first = await focusedLine();
      await page.keyboard.press("j");
      await expect.poll(focusedLine).not.toBe(first);
      await page.keyboard.press("ArrowUp");
      await expect.poll(focusedLine).toBe(first);
      await page.keyboard.press("f");
      await page.getByRole("button", { name: "Follow" }).waitFor();
    });
  });

  test("merges streamed and loaded lines without loss or duplicates", async () => {
    await dashboard.openLive("/activity", async (page) => {
      const held: ((lines: object[]) => Promise<void>)[] = [];
      await page.route(
        "**/api/log?*",
        (route) => void held.push((lines) => route.fulfill({ json: { lines } })),
      );
      const told = (at: number) => line(at, `line ${at} of the garden`, "info", { at });
      const says = (at: number): Promise<void> => page.getByText(told(at).text).waitFor();
      await page.getByLabel("Filter").fill("garden");
      await expect.poll(() => held.length).toBe(1);
      for (const at of [2, 4]) dashboard.site.emit("log", told(at));
      await says(4);
      await held[0]!([told(1), told(2), told(3)]);
      await says(1);
      for (const at of [3, 5]) dashboard.site.emit("log", told(at));
      await says(5);
      const numbers = async () => (await shown(page)).map((text) => /line (\d)/.exec(text)?.[1]);
      await expect.poll(numbers).toEqual(["5", "4", "3", "2", "1"]);
    });
  });
});
