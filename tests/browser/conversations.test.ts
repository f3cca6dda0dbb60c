// Tests the page with all conversations, and the history on the chat page.
import { describe, expect, test } from "vitest";
import { useDashboard } from "./dashboard-pages.ts";
import { conversationList, conversations, turns } from "./sample-api.ts";

const dashboard = useDashboard();
const [first] = conversations;

describe("Conversations page", () => {
  test("lists conversations and opens one with both sides", async () => {
    await dashboard.openLive("/conversations", async (page) => {
      expect(await page.locator("[data-live=rows] li").count()).toBe(3);
      await page.getByRole("link", { name: /blue teapot/ }).click();
      await page.getByRole("heading", { name: "Where is the blue teapot?" }).waitFor();
      const shown = page.locator(".transcript .text");
      expect(await shown.allTextContents()).toEqual(turns.map(({ content }) => content));
      expect(await page.locator(".from b").allTextContents()).toEqual(["You", "Reply", "Ann"]);
      expect(new URL(page.url()).hash).toBe("#c1");
      expect(await page.getByRole("link", { name: "Open in chat" }).getAttribute("href")).toBe(
        `${dashboard.site.base}/chat#chat-c1`,
      );
      const link = page.getByRole("link", { name: "Export Markdown" });
      expect(await link.getAttribute("href")).toBe(
        `${dashboard.site.base}/api/conversations/c1/export?format=markdown`,
      );
    });
  });

  test("loads earlier messages above those shown", async () => {
    await dashboard.openLive("/conversations#c1", async (page) => {
      const earlier = page.getByRole("button", { name: "Load earlier" });
      await earlier.waitFor();
      const older = [{ ...turns[0]!, id: "q0", seq: 0, content: "Hello" }];
      const view = { conversation: first!, turns: older };
      dashboard.site.views.set("GET /api/conversations/c1", view);
      await earlier.click();
      await page.getByText("Hello", { exact: true }).waitFor();
      expect(await page.locator(".transcript .text").first().textContent()).toBe("Hello");
      expect(await earlier.isVisible()).toBe(false);
    });
  });

  test("finds messages and marks the one that is opened", async () => {
    const hit = { conversation: first, turn: turns[2], excerpt: "on the second shelf" };
    dashboard.site.views.set("GET /api/conversations/search", { hits: [hit] });
    await dashboard.openLive("/conversations", async (page) => {
      await page.getByRole("searchbox").fill("shelf");
      await page.getByRole("link", { name: /on the second shelf/ }).click();
      await page.locator(".message.found").waitFor();
      expect(await page.locator(".message.found .text").textContent()).toBe(turns[2]!.content);
      dashboard.site.views.set("GET /api/conversations/search", { hits: [] });
      await page.getByRole("searchbox").fill("nothing");
      await page.getByText("No message contains these words.").waitFor();
    });
  });

  test("hides the search field if the store has no index", async () => {
    dashboard.site.views.set("GET /api/conversations", conversationList(false));
    await dashboard.openLive("/conversations", async (page) => {
      expect(await page.getByRole("searchbox").isVisible()).toBe(false);
    });
  });

  test("renames a conversation", async () => {
    await dashboard.openLive("/conversations#c1", async (page) => {
      await page.getByRole("button", { name: "Rename" }).click();
      const renamed = { ...first!, title: "Teapots", renamed: true };
      dashboard.site.answer = () => [200, { conversation: renamed }];
      await page.getByLabel("Title").fill("Teapots");
      await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click();
      await page.getByRole("heading", { name: "Teapots" }).waitFor();
      expect(dashboard.bodies("/api/conversations/c1")).toEqual([{ title: "Teapots" }]);
    });
  });

  test("deletes a conversation only after a confirmation", async () => {
    await dashboard.openLive("/conversations#c1", async (page) => {
      const dialog = page.getByRole("dialog");
      await page.getByRole("button", { name: "Delete", exact: true }).click();
      expect(await dialog.textContent()).toContain("4 messages of both sides");
      await dialog.getByRole("button", { name: "Cancel" }).click();
      expect(dashboard.site.sent).toEqual([]);
      await page.getByRole("button", { name: "Delete", exact: true }).click();
      const left = { ...conversationList(), conversations: conversations.slice(1) };
      dashboard.site.views.set("GET /api/conversations", left);
      await dialog.getByRole("button", { name: "Delete conversation" }).click();
      await page.getByText("Deleted “Where is the blue teapot?”.").waitFor();
      expect(dashboard.site.sent).toMatchObject([
        { method: "DELETE", path: "/api/conversations/c1" },
      ]);
      expect(await page.locator("[data-live=rows] li").count()).toBe(2);
      expect(await page.locator("[data-live=talk]").isVisible()).toBe(false);
    });
  });

  test("shows the message of a store that keeps no history", async () => {
    dashboard.site.views.delete("GET /api/conversations");
    const message = 'This store cannot list conversations. Set store.kind to "sqlite".';
    dashboard.site.answer = () => [409, { error: "not_supported", message }];
    await dashboard.openLive("/conversations", async (page) => {
      await page.getByText(message).waitFor();
    });
  });
});

describe("Chat page with a durable store", () => {
  test("shows both sides of the conversation after a reload", async () => {
    await dashboard.open("/chat#chat-c1", {}, async (page) => {
      const shown = page.locator(".transcript .text");
      await page.getByText("Thanks").waitFor();
      await page.reload();
      await page.getByText("Thanks").waitFor();
      expect(await shown.allTextContents()).toEqual(turns.map(({ content }) => content));
      const older = [{ ...turns[0]!, id: "q0", seq: 0, content: "Hello" }];
      const view = { conversation: first!, turns: older };
      dashboard.site.views.set("GET /api/conversations/c1", view);
      await page.getByRole("button", { name: "Load earlier" }).click();
      await page.getByText("Hello", { exact: true }).waitFor();
      expect(await shown.first().textContent()).toBe("Hello");
      expect(await page.getByRole("button", { name: "Load earlier" }).count()).toBe(0);
    });
  });
});
