// Tests that Chromium resolves the private host name and sends the cookie to no other program.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startDashboard } from "../../support/dashboard-server.ts";
import { launchBrowser } from "../../browser/browser.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser?.close());

/** Starts another program on this machine that records the cookies of the requests for its page. */
async function otherProgram(): Promise<{ port: number; cookies: string[] } & AsyncDisposable> {
  const cookies: string[] = [];
  const server = createServer((request, response) => {
    // The browser may also ask for the icon of the page.
    if (request.url === "/") cookies.push(request.headers.cookie ?? "");
    response.end("hello");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    port: (server.address() as AddressInfo).port,
    cookies,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

describe("Browser at the private host name", () => {
  test.each([
    ["private", 0],
    ["plain", 1],
  ])("sends other programs the expected cookies after sign-in by %s: %i", async (kind, sent) => {
    await using server = await startDashboard();
    await using other = await otherProgram();
    const { privateUrl = "", path } = server.kernel.services.signInLinks.mint();
    const context = await browser.newContext();
    try {
      const page = await context.newPage();
      await page.goto(kind === "private" ? privateUrl : server.origin + path);
      await page.getByRole("button", { name: "Sign out" }).waitFor();
      for (const host of ["127.0.0.1", "localhost", "other.localhost"]) {
        await page.goto(`http://${host}:${other.port}/`);
      }
      const withSession = other.cookies.filter((each) => each.includes("service_session_"));
      expect(withSession).toHaveLength(sent);
    } finally {
      await context.close();
    }
  });

  test("clears stored data at sign-out and keeps other origins", async () => {
    await using server = await startDashboard();
    await using other = await otherProgram();
    const context = await browser.newContext();
    try {
      const page = await context.newPage();
      const elsewhere = `http://127.0.0.1:${other.port}/`;
      await page.goto(elsewhere);
      await page.evaluate(() => {
        localStorage.setItem("kept", "1");
        document.cookie = "kept=1; Max-Age=600";
      });
      await page.goto(server.origin + server.kernel.services.signInLinks.mint().path);
      await page.evaluate(() => {
        localStorage.setItem("doorward-conversations", '["a"]');
        localStorage.setItem("left", "1");
      });
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.waitForURL(/\/login$/);
      await expect.poll(() => page.evaluate(() => localStorage.length)).toBe(0);
      await page.goto(elsewhere);
      await expect.poll(() => page.evaluate(() => localStorage.getItem("kept"))).toBe("1");
      await expect.poll(() => page.evaluate(() => document.cookie)).toContain("kept=1");
    } finally {
      await context.close();
    }
  });
});
