// Tests that no text of an application stops or breaks the chat page.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expensiveTexts, markdownTexts } from "../support/markdown-texts.ts";
import { usualTask } from "../support/renderer-tasks.ts";
import { useDashboard } from "./dashboard-pages.ts";
import { openChat, say, show } from "./long-texts.ts";

const dashboard = useDashboard();
const length = 50_000;
const maxMs = 100;
/** The long suite shows the others, and many random ones. */
const texts = Object.entries(expensiveTexts(length)).slice(0, 4);

describe("Long texts on the chat page", () => {
  test.each(texts)("shows %s in short tasks", (name, text) =>
    openChat(dashboard, name.replaceAll(" ", "-"), async (page) => {
      expect(await usualTask(page, maxMs, () => show(dashboard, page, text))).toBeLessThan(maxMs);
    }),
  );

  test("shows any text in short tasks", () =>
    openChat(dashboard, "any", async (page) => {
      for (const text of fc.sample(markdownTexts(length), 2))
        expect(
          await usualTask(page, maxMs, () => show(dashboard, page, text)),
          text.slice(0, 200),
        ).toBeLessThan(maxMs);
    }));

  test("shows a growing text in short tasks", () =>
    openChat(dashboard, "growing", async (page) => {
      const text = "- **a** b\n".repeat(500);
      let attempt = 0;
      const task = await usualTask(page, maxMs, async () => {
        const grows = { message_id: `grows${++attempt}`, final: false };
        say(dashboard, "", grows);
        for (let end = 500; end <= text.length; end += 500) {
          say(dashboard, text.slice(0, end), grows, "message.update");
          await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
        }
        await show(dashboard, page, "after");
      });
      expect(task).toBeLessThan(maxMs);
      await expect.poll(() => page.locator(".prose li").count()).toBe(500 * attempt);
    }));

  test("draws all of a long text with its markup", () =>
    openChat(dashboard, "whole", async (page) => {
      const text = "Some **bold** words.\n\n".repeat(500);
      await show(dashboard, page, text);
      await expect.poll(() => page.locator(".prose strong", { hasText: "bold" }).count()).toBe(500);
    }));

  test("shows the plain text of a message that cannot be drawn", () =>
    openChat(dashboard, "broken", async (page) => {
      await page.evaluate(() => {
        const match = String.prototype.match;
        Object.assign(String.prototype, {
          match(this: string, pattern: RegExp) {
            if (this.startsWith("cannot be drawn")) throw new Error("no");
            return match.call(this, pattern);
          },
        });
      });
      await show(dashboard, page, "cannot be drawn **at all**");
      await page.getByText("cannot be drawn **at all**", { exact: true }).waitFor();
    }));
});
