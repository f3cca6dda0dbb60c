// Tests the documentation page in Chromium.
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { distFolder } from "../../../plugins/dashboard/server/assets.ts";
import { useDashboard } from "../../browser/dashboard-pages.ts";

const dashboard = useDashboard();
const wide = { viewport: { width: 1440, height: 900 } };
const searchIndex = JSON.parse(
  readFileSync(new URL("search.json", distFolder("docs")), "utf8"),
) as object;

const article = (page: Page) => page.locator("#content");

describe("documentation page", () => {
  test("shows the same article with and without JavaScript", async () => {
    let plain = "";
    await dashboard.open("/docs/pico", { javaScriptEnabled: false }, async (page) => {
      plain = await article(page).innerHTML();
      await expect.poll(() => page.getByRole("searchbox").count()).toBe(0);
      await expect.poll(() => page.getByRole("button", { name: "Copy" }).count()).toBe(0);
    });
    await dashboard.openLive(
      "/docs/pico",
      async (page) => {
        await expect.poll(() => article(page).innerHTML()).toBe(plain);
        const data = (await page.locator("#data").textContent()) ?? "";
        expect(data).toContain('"headings"');
        expect(data).not.toContain('"nodes"');
      },
      wide,
    );
    expect(plain.length).toBeGreaterThan(5000);
  });

  test("lists pages by task, headings and neighbours", async () => {
    await dashboard.openLive(
      "/docs/client",
      async (page) => {
        const contents = page.getByRole("navigation", { name: "Documentation" });
        await expect
          .poll(() => contents.getByRole("heading").allTextContents())
          .toEqual(["Start", "Connect", "Run", "Build"]);
        await expect
          .poll(() => contents.locator("[aria-current=page]").textContent())
          .toBe("The command line and the client");
        const headings = page.getByRole("navigation", { name: "On this page" });
        await headings.getByRole("link").last().click();
        const [, id = ""] = page.url().split("#");
        await expect
          .poll(() => page.locator(`[id="${id}"]`).evaluate(({ localName }) => localName))
          .toBe("h2");
        await page.setViewportSize({ width: 1180, height: 900 });
        await expect.poll(() => headings.isVisible()).toBe(false);
        await page.locator('[rel="next"]').click();
        await page.waitForURL("**/docs/pico");
      },
      wide,
    );
  });

  test("begins with four cards", async () => {
    await dashboard.openLive(
      "/docs",
      async (page) => {
        const cards = article(page).locator(".doc-card");
        await expect
          .poll(() => cards.locator("h2").allTextContents())
          .toEqual(["Start", "Connect", "Run", "Build"]);
        for (const text of await cards.locator("p").allTextContents())
          expect(text).toMatch(/^[^.]+\.$/);
        await cards.getByRole("link", { name: "Deployment" }).click();
        await page.waitForURL("**/docs/deploy");
      },
      wide,
    );
  });

  test("copies code", async () => {
    const permissions = ["clipboard-read", "clipboard-write"];
    const use = async (page: Page): Promise<void> => {
      const code = page.locator(".code").first();
      await code.getByRole("button", { name: "Copy", exact: true }).click();
      await code.getByRole("button", { name: "Copied" }).waitFor();
      const text = await code.locator("pre").textContent();
      await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(text);
      await expect.poll(() => code.locator("pre").textContent()).not.toBe("");
    };
    await dashboard.openLive("/docs/pico", use, { ...wide, permissions });
  });

  test("copies code with the address of this service", async () => {
    const permissions = ["clipboard-read", "clipboard-write"];
    const use = async (page: Page): Promise<void> => {
      const code = page.locator(".code", { hasText: "new WebSocket" }).first();
      await code.getByRole("button", { name: "Copy with your address" }).click();
      await code.getByRole("button", { name: "Copied" }).waitFor();
      const copied = () => page.evaluate(() => navigator.clipboard.readText());
      const origin = dashboard.site.origin.replace("http", "ws");
      await expect.poll(copied).toContain(`new WebSocket("${origin}/pico`);
      await expect.poll(copied).not.toContain("18800");
      await code.getByRole("button", { name: "Copy with your address" }).waitFor();
    };
    await dashboard.openLive("/docs/pico", use, { ...wide, permissions });
  });

  test("folds the list of pages on phones", async () => {
    const phone = { viewport: { width: 390, height: 844 } };
    await dashboard.open("/docs/client", phone, async (page) => {
      const list = page.getByRole("navigation", { name: "Documentation" });
      await expect.poll(() => list.count()).toBe(0);
      await page.getByText("All pages").click();
      await expect
        .poll(() => list.locator("[aria-current=page]").textContent())
        .toBe("The command line and the client");
      await list.getByRole("link", { name: "Deployment" }).click();
      await page.waitForURL("**/docs/deploy");
    });
  });

  test("loads the search index with the first key and opens a section", async () => {
    dashboard.site.views.set("GET /docs/search.json", searchIndex);
    await dashboard.openLive(
      "/docs/client",
      async (page) => {
        const asked: string[] = [];
        page.on("request", (request) => asked.push(new URL(request.url()).pathname));
        await page.getByRole("searchbox").fill("token_missing");
        const results = page.getByRole("navigation", { name: "Search results" });
        await results.getByRole("link").first().waitFor();
        await page.getByRole("searchbox").fill("session cookie");
        await results
          .getByRole("link", { name: /^The dashboard API/ })
          .first()
          .waitFor();
        await expect
          .poll(() => results.locator("mark").first().textContent())
          .toMatch(/session|cookie/i);
        await page.getByRole("searchbox").fill("origin_not_allowed");
        await results.getByRole("link", { name: "origin_not_allowed" }).first().click();
        await page.waitForURL("**/docs/*#*");
        expect(asked.filter((path) => path.endsWith("/docs/search.json"))).toHaveLength(1);
        const [, id = ""] = page.url().split("#");
        await expect.poll(() => page.locator(`[id="${id}"]`).count()).toBe(1);
      },
      wide,
    );
  });

  test("says so when nothing matches, and when the index cannot be loaded", async () => {
    dashboard.site.answer = () => [503, { message: "Not now" }];
    await dashboard.openLive(
      "/docs/client",
      async (page) => {
        const search = page.getByRole("searchbox");
        const status = page.locator(".contents [role=status]");
        await search.fill("tok");
        await expect.poll(() => status.textContent()).not.toBe("Loading…");
        await expect.poll(() => status.textContent()).not.toBe("");
        dashboard.site.views.set("GET /docs/search.json", searchIndex);
        await search.fill("zzzzqq");
        await page.getByText("No results. Try another word.").waitFor();
        await search.fill("");
        await page.getByRole("navigation", { name: "Documentation" }).waitFor();
      },
      wide,
    );
  });
});
