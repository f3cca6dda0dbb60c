// Tests that the chat page draws any text in short tasks, with many random texts.
import fc from "fast-check";
import { expect, test } from "vitest";
import { useDashboard } from "../../browser/dashboard-pages.ts";
import { openChat, show } from "../../browser/long-texts.ts";
import { expensiveTexts, markdownTexts } from "../../support/markdown-texts.ts";
import { maxTaskMs, usualTask } from "../../support/renderer-tasks.ts";
import { rounds } from "../../support/runs.ts";

const dashboard = useDashboard();
/** A page with more texts would be slow because of its length. */
const textsPerPage = 5;

test.each(Object.entries(expensiveTexts(50_000)))("draws %s in short tasks", (name, text) =>
  openChat(dashboard, name.replaceAll(" ", "-"), async (page) => {
    expect(await usualTask(page, maxTaskMs, () => show(dashboard, page, text))).toBeLessThan(
      maxTaskMs,
    );
  }),
);

test("draws any text of 50 kB in short tasks", async () => {
  for (let round = 0; round < rounds(20); round++)
    await openChat(dashboard, `any${round}`, async (page) => {
      for (const text of fc.sample(markdownTexts(50_000), textsPerPage)) {
        const task = await usualTask(page, maxTaskMs, () => show(dashboard, page, text));
        expect(task, JSON.stringify(text.slice(0, 500))).toBeLessThan(maxTaskMs);
      }
    });
});
