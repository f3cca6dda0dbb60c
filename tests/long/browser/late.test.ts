// Tests pages whose requests fail, or whose responses arrive late or in the wrong order.
import type { Page, Route } from "playwright-core";
import { describe, expect, test } from "vitest";
import { useDashboard } from "../../browser/dashboard-pages.ts";
import { conversations, turns } from "../../browser/sample-api.ts";

const dashboard = useDashboard();
const list = (page: Page) => page.getByRole("region", { name: "Conversations" });

/** Holds requests to a path until the test releases them. */
async function hold(page: Page, address: string | RegExp): Promise<Route[]> {
  const held: Route[] = [];
  await page.route(address, (route) => void held.push(route));
  return held;
}
async function among(held: readonly Route[], many: number): Promise<void> {
  await expect.poll(() => held.length).toBe(many);
}

describe("Search with failing requests", () => {
  test("loads the lines of the log again after a failed search", async () => {
    await dashboard.openLive("/activity", async (page) => {
      const held = await hold(page, "**/api/log?*");
      await page.getByLabel("Filter").fill("volcano");
      await among(held, 1);
      await held[0]!.fulfill({ status: 500, json: {} });
      await among(held, 2);
      const line = { at: Date.now(), level: "info", text: "a volcano", fields: {} };
      await held[1]!.fulfill({ json: { lines: [line] } });
      await page.getByText("a volcano").waitFor();
    });
  });

  test("says that messages could not be searched", async () => {
    await dashboard.openLive("/chat/one", async (page) => {
      const hit = { conversation: conversations[0]!, turn: turns[2]!, excerpt: "a shelf" };
      dashboard.site.views.set("GET /api/conversations/search", { hits: [hit] });
      const search = page.getByLabel("Search conversations");
      await search.fill("shelf");
      await list(page).getByText("a shelf").waitFor();
      await page.route("**/api/conversations/search?*", (route) =>
        route.fulfill({ status: 500, json: { message: "The store failed." } }),
      );
      await search.fill("volcano");
      await page.getByText("The messages could not be searched").waitFor();
      await page.getByText("The store failed.").waitFor();
      expect(await list(page).getByText("a shelf").count()).toBe(0);
      expect(await page.getByText("No conversation contains").count()).toBe(0);
      await page.unroute("**/api/conversations/search?*");
      await page.getByRole("button", { name: "Try again" }).click();
      await list(page).getByText("a shelf").waitFor();
    });
  });
});

describe("Two parts of a page with the same data", () => {
  test("show the questions in whatever order the responses arrive", async () => {
    const question = { id: "q1", session: "kitchen", label: "Turn it off?", at: Date.now() };
    const { site } = dashboard;
    site.views.set("GET /api/questions", { questions: [] });
    await dashboard.openLive("/overview-asked", async (page) => {
      const held = await hold(page, "**/api/questions");
      site.emit("questions", {});
      await among(held, 2);
      for (const route of held.toReversed()) {
        const answered = page.waitForResponse("**/api/questions");
        await route.fulfill({ json: { questions: [question] } });
        await answered;
      }
      await page.getByRole("link", { name: "Answer Turn it off?" }).waitFor();
      await expect.poll(() => page.title()).toBe("(1) Overview · Doorward");
    });
  });
});
