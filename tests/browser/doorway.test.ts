// Tests that sign-in, setup and errors are usable by everyone: themes, widths, zoom and keyboard.
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { expectAccessible } from "./axe.ts";
import { useDashboard } from "./dashboard-pages.ts";

const dashboard = useDashboard();

const paths = ["/sign-in-wrong", "/setup-cookie", "/setup-weak", "/message"] as const;
const widths = [1280, 768, 390, 320] as const;

const hasSidewaysScrolling = (page: Page): Promise<boolean> =>
  page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);

describe.each(paths)("%s", (path) => {
  test("has no accessibility violations in both themes at all widths", async () => {
    await dashboard.open(path, { bypassCSP: true, reducedMotion: "reduce" }, async (page) => {
      for (const summary of await page.locator("summary").all()) await summary.click();
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        for (const width of widths) {
          await page.setViewportSize({ width, height: 800 });
          await expectAccessible(page);
          await expect
            .poll(async () => [width, await hasSidewaysScrolling(page)])
            .toEqual([width, false]);
        }
      }
    });
  });

  test("stays usable with forced colours and right to left", async () => {
    const narrow = { width: 390, height: 800 };
    await dashboard.open(path, { forcedColors: "active", viewport: narrow }, async (page) => {
      for (const button of await page.locator(".button:visible").all())
        await expect
          .poll(() => button.evaluate((it) => getComputedStyle(it).borderTopWidth))
          .not.toBe("0px");
      await page.evaluate(() => document.documentElement.setAttribute("dir", "rtl"));
      await expect.poll(() => hasSidewaysScrolling(page)).toBe(false);
    });
  });
});

describe("keyboard", () => {
  test("reaches every control of the setup in reading order", async () => {
    dashboard.site.views.set("POST /setup/token", { token: "a-generated-token-1" });
    await dashboard.open("/setup-cookie", {}, async (page) => {
      await page.locator("html[data-ready]").waitFor();
      const focused = (): Promise<string> =>
        page.evaluate(() => {
          const { id, textContent } = document.activeElement!;
          const { value } = document.activeElement as HTMLInputElement;
          return id || textContent || value;
        });
      const reached: string[] = [];
      for (let step = 0; step < 6; step += 1) {
        await page.keyboard.press("Tab");
        reached.push(await focused());
      }
      expect(reached).toEqual([
        "true",
        "generated",
        "Show",
        "Copy",
        "Finish setup",
        "Where is the generated token?",
      ]);
      await page.getByRole("button", { name: "Show generated token" }).focus();
      await page.keyboard.press("Enter");
      await expect
        .poll(() => page.getByLabel("Your generated token").inputValue())
        .toBe("a-generated-token-1");
      await page.locator(`[name="keep"][value="true"]`).focus();
      await page.keyboard.press("ArrowDown");
      await expect
        .poll(() => page.getByLabel("Your token", { exact: true }).isVisible())
        .toBe(true);
    });
  });
});
