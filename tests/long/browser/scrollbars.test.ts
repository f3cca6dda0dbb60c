// Tests that no page scrolls in two places, and none sideways, with scrollbars that take room.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { hasBrowser, launchBrowser, skipWithoutBrowser } from "../../browser/browser.ts";
import { fresh, program, running } from "../../browser/sample.ts";
import { pages, startSite, type TestSite } from "../../browser/site.ts";

let browser: Browser;
let site: TestSite;
beforeEach(skipWithoutBrowser);
beforeAll(async () => {
  if (!hasBrowser) return;
  [browser, site] = await Promise.all([launchBrowser(), startSite()]);
});
afterAll(async () => {
  await browser?.close();
  await site?.[Symbol.asyncDispose]();
});

const widths = [320, 360, 390, 768, 1_280, 1_920];
/** Headless browsers have none. These take 15 px, as on Windows and on many Linux desktops. */
const classic = "*::-webkit-scrollbar { width: 15px; height: 15px; }";

async function open(page: Page, path: string): Promise<void> {
  site.status = path === "/overview-program" ? { ...fresh, program } : running;
  await page.goto(site.origin + path);
  if ((await page.locator("#data").count()) > 0) {
    await page.locator("html[data-ready]").waitFor();
    await page.locator(".skeletons").waitFor({ state: "detached" });
  }
  await page.addStyleTag({ content: classic });
}

/** @returns What scrolls although it must not. */
const faultsOf = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const root = document.documentElement;
    const found: string[] = [];
    if (root.scrollWidth > root.clientWidth) found.push(`sideways: ${root.scrollWidth} px`);
    const main = document.querySelector(".page");
    if (main && main.scrollWidth > main.clientWidth)
      found.push(`sideways in the page: ${main.scrollWidth} of ${main.clientWidth} px`);
    if (!main) return found;
    const isScrolling = main.scrollHeight > main.clientHeight;
    if (isScrolling && root.scrollHeight > root.clientHeight)
      found.push(`twice: ${root.scrollHeight} of ${root.clientHeight} px`);
    return found;
  });

describe.each(Object.keys(pages))("%s", (path) => {
  test("scrolls in one place and not sideways", async () => {
    const page = await browser.newPage({ bypassCSP: true });
    await open(page, path);
    const faults: Record<number, string[]> = {};
    for (const width of widths) {
      await page.setViewportSize({ width, height: 600 });
      const found = await faultsOf(page);
      if (found.length > 0) faults[width] = found;
    }
    await page.close();
    expect(faults).toEqual({});
  });
});
