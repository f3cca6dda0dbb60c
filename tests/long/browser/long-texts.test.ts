// Tests that the chat page draws any text in short tasks, with many random texts.
import fc from "fast-check";
import { expect, test } from "vitest";
import { useDashboard } from "../../browser/dashboard-pages.ts";
import { openChat, show } from "../../browser/long-texts.ts";
import { expensiveTexts, markdownTexts } from "../../support/markdown-texts.ts";
import { longestTask } from "../../support/renderer-tasks.ts";
import { rounds } from "../../support/runs.ts";

const dashboard = useDashboard();
/** About 100 ms on a machine without other load; other processes share caches and cores with it. */
const maxMs = 250;
/** A page with more texts would be slow because of its length. */
const textsPerPage = 5;

test.each(Object.entries(expensiveTexts(50_000)))("draws %s in short tasks", (name, text) =>
  openChat(dashboard, name.replaceAll(" ", "-"), async (page) => {
    expect(await longestTask(page, () => show(dashboard, page, text))).toBeLessThan(2 * maxMs);
  }),
);

test("draws any text of 50 kB in short tasks", async () => {
  for (let round = 0; round < rounds(20); round++)
    await openChat(dashboard, `any${round}`, async (page) => {
      for (const text of fc.sample(markdownTexts(50_000), textsPerPage)) {
        const tasks = [await longestTask(page, () => show(dashboard, page, text))];
        // A collection of garbage does not happen twice.
        if (tasks[0]! > maxMs)
          tasks.push(await longestTask(page, () => show(dashboard, page, text)));
        expect(Math.min(...tasks), JSON.stringify(text.slice(0, 500))).toBeLessThan(maxMs);
      }
    });
});
