// Tests every page in print, with forced colours, from right to left and at 200 % zoom.
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { useDashboard } from "../../browser/dashboard-pages.ts";

const dashboard = useDashboard();
const paths = [
  "/overview-program",
  "/chat",
  "/clients",
  "/clients/connections",
  "/security",
  "/settings",
  "/activity",
  "/doctor",
  "/docs/pico",
];
/** Width of an A4 page without its margins. */
const paper = { width: 718, height: 1000 };
const desktop = { width: 1280, height: 860 };
const smallPhone = { width: 320, height: 640 };
const tablet = { width: 768, height: 1024 };
/** Size of 1280 x 860 pixels at 200 % zoom. */
const zoomed = { width: 640, height: 430 };

const openPage = (path: string, use: (page: Page) => Promise<void>): Promise<void> =>
  dashboard.open(path, { viewport: desktop, reducedMotion: "reduce" }, async (page) => {
    await page.locator("html[data-ready]").waitFor({ state: "attached" });
    await use(page);
  });

/** Pixels by which the page or its main part is wider than its space. */
const overflow = (page: Page): Promise<number> =>
  page.evaluate(() => {
    const boxes = [document.documentElement, document.getElementById("main")!];
    return Math.max(...boxes.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth));
  });

/** Colours of the first match: text and background. */
const colours = (page: Page, selector: string): Promise<string> =>
  page
    .locator(selector)
    .first()
    .evaluate((element) => {
      const { color, backgroundColor } = getComputedStyle(element);
      return `${color} ${backgroundColor}`;
    });

describe.each(paths)("%s", (path) => {
  test("prints its content alone, dark on white", async () => {
    await openPage(path, async (page) => {
      await page.setViewportSize(paper);
      await page.emulateMedia({ media: "print", colorScheme: "dark" });
      await expect
        .poll(() => page.locator("#rail, #top, #bottom").filter({ visible: true }).count())
        .toBe(0);
      const controls = page.locator(".button, .icon-button, .tabs, .segment, .search");
      await expect.poll(() => controls.filter({ visible: true }).count()).toBe(0);
      await expect.poll(() => page.locator("main").filter({ visible: true }).count()).toBe(1);
      const scheme = () => getComputedStyle(document.documentElement).colorScheme;
      await expect.poll(() => page.evaluate(scheme)).toBe("light");
      await expect.poll(() => overflow(page)).toBe(0);
      if (path.startsWith("/chat")) await page.locator(".msg").first().waitFor();
      else
        await expect.poll(() => page.locator("main h1").filter({ visible: true }).count()).toBe(1);
    });
  });

  test("marks the current page and the focus with forced colours", async () => {
    await openPage(path, async (page) => {
      await page.emulateMedia({ forcedColors: "active" });
      const others = await colours(page, "#rail nav a:not([aria-current])");
      await expect.poll(() => colours(page, "#rail [aria-current]")).not.toBe(others);
      await page.locator("#rail .jump").focus();
      await page.keyboard.press("Tab");
      const outline = () => getComputedStyle(document.activeElement!).outlineStyle;
      await expect.poll(() => page.evaluate(outline)).not.toBe("none");
    });
  });

  test("mirrors the frame, but not code, from right to left", async () => {
    await openPage(path, async (page) => {
      await page.evaluate(() => (document.documentElement.dir = "rtl"));
      const end = ({ x, width }: { x: number; width: number }): number => x + width;
      await expect
        .poll(async () => end((await page.locator("#rail").boundingBox())!))
        .toBe(desktop.width);
      await expect.poll(() => overflow(page)).toBe(0);
      const directions = () =>
        [...document.querySelectorAll("pre")].map((code) => getComputedStyle(code).direction);
      await expect
        .poll(async () => new Set(["ltr", ...(await page.evaluate(directions))]))
        .toEqual(new Set(["ltr"]));
      await page.setViewportSize({ width: 390, height: 844 });
      await expect.poll(() => overflow(page)).toBe(0);
    });
  });

  test("keeps its width at 200 % zoom and on small screens", async () => {
    await openPage(path, async (page) => {
      for (const size of [tablet, smallPhone]) {
        await page.setViewportSize(size);
        await expect.poll(() => overflow(page)).toBe(0);
      }
      await page.setViewportSize(zoomed);
      await expect.poll(() => overflow(page)).toBe(0);
      await expect
        .poll(async () => (await page.locator("main").boundingBox())!.height)
        .toBeGreaterThan(zoomed.height / 2);
    });
  });
});
