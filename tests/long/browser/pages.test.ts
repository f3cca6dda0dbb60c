// Tests accessibility, size and layout of every page.
import { gzipSync } from "node:zlib";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { StatusView } from "../../../plugins/dashboard/shared/views.ts";
import { expectAccessible } from "../../browser/axe.ts";
import { hasBrowser, launchBrowser, skipWithoutBrowser } from "../../browser/browser.ts";
import { firstVisit, fresh, program, running } from "../../browser/sample.ts";
import { docsNames, pages, startSite, type TestSite } from "../../browser/site.ts";

let browser: Browser;
let site: TestSite;
/** Browser of a visitor. */
let visitor: BrowserContext;

beforeEach(skipWithoutBrowser);
beforeAll(async () => {
  if (!hasBrowser) return;
  [browser, site] = await Promise.all([launchBrowser(), startSite()]);
  visitor = await browser.newContext();
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
    "/overview-guide": firstVisit,
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
  for (const summary of await page.locator("summary:visible").all()) await summary.click();
  if ((await page.locator("#own").count()) > 0) await page.check("#own");
}

describe.each(Object.keys(pages))("%s", (path) => {
  test("fits its policy, its budget and the width, and is accessible", async () => {
    const page = await visitor.newPage();
    await page.setViewportSize(desktop);
    const complaints: string[] = [];
    const asked: string[] = [];
    const sizes: Promise<{ readonly url: string; readonly bytes: number }>[] = [];
    page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => asked.push(request.url()));
    page.on("response", (response) => {
      const type = response.request().resourceType();
      const sent = response.headers()["content-type"] ?? "";
      if (/^(stylesheet|script|font)$/.test(type) && sent.includes("json"))
        complaints.push(`no such file: ${response.url()}`);
    });
    page.on("response", (response) => {
      const url = response.url();
      const measure = (body: Buffer) => ({ url, bytes: transferSize(url, body) });
      if (response.status() === 200 && !later.test(url)) sizes.push(response.body().then(measure));
    });
    await openPage(page, path);
    const shifted = await shiftOf(page);
    await unfold(page);
    await expect.poll(() => page.locator("svg:empty, use").count()).toBe(0);
    const tabs = await page.locator('input[name="snippet"]:visible').all();
    for (const viewport of [phone, zoomed]) {
      await page.setViewportSize(viewport);
      const width = () => page.evaluate(() => document.documentElement.scrollWidth);
      await expect.poll(() => width()).toBe(viewport.width);
      for (const tab of tabs) {
        await tab.check();
        await expect.poll(() => width()).toBe(viewport.width);
      }
    }
    await page.emulateMedia({ reducedMotion: "reduce" });
    for (const [colorScheme, viewport] of [
      ["light", desktop],
      ["dark", phone],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize(viewport);
      await expectAccessible(page);
    }
    // axe needs reduced motion.
    await expect.poll(() => page.evaluate(() => document.getAnimations().length)).toBe(0);
    const first = await firstScripts(page);
    const weight = (await Promise.all(sizes))
      .filter(({ url }) => !url.endsWith(".js") || first.has(url))
      .reduce((sum, { bytes }) => sum + bytes, 0);
    await page.close();
    expect(complaints).toEqual([]);
    expect(asked.length).toBeGreaterThan(2);
    expect(asked.filter((url) => new URL(url).host !== new URL(site.origin).host)).toEqual([]);
    console.log(`${path}: ${weight} bytes`);
    expect(weight).toBeLessThan(budgetOf(path));
    expect(shifted).toBeLessThan(0.01);
  });
});

test("fits documentation pages to the width of a phone", async () => {
  const reader = await browser.newContext({ bypassCSP: true, viewport: phone });
  const page = await reader.newPage();
  expect(docsNames.length).toBeGreaterThan(20);
  await page.goto(`${site.origin}/docs/${docsNames[0]}`);
  // One page takes the content of the others, which is four times as fast as opening each.
  const tooWide = async ([names, width]: readonly [readonly string[], number]) => {
    const found: string[] = [];
    for (const name of names) {
      const text = await (await fetch(`/docs/${name}`)).text();
      const { body } = new DOMParser().parseFromString(text, "text/html");
      document.body.replaceWith(document.adoptNode(body));
      if (document.documentElement.scrollWidth !== width) found.push(name);
    }
    return found;
  };
  const all = [docsNames, phone.width] as const;
  await expect.poll(() => page.evaluate(tooWide, all), { timeout: 60_000 }).toEqual([]);
  await reader.close();
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
  await expect.poll(() => page.getAttribute("html", "data-drawn")).toBe("whole");
  await page.close();
});

/**
 * Bytes of a first visit: the document, styles, scripts and fonts, with gzip. They are a fourth above
 * what was measured, so that only an accident fails.
 */
const budgets: readonly (readonly [path: RegExp, bytes: number])[] = [
  [/^\/(sign-in|setup)/, 47_000],
  [/./, 110_000],
];
const budgetOf = (path: string): number => budgets.find(([pages]) => pages.test(path))![1];

/** Not part of the first visit: data, the logo and the font of code. */
const later = /\/api\/|\.svg$|jetbrains-mono/;

/** @returns The addresses of the scripts of a page and of what they import. Parts load later. */
async function firstScripts(page: Page): Promise<ReadonlySet<string>> {
  const named = await page
    .locator("script[src]")
    .evaluateAll((scripts) => scripts.map((script) => (script as HTMLScriptElement).src));
  const found = new Set(named);
  // A set grows while it is read.
  for (const url of found) {
    const text = await (await fetch(url)).text();
    for (const [, path] of text.matchAll(/\b(?:from|import)\s*"(\.[^"]+)"/g))
      found.add(new URL(path!, url).href);
  }
  return found;
}

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
