// Draws the card of an approval with the change, the command and the places of its step.
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { expectAccessible } from "./axe.ts";
import { useChat, type Line } from "./chat-launcher.ts";

const shots = process.env["APPROVAL_SHOTS"];
const card = (page: Page) => page.locator("[data-open-question]");

const old = Array.from({ length: 60 }, (_, at) => `const line${at} = ${at};`).join("\n");
const changed = old
  .replace("line9 = 9", "line9 = 99")
  .replace(
    /const line3(\d) = 3\d;/g,
    "const other3$1 = 'a text that is long enough to wrap in one half';",
  );

const step: Line = [
  "message.create",
  {
    message_id: "step",
    kind: "tool_calls",
    content: "",
    final: false,
    tool_calls: [
      {
        id: "call",
        type: "function",
        function: {
          name: "edit",
          arguments: JSON.stringify({
            command: "npm test -- --run src/lines.test.ts",
            options: Array.from({ length: 30 }, (_, at) => `option ${at}`),
          }),
        },
        title: "Change src/lines.ts",
        kind: "edit",
        state: "pending",
        locations: [{ path: "src/lines.ts", line: 10 }],
        details: [{ type: "diff", path: "src/lines.ts", old, new: changed }],
      },
    ],
  },
];
const question: Line = [
  "question.ask",
  {
    message_id: "asked",
    kind: "approval",
    title: "Change src/lines.ts",
    content: "May I change it?",
    tool_call_id: "call",
    options: [
      { id: "once", label: "Allow once", effect: "allow" },
      { id: "no", label: "Deny", effect: "deny" },
    ],
  },
];

/** Left edges of the first removed and the first added line with the same row. */
const edges = (page: Page, scope: string) =>
  page
    .locator(`${scope} .diff`)
    .first()
    .evaluate((diff) => {
      const box = (name: string) => diff.querySelector(`.${name}`)!.getBoundingClientRect();
      const [removed, added] = [box("removed"), box("added")];
      return { isBeside: added.left >= removed.right - 1, isSameRow: added.top === removed.top };
    });
const sides = { isBeside: true, isSameRow: true };
const unified = { isBeside: false, isSameRow: false };

async function look(page: Page, scope: string, name: string): Promise<void> {
  for (const [width, height, expected] of [
    [1280, 900, sides],
    [900, 900, sides],
    [390, 844, unified],
    [360, 740, unified],
  ] as const) {
    await page.setViewportSize({ width, height });
    await expect.poll(() => edges(page, scope)).toEqual(expected);
    const overflow = () =>
      page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
    await expect.poll(overflow).toBe(0);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await expectAccessible(page);
      if (shots !== undefined)
        await page.screenshot({ path: `${shots}/${name}-${width}-${colorScheme}.png` });
    }
  }
}

describe("The card of an approval with a change", () => {
  const chat = useChat();

  test("shows both sides from 900 pixels on, and folds long parts", async () => {
    const page = await chat.open("approval");
    chat.post("approval", "go").catch(() => undefined); // The launcher may end before.
    await chat.say("approval", "go", step, question);
    await card(page).waitFor();
    const diff = card(page).locator(".diff");
    await diff.getByText("+11 −11").waitFor();
    await card(page).getByText("src/lines.ts:10").waitFor();
    const command = card(page).getByRole("group", { name: "Command", exact: true });
    await expect.poll(() => command.textContent()).toBe("npm test -- --run src/lines.test.ts");
    if (shots !== undefined) await page.screenshot({ path: `${shots}/folded.png` });
    const added = diff.getByText("other39", { exact: false });
    await expect.poll(() => added.isVisible()).toBe(false);
    await diff.locator("summary", { hasText: /^\d+ more lines$/ }).focus();
    await page.keyboard.press("Enter");
    await added.waitFor();
    await card(page).locator("summary", { hasText: "30 more lines" }).click();
    await card(page).getByText("option 29").waitFor();
    await look(page, "[data-open-question]", "chat");
    await page.setViewportSize({ width: 1280, height: 900 });
    const url = (path: string): string => new URL(path, chat.launcher.base).href;
    const { questions } = (await (await page.request.get(url("/api/questions"))).json()) as {
      questions: { id: string }[];
    };
    await page.goto(url(`/ask/approval/${questions[0]!.id}`));
    await page.locator(".ask .diff").getByText("+11 −11").waitFor();
    await look(page, ".ask", "ask");
    await page.getByRole("button", { name: "Deny" }).click();
    await page.getByText(/^Deny · by owner/).waitFor();
    await page.close();
  }, 180_000);
});
