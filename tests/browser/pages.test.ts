// Tests accessibility, size and layout of every page.
import { gzipSync } from "node:zlib";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { StatusView } from "../../plugins/dashboard/api/views.ts";
import { expectAccessible } from "./axe.ts";
import { hasBrowser, launchBrowser, skipWithoutBrowser } from "./browser.ts";
import { fresh, program, running } from "./sample.ts";
import { docsNames, pages, startSite, type TestSite } from "./site.ts";

let browser: Browser;
let site: TestSite;
/** Browser of a visitor. */
let visitor: BrowserContext;
/** Browser that ignores the content policy, so that axe can run. */
let checker: BrowserContext;

beforeEach(skipWithoutBrowser);
beforeAll(async () => {
  if (!hasBrowser) return;
  [browser, site] = await Promise.all([launchBrowser(), startSite()]);
  visitor = await browser.newContext();
  checker = await browser.newContext({ bypassCSP: true, reducedMotion: "reduce" });
});
afterAll(async () => {
  await browser?.close();
  await site?.[Symbol.asyncDispose]();
});

const desktop = { width: 1280, height: 900 };
const phone = { width: 360, height: 740 };
/** Size of 1280 x 900 pixels at 200 % zoom. */
const zoomed = { width: 640, height: 450 };

/** Opens a page. Pages for signed-in browsers are complete once they show "Live". */
async function openPage(page: Page, path: string): Promise<void> {
  const { channel: _, ...withoutChannel } = running;
  const statuses: Readonly<Record<string, StatusView>> = {
    "/overview-program": { ...fresh, program },
    "/overview-off": fresh,
    "/overview-without-channel": withoutChannel,
  };
  site.status = statuses[path] ?? running;
  await page.goto(site.origin + path);
  if ((await page.locator('[data-live="feed"]').count()) > 0)
    await page.getByText("Live", { exact: true }).waitFor();
  if ((await page.locator("#data").count()) === 0) return;
  await page.locator("html[data-ready]").waitFor();
  await page.locator(".skeletons").waitFor({ state: "detached" });
}

/** Opens collapsed content, so that the checks cover it. */
async function unfold(page: Page): Promise<void> {
  for (const summary of await page.locator("summary").all()) await summary.click();
  if ((await page.locator("#own").count()) > 0) await page.check("#own");
}

describe.each(Object.keys(pages))("%s", (path) => {
  test("has no accessibility violations in both themes", async () => {
    const page = await checker.newPage();
    await openPage(page, path);
    await unfold(page);
    for (const [colorScheme, viewport] of [
      ["light", desktop],
      ["dark", phone],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize(viewport);
      await expectAccessible(page);
    }
    // axe needs reduced motion.
    expect(await page.evaluate(() => document.getAnimations().length)).toBe(0);
    await page.close();
  });

  test("fits its policy, its budget and the width without layout shifts", async () => {
    const page = await visitor.newPage();
    await page.setViewportSize(desktop);
    const complaints: string[] = [];
    const asked: string[] = [];
    const sizes: Promise<number>[] = [];
    page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => asked.push(request.url()));
    page.on("response", (response) => {
      if (response.status() === 200 && !later.test(response.url()))
        sizes.push(response.body().then((body) => transferSize(response.url(), body)));
    });
    await openPage(page, path);
    const shifted = await shiftOf(page);
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
    const weight = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    await page.close();
    expect(complaints).toEqual([]);
    expect(asked.length).toBeGreaterThan(2);
    expect(asked.filter((url) => new URL(url).host !== new URL(site.origin).host)).toEqual([]);
    expect(weight).toBeLessThan(budgetOf(path));
    expect(shifted).toBeLessThan(0.01);
  });
});

test("fits documentation pages to the width of a phone", async () => {
  const page = await checker.newPage();
  await page.setViewportSize(phone);
  expect(docsNames.length).toBeGreaterThan(20);
  for (const name of docsNames) {
    await page.goto(`${site.origin}/docs/${name}`);
    expect([name, await page.evaluate(() => document.documentElement.scrollWidth)]).toEqual([
      name,
      phone.width,
    ]);
  }
  await page.close();
});

test("renders nothing before the whole page has arrived", async () => {
  const page = await visitor.newPage();
  await page.addInitScript(() =>
    requestAnimationFrame(() => {
      document.documentElement.dataset["drawn"] = document.querySelector("body > #end")
        ? "whole"
        : "in part";
    }),
  );
  site.pauseMs = 400;
  await page.goto(`${site.origin}/setup-page`);
  site.pauseMs = 0;
  await page.locator("[data-drawn]").waitFor();
  expect(await page.getAttribute("html", "data-drawn")).toBe("whole");
  await page.close();
});

/** Bytes of a first visit: the document, styles, scripts and fonts, with gzip. */
function budgetOf(path: string): number {
  if (/^\/(sign-in|setup)/.test(path)) return 40_000;
  return path.startsWith("/chat") ? 85_000 : 80_000;
}

/** Not part of the first visit: data, icons, the font of code, and scripts that load later. */
const later =
  /\/api\/|\.svg$|jetbrains-mono|(dialog-layers|engine|highlight|inspector|link|qr-path)-\w+\.js$/;

/** Fonts are compressed already. */
const transferSize = (url: string, body: Buffer): number =>
  url.endsWith(".woff2") ? body.length : gzipSync(body, { level: 9 }).length;

/** Returns the cumulative layout shift. */
function shiftOf(page: Page): Promise<number> {
  return page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        let sum = 0;
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries())
            sum += (entry as unknown as { value: number }).value;
        }).observe({ type: "layout-shift", buffered: true });
        requestAnimationFrame(() => setTimeout(() => resolve(sum), 50));
      }),
  );
}
