import { AxeBuilder } from "@axe-core/playwright";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { launchBrowser } from "./browser.ts";
import { pages, startSite, type TestSite } from "./site.ts";

let browser: Browser;
let site: TestSite;
/** As a visitor has it. */
let visitor: BrowserContext;
/** Lets the checker's own script in. */
let checker: BrowserContext;

beforeAll(async () => {
  [browser, site] = await Promise.all([launchBrowser(), startSite()]);
  visitor = await browser.newContext();
  checker = await browser.newContext({ bypassCSP: true, reducedMotion: "reduce" });
});
afterAll(async () => {
  await browser?.close();
  await site?.[Symbol.asyncDispose]();
});

const wcag = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"];
const desktop = { width: 1280, height: 900 };
const phone = { width: 360, height: 740 };
/** What 1280 x 900 leaves at 200 % zoom. */
const zoomed = { width: 640, height: 450 };

/** What is folded at first must be as good as the rest. */
async function unfold(page: Page): Promise<void> {
  for (const summary of await page.locator("summary").all()) await summary.click();
  if ((await page.locator("#own").count()) > 0) await page.check("#own");
}

describe.each(Object.keys(pages))("%s", (path) => {
  test("has no accessibility violation, light on a desktop and dark on a phone", async () => {
    const page = await checker.newPage();
    await page.goto(site.origin + path);
    await unfold(page);
    for (const [colorScheme, viewport] of [["light", desktop], ["dark", phone]] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize(viewport);
      const { violations } = await new AxeBuilder({ page }).withTags(wcag).analyze();
      expect(violations.map(({ id, nodes }) => [id, ...nodes.map((n) => n.html)])).toEqual([]);
    }
    await page.close();
  });

  test("keeps its policy, asks no other origin, and never scrolls sideways on a phone or at 200 % zoom", async () => {
    const page = await visitor.newPage();
    const complaints: string[] = [];
    const asked: string[] = [];
    page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => asked.push(request.url()));
    await page.goto(site.origin + path);
    await unfold(page);
    const tabs = await page.locator('input[name="snippet"]:visible').all();
    for (const viewport of [phone, zoomed]) {
      await page.setViewportSize(viewport);
      const width = () => page.evaluate(() => document.documentElement.scrollWidth);
      expect(await width()).toBe(viewport.width);
      for (const tab of tabs) {
        await tab.check();
        expect(await width()).toBe(viewport.width);
      }
    }
    await page.close();
    expect(complaints).toEqual([]);
    expect(asked.length).toBeGreaterThan(2);
    expect(asked.filter((url) => !url.startsWith(`${site.origin}/`))).toEqual([]);
  });
});
