// Finds questions on the overview and answers them on their page, with a real launcher and program.
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { expectAccessible } from "./axe.ts";
import { hasBrowser, skipWithoutBrowser } from "./browser.ts";
import { startChat, type LaunchedChat, type Line } from "./chat-launcher.ts";

let chat: LaunchedChat;
let signedIn: BrowserContext;

beforeEach(skipWithoutBrowser);
beforeAll(async () => {
  if (!hasBrowser) return;
  chat = await startChat();
  signedIn = await chat.signedIn(chat.launcher.base);
});
afterAll(() => chat?.close());

const approval = { kind: "approval", title: "rm -r build", content: "Delete the folder build?" };
const form = {
  kind: "form",
  title: "Travel",
  content: "Where to?",
  schema: {
    type: "object",
    properties: { city: { type: "string", minLength: 3 }, nights: { type: "integer" } },
    required: ["city"],
  },
};

/** Lets the program ask in a session of its own, and returns the path of the page. */
async function ask(session: string, question: object): Promise<string> {
  // The program accepts the message with its answer, after the question.
  chat.post(session, "go").catch(() => undefined); // The launcher may end before.
  const line: Line = ["question.ask", { message_id: session, ...question }];
  await chat.say(session, "go", line);
  const find = async (): Promise<string | undefined> => {
    const response = await signedIn.request.get(url("/api/questions"));
    const { questions } = (await response.json()) as {
      questions: { id: string; session: string }[];
    };
    return questions.find((one) => one.session === session)?.id;
  };
  await expect.poll(find).toBeDefined();
  return `/ask/${session}/${await find()}`;
}

const url = (path: string): string => new URL(path, chat.launcher.base).href;

async function open(context: BrowserContext, path: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(url(path));
  return page;
}

/** A browser of the same person that runs no script. */
async function withoutScript(): Promise<BrowserContext> {
  const storageState = await signedIn.storageState();
  return signedIn.browser()!.newContext({ storageState, javaScriptEnabled: false });
}

describe("The page of a question", () => {
  test("settles the question that the overview shows once", async () => {
    const path = await ask("first", approval);
    const overview = await open(signedIn, "/overview");
    const other = await open(signedIn, path);
    await overview.getByRole("link", { name: "Answer rm -r build" }).click();
    await overview.getByText("Delete the folder build?").waitFor();
    await expectAccessible(overview);
    await overview.getByRole("button", { name: "Deny" }).click();
    await overview.getByText(/^Deny · by owner · in the dashboard/).waitFor();
    await other.getByRole("button", { name: "Allow" }).click();
    await other.getByText("Another answer came first.").waitFor();
    await other.getByText(/^Deny · by owner/).waitFor();
    await other.reload();
    expect(await other.getByRole("button", { name: "Allow" }).count()).toBe(0);
    const later = await open(signedIn, "/overview");
    expect(await later.getByText("Waiting for you").count()).toBe(0);
    for (const page of [overview, other, later]) await page.close();
  });

  test("works without a script and stays open after a mistake", async () => {
    const path = await ask("second", form);
    await using context = await withoutScript();
    const page = await open(context, path);
    await page.getByLabel("city").fill("Ur");
    await page.getByRole("button", { name: "Send the answer" }).click();
    await page.getByRole("alert").getByText(/city/).waitFor();
    await page.getByLabel("city").fill("Oslo");
    await page.getByLabel("nights").fill("3");
    await page.getByRole("button", { name: "Send the answer" }).click();
    await page.getByText(/^Answered · by owner/).waitFor();
  });

  test("allows nothing when Enter is pressed in the reason", async () => {
    const path = await ask("enter", approval);
    await using context = await withoutScript();
    for (const inside of [signedIn, context]) {
      const page = await open(inside, path);
      await page.getByLabel("Reason (optional)").fill("too dangerous");
      await page.keyboard.press("Enter");
      await page.reload();
      await page.getByRole("button", { name: "Deny" }).waitFor();
      await page.close();
    }
  });

  test("answers a link with one of its options", async () => {
    const path = await ask("link", {
      kind: "link",
      title: "Sign in",
      content: "Open the address.",
      url: "https://example.org/sign-in",
    });
    const page = await open(signedIn, path);
    await page.getByRole("link", { name: "Open example.org" }).waitFor();
    await page.locator("button[name=option]").first().click();
    await page.getByText(/ · by owner · in the dashboard/).waitFor();
    await page.close();
  });

  test("rejects a form of another page", async () => {
    const path = await ask("third", approval);
    const send = (data: Record<string, string>) =>
      signedIn.request.post(url(path), { form: data, maxRedirects: 0 });
    expect((await send({ option: "allow" })).status()).toBe(403);
    expect((await send({ option: "allow", csrf: "x".repeat(43) })).status()).toBe(403);
    const page = await open(signedIn, path);
    await page.getByRole("button", { name: "Allow" }).waitFor();
    await page.close();
  });

  test("names a question that does not exist, and fits a phone", async () => {
    const path = await ask("fourth", { ...approval, content: `${"x".repeat(400)}\nReally?` });
    const page = await open(signedIn, "/ask/fourth/none");
    await page.getByText("No such question").waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    await page.emulateMedia({ colorScheme: "dark" });
    await page.goto(url(path));
    await page.getByRole("button", { name: "Allow" }).waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThan(391);
    await expectAccessible(page);
    await page.screenshot({ path: process.env["ASK_SHOT"] ?? "/dev/null", type: "png" });
    await page.close();
  });
});
