// Answers questions in the chat, with a real launcher, the example program and a puppet.
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { expectAccessible } from "./axe.ts";
import { useChat, write, type Line } from "./chat-launcher.ts";

const card = (page: Page) => page.locator("[data-open-question]");
const folded = (page: Page) => page.locator(".question.settled summary");
/** Counts the answers that a page sends. */
function countAnswers(page: Page): () => number {
  let sent = 0;
  page.on("request", (request) => {
    if (request.method() === "POST" && request.url().includes("/api/questions/")) sent += 1;
  });
  return () => sent;
}

describe("The card of an approval", () => {
  const chat = useChat("ask.py");

  test("settles once, and tells every page who answered", async () => {
    const [first, second] = [await chat.open("two"), await chat.open("two")];
    await write(first, "delete it");
    await card(first).getByText("Delete the folder build?").waitFor();
    await card(second).getByText("Delete the folder build?").waitFor();
    await expect.poll(() => first.title()).toMatch(/^\(1\) /);
    await first.getByText(", open questions:").first().waitFor({ state: "attached" });
    await expectAccessible(first);
    const sent = countAnswers(first);
    await first.getByRole("button", { name: "Deny", exact: true }).dblclick();
    for (const page of [first, second]) {
      await folded(page)
        .getByText(/Deny · owner · dashboard · after \d+ s/)
        .waitFor();
      await page.locator(".prose").getByText("Kept.").waitFor();
      await expect.poll(() => card(page).count()).toBe(0);
    }
    expect(sent()).toBe(1);
    await expect.poll(() => first.title()).not.toMatch(/^\(/);
    await second.reload();
    await folded(second)
      .getByText(/Deny · owner · dashboard/)
      .waitFor();
    await expect.poll(() => second.getByRole("button", { name: "Allow" }).count()).toBe(0);
    for (const page of [first, second]) await page.close();
  });

  test("says that another answer came first", async () => {
    const [first, second] = [await chat.open("race"), await chat.open("race")];
    await write(first, "delete it");
    await card(first).waitFor();
    await card(second).waitFor();
    // The answer of the second page arrives while the one of the first is on its way.
    await first.route("**/api/questions/*", async (route) => {
      await second.getByRole("button", { name: "Allow" }).click();
      await folded(second).waitFor();
      await route.continue();
    });
    await first.getByRole("button", { name: "Deny", exact: true }).click();
    await first.getByText(/^Another answer came first, at /).waitFor();
    await folded(first)
      .getByText(/Allow · owner/)
      .waitFor();
    for (const page of [first, second]) await page.close();
  });

  test("sends nothing later after a lost connection", async () => {
    const page = await chat.open("offline");
    await write(page, "delete it");
    await card(page).waitFor();
    await page.route("**/api/questions/*", (route) => route.abort());
    await page.getByRole("button", { name: "Deny", exact: true }).click();
    await card(page).getByText("Not sent. Try again.").waitFor();
    await page.unroute("**/api/questions/*");
    await page.getByRole("button", { name: "More answers" }).click();
    await page.getByRole("menuitem", { name: "Deny with a reason…" }).click();
    await page.getByLabel("Reason").fill("not today");
    await page.keyboard.press("Enter");
    await folded(page)
      .getByText(/Deny · “not today” · owner/)
      .waitFor();
    await page.close();
  });
});

describe("The card of a question", () => {
  const chat = useChat();

  /** Opens a conversation in which the program asks. */
  async function ask(session: string, ...lines: Line[]): Promise<Page> {
    const page = await chat.open(session);
    await write(page, "go");
    await chat.say(session, "go", ...lines);
    await card(page).first().waitFor();
    return page;
  }

  test("shows the arguments of the tool call, with hidden characters", async () => {
    const calls = [
      { id: "c1", function: { name: "shell", arguments: '{"command":"rm -r \u202Ebuild"}' } },
    ];
    const page = await ask(
      "arguments",
      ["message.create", { message_id: "t1", kind: "tool_calls", content: "", tool_calls: calls }],
      [
        "question.ask",
        {
          message_id: "q1",
          kind: "approval",
          title: "Clean\u200B up",
          content: "Delete the folder build?",
          tool_call_id: "c1",
          options: [
            { id: "once", label: "Allow once", effect: "allow" },
            { id: "all", label: "Allow rm in this session", effect: "allow", lasting: true },
            { id: "no", label: "Deny", effect: "deny" },
          ],
        },
      ],
    );
    await card(page)
      .getByLabel("Arguments", { exact: true })
      .getByText("rm -r ⟨U+202E⟩build")
      .waitFor();
    await card(page).getByRole("heading", { name: "Clean⟨U+200B⟩ up" }).waitFor();
    await expect.poll(() => card(page).getByText("Allow rm in this session").count()).toBe(0);
    await expectAccessible(page);
    await page.screenshot({ path: process.env["CARD_SHOT"] ?? "/dev/null", type: "png" });
    await page.getByRole("heading", { name: "Clean" }).click();
    await page.keyboard.press("q");
    await expect
      .poll(() => card(page).evaluate((one) => one === document.activeElement))
      .toBe(true);
    await page.getByRole("button", { name: "More answers" }).click();
    await page.getByRole("menuitem", { name: "Allow rm in this session" }).click();
    await folded(page)
      .getByText(/Allow rm in this session · owner/)
      .waitFor();
    await page.close();
  });

  test("shows effects, folds blank lines, and opens no address of its text", async () => {
    const content = `Delete **all** of [this](https://example.org/list)?${"\n".repeat(200)}Sure?`;
    const page = await ask("effects", [
      "question.ask",
      {
        message_id: "effects",
        kind: "approval",
        content,
        options: [
          { id: "a", label: "Deny", effect: "allow" },
          { id: "b", label: "Keep", effect: "deny" },
        ],
      },
    ]);
    const button = (name: string) => card(page).getByRole("button", { name, exact: true });
    await button("Deny · Allow").waitFor();
    await button("Keep · Deny").waitFor();
    await expect.poll(() => card(page).locator(".button.primary").count()).toBe(0);
    await expect.poll(() => card(page).locator(".button svg").count()).toBe(2);
    await card(page).locator("strong").getByText("all").waitFor();
    await card(page).getByText("this (https://example.org/list)").waitFor();
    await expect.poll(() => card(page).locator("a").count()).toBe(0);
    await expect.poll(async () => (await card(page).boundingBox())?.height).toBeLessThan(300);
    await expectAccessible(page);
    await page.close();
  });

  test("sends a choice, a form and the consent to a link", async () => {
    const page = await ask(
      "kinds",
      [
        "question.ask",
        {
          message_id: "k1",
          kind: "choice",
          title: "Which plan?",
          content: "Choose a plan.",
          options: [
            { id: "a", label: "One step", description: "A pause of 4 minutes." },
            { id: "b", label: "Two steps" },
          ],
        },
      ],
      [
        "question.ask",
        {
          message_id: "k2",
          kind: "form",
          title: "Travel",
          content: "Where to?",
          schema: {
            type: "object",
            properties: {
              city: { type: "string", title: "City", minLength: 3 },
              nights: { type: "integer", title: "Nights", minimum: 1 },
              late: { type: "boolean", title: "Late arrival" },
            },
            required: ["city"],
          },
        },
      ],
      [
        "question.ask",
        { message_id: "k3", kind: "link", content: "Sign in.", url: "https://example.org/sign-in" },
      ],
    );
    await expect.poll(() => card(page).count()).toBe(3);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.emulateMedia({ colorScheme: "dark" });
    await expect
      .poll(() => page.evaluate(() => document.documentElement.scrollWidth))
      .toBeLessThan(391);
    await expectAccessible(page);
    await page.screenshot({ path: process.env["CARDS_SHOT"] ?? "/dev/null", type: "png" });
    // Only Stop ends an answer that asks.
    await page.keyboard.press("Escape");
    await page.getByLabel("Two steps").check();
    await page.keyboard.press("Control+Enter");
    await folded(page)
      .getByText(/Two steps · owner/)
      .waitFor();
    await page.getByLabel("City").fill("Oslo");
    await page.getByLabel("Nights").fill("3");
    await page.getByLabel("Late arrival").selectOption("Yes");
    await page.getByRole("button", { name: "Send the answer" }).click();
    await folded(page)
      .getByText(/Answered · owner/)
      .waitFor();
    const values = page.locator("dl.values > div");
    await expect
      .poll(() => values.allTextContents())
      .toEqual(["CityOslo", "Nights3", "Late arrivalYes"]);
    const link = page.getByRole("link", { name: "Open example.org" });
    await expect.poll(() => link.getAttribute("rel")).toBe("noopener noreferrer");
    await page.getByRole("button", { name: "Don’t open" }).click();
    await expect.poll(() => folded(page).count()).toBe(3);
    await page.close();
  });

  test("says that nothing followed an answer, and sends the message again", async () => {
    const page = await ask("cut", [
      "question.ask",
      { message_id: "c1", kind: "approval", content: "Delete the folder build?" },
    ]);
    await page.getByRole("button", { name: "Allow" }).click();
    await folded(page).waitFor();
    const later = page.getByText("The application ended after this answer and wrote nothing more.");
    await chat.end(1);
    try {
      await later.waitFor();
      await page.reload();
      await later.waitFor();
      await page.setViewportSize({ width: 390, height: 844 });
      await expectAccessible(page);
      await page.screenshot({ path: process.env["CUT_SHOT"] ?? "/dev/null", type: "png" });
    } finally {
      await chat.allowStart();
    }
    await page.getByRole("button", { name: "Send again", exact: true }).click();
    // The failed answer is in the earlier version.
    await later.waitFor({ state: "detached" });
    await page.getByText("2 / 2").waitFor();
    await page.close();
  });
});
