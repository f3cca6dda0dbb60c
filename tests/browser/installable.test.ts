// Registers the worker in Chromium under the real policy, from the pages of a real dashboard.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startDashboard } from "../support/dashboard-server.ts";
import { hasBrowser, launchBrowser, skipWithoutBrowser } from "./browser.ts";

let browser: Browser;
beforeEach(skipWithoutBrowser);
beforeAll(async () => {
  if (hasBrowser) browser = await launchBrowser();
});
afterAll(() => browser?.close());

const scopes = (page: Page) =>
  page.evaluate(async () => {
    const all = await navigator.serviceWorker.getRegistrations();
    return all.map(({ scope }) => scope);
  });

describe("installable page in a browser", () => {
  test.each(["", "/door"])("registers its worker below %j and caches nothing", async (basePath) => {
    await using server = await startDashboard(basePath ? { basePath } : {});
    const context = await browser.newContext();
    const faults: string[] = [];
    try {
      const page = await context.newPage();
      page.on("console", (message) => {
        if (/Content Security Policy|Trusted/.test(message.text())) faults.push(message.text());
      });
      page.on("pageerror", (error) => faults.push(String(error)));
      await page.goto(server.origin + server.kernel.services.signInLinks.mint("/overview").path);
      await expect.poll(() => scopes(page)).toEqual([]);
      await page.goto(`${server.origin}${basePath}/chat`);
      await expect.poll(() => scopes(page)).toEqual([`${server.origin}${basePath}/`]);
      const session = await context.newCDPSession(page);
      const { data, errors } = await session.send("Page.getAppManifest");
      expect([errors, (JSON.parse(data!) as { name: string }).name]).toEqual([[], "Doorward"]);
      await page.reload();
      await page.goto(`${server.origin}${basePath}/security`);
      await expect.poll(() => page.evaluate(() => caches.keys())).toEqual([]);
      const register = (address: string): Promise<string> =>
        navigator.serviceWorker.register(address).then(String, String);
      const refused = () => page.evaluate(register, `${basePath}/sw.js`);
      await expect.poll(refused).toContain("TrustedScriptURL");
      expect(faults.filter((text) => !text.includes("TrustedScriptURL"))).toEqual([]);
    } finally {
      await context.close();
    }
  });
});
