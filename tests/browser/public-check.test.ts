// Tests the card of the doctor page that checks the way from outside.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Browser, Page } from "playwright-core";
import { freePort } from "../e2e/free-port.ts";
import { finishSetup, startLauncher, type RunningLauncher } from "../e2e/launcher.ts";
import { hasBrowser, launchBrowser, skipWithoutBrowser } from "./browser.ts";

describe("Card of the way in", () => {
  let browser: Browser;
  beforeEach(skipWithoutBrowser);
  beforeAll(async () => {
    if (hasBrowser) browser = await launchBrowser();
  });
  afterAll(() => browser?.close());

  async function onDoctor(launcher: RunningLauncher, see: (page: Page) => Promise<void>) {
    const cookie = await finishSetup(launcher);
    const context = await browser.newContext();
    try {
      const [name, value] = cookie.split("=") as [string, string];
      await context.addCookies([{ name, value, url: launcher.base.href }]);
      const page = await context.newPage();
      await page.goto(new URL("/doctor", launcher.base).href);
      await see(page);
    } finally {
      await context.close();
    }
  }

  test("runs the check and shows its results", async () => {
    const port = String(await freePort());
    const env = { SERVICE_GATEWAY_PUBLIC_URL: `http://127.0.0.1:${port}` };
    await using launcher = await startLauncher({ args: ["-console", "-port", port], env });
    await onDoctor(launcher, async (page) => {
      const card = page.locator("section.public");
      await card.getByRole("button", { name: "Check the way in" }).click();
      await card.getByText("Everything is fine").waitFor();
      await card.getByText(/^\d+ passed$/).click();
      await card.getByText("WebSockets pass").waitFor();
      await card.getByText("It answered directly, and proved it.").waitFor();
    });
  });

  test("continues to follow the check after a failed request", async () => {
    const port = String(await freePort());
    const env = { SERVICE_GATEWAY_PUBLIC_URL: `http://127.0.0.1:${port}` };
    await using launcher = await startLauncher({ args: ["-console", "-port", port], env });
    await onDoctor(launcher, async (page) => {
      const card = page.locator("section.public");
      const button = card.getByRole("button", { name: "Check the way in" });
      await button.waitFor();
      let failures = 0;
      await page.route("**/api/doctor/public", (route) => {
        if (route.request().method() !== "GET" || failures > 0) return route.continue();
        failures += 1;
        return route.abort();
      });
      await button.click();
      await card.getByText("Everything is fine").waitFor();
      expect(failures).toBe(1);
    });
  });

  test("shows a finding with its fix", async () => {
    const port = String(await freePort());
    const env = { SERVICE_GATEWAY_PUBLIC_URL: `http://127.0.0.1:${await freePort()}` };
    await using launcher = await startLauncher({ args: ["-console", "-port", port], env });
    await onDoctor(launcher, async (page) => {
      await page.getByRole("button", { name: "Check the way in" }).click();
      const finding = page.locator(".finding", { hasText: "Response of this launcher" });
      await finding.getByText("does not answer").waitFor();
      await expect.poll(() => finding.textContent()).toContain("Start the proxy");
    });
  });

  test("names the command without a public URL", async () => {
    await using launcher = await startLauncher();
    await onDoctor(launcher, async (page) => {
      const card = page.locator("section.public");
      await card.getByText("doorward expose caddy door.example.org -apply").waitFor();
      const button = card.getByRole("button", { name: "Check the way in" });
      await expect.poll(() => button.count()).toBe(0);
    });
  });
});
