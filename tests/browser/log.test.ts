import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { useDesk } from "./desk.ts";

const desk = useDesk();
const line = (at: number, text: string, level = "info") => ({ at, level, text, fields: {} });
const shown = (page: Page): Promise<string[]> => page.locator(".lines li > span").allTextContents();

test("another level begins anew: lines of before are not told a second time", async () => {
  await desk.look("/log", async (page) => {
    desk.site.emit("log", line(1, "line 1", "error"));
    await page.getByText("line 1").waitFor();
    await page.getByLabel("Level").selectOption("error");
    await expect.poll(() => desk.site.opened.at(-1)).toBe("?log=error");
  });
});

test("what is read while the log is paused stays, though the stream begins anew; going on shows what was missed", async () => {
  await desk.look("/log", async (page) => {
    await page.getByRole("button", { name: "Pause" }).click();
    const before = await shown(page);
    desk.site.views.set("GET /api/log", { lines: [line(9, "line 9")], truncated: false });
    const answered = page.waitForResponse("**/api/log?*");
    desk.site.emit("hello", { resumed: false, state: "running", now: 1 });
    await answered;
    desk.site.emit("log", line(10, "line 10"));
    await page.getByText("paused with 1 new").waitFor();
    expect(await shown(page)).toEqual(before);
    desk.site.views.set("GET /api/log", {
      lines: [line(9, "line 9"), line(10, "line 10")],
      truncated: false,
    });
    await page.getByRole("button", { name: "Continue" }).click();
    await expect.poll(() => shown(page)).toEqual(["line 9", "line 10"]);
  });
});
