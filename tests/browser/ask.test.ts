// Finds questions on the overview and answers them on their page, with a real launcher and program.
import type { BrowserContext, Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { expectAccessible } from "./axe.ts";
import { hasBrowser } from "./browser.ts";
import { enterToken, useChat, type Line } from "./chat-launcher.ts";

const chat = useChat();
let signedIn: BrowserContext;
beforeAll(async () => {
  if (hasBrowser) signedIn = await chat.signedIn(chat.launcher.base);
});

const approval = { kind: "approval", title: "rm -r build", content: "Delete the folder build?" };
const form = {
  kind: "form",
  title: "Travel",
  content: "Where to?",
  schema: {
    type: "object",
    properties: {
      city: { type: "string", minLength: 3 },
      nights: { type: "integer" },
      class: { type: "string", enum: ["first", "second"] },
      extras: {
        type: "array",
        maxItems: 1,
        items: {
          anyOf: [
            { const: "b", title: "Breakfast" },
            { const: "l", title: "Late check-out" },
          ],
        },
      },
    },
    required: ["city"],
  },
};

/** Lets the program ask in a session of its own, and returns the path of the page. */
async function ask(session: string, question: object): Promise<string> {
  // The program accepts the message with its answer, after the question.
  chat.post(session, "go").catch(() => undefined); // The launcher may end before.
  const line: Line = ["question.ask", { message_id: session, ...question }];
  await chat.say(session, "go", line);
  return pathIn(session);
}

/** @returns The path of the page of the open question of a session. */
async function pathIn(session: string): Promise<string> {
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
    await overview.getByText(/^Deny · by owner · on the page of the question/).waitFor();
    await other.getByRole("button", { name: "Allow" }).click();
    await other.getByText(/^Another answer came first, at /).waitFor();
    await other.getByText(/^Deny · by owner/).waitFor();
    await other.reload();
    await expect.poll(() => other.getByRole("button", { name: "Allow" }).count()).toBe(0);
    const later = await open(signedIn, "/overview");
    await expect.poll(() => later.getByText("Waiting for you").count()).toBe(0);
    for (const page of [overview, other, later]) await page.close();
  });

  test("works without a script and stays open after a mistake", async () => {
    const path = await ask("second", form);
    await using context = await withoutScript();
    const page = await open(context, path);
    await page.getByLabel("city").fill("Oslo");
    await page.getByLabel("nights").fill("4");
    await page.getByLabel("extras").selectOption(["Breakfast", "Late check-out"]);
    await page.getByRole("button", { name: "Send the answer" }).click();
    await page.getByRole("alert").getByText("extras: Expected at most 1 item").waitFor();
    const extras = page.getByLabel("extras");
    const note = (await extras.getAttribute("aria-describedby"))!;
    const problem = page.locator(`[id="${note}"]`);
    await expect.poll(() => problem.textContent()).toBe("Expected at most 1 item");
    await expect.poll(() => page.getByLabel("city").inputValue()).toBe("Oslo");
    await expect.poll(() => page.getByLabel("nights").inputValue()).toBe("4");
    await expect.poll(() => page.getByLabel("class").inputValue()).toBe("");
    await extras.selectOption(["Late check-out"]);
    await page.getByRole("button", { name: "Send the answer" }).click();
    await page.getByText(/^Answered · by owner/).waitFor();
    const [, , session] = path.split("/");
    const { conversations } = (await (
      await signedIn.request.get(url(`/api/conversations?session=${session}`))
    ).json()) as { conversations: { id: string }[] };
    const stored = await signedIn.request.get(url(`/api/conversations/${conversations[0]!.id}`));
    const { turns } = (await stored.json()) as { turns: { question?: object }[] };
    expect(turns.find(({ question }) => question)?.question).toMatchObject({
      settled: { values: { city: "Oslo", nights: 4, extras: ["l"] } },
    });
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
    await page.getByText(/ · by owner · on the page of the question/).waitFor();
    await page.close();
  });

  test("shows what will run, and hidden characters of it", async () => {
    const call = { id: "c1", function: { name: "delete", arguments: '{"path":"/home"}' } };
    const session = "hidden";
    chat.post(session, "go").catch(() => undefined);
    await chat.say(
      session,
      "go",
      ["message.create", { message_id: "t", kind: "tool_calls", content: "", tool_calls: [call] }],
      [
        "question.ask",
        {
          message_id: "h",
          kind: "approval",
          tool_call_id: "c1",
          title: "Keep \u202Eeverything",
          content: "Nothing\u200B is deleted.",
          options: [
            { id: "yes", label: "Allow", effect: "allow", description: "This folder" },
            { id: "always", label: "Always allow", effect: "allow", lasting: true },
            { id: "no", label: "Deny", effect: "deny" },
          ],
        },
      ],
    );
    const page = await open(signedIn, await pathIn(session));
    await page.getByRole("heading", { name: "Keep ⟨U+202E⟩everything" }).waitFor();
    const card = page.locator(".card");
    await expect.poll(() => card.locator("pre").textContent()).toContain('"path": "/home"');
    expect(await page.title()).toContain("Keep ⟨U+202E⟩everything");
    await card.getByText("Nothing⟨U+200B⟩ is deleted.").waitFor();
    await card.getByText("This folder").waitFor();
    await expect
      .poll(() => page.getByRole("button", { name: "Always allow" }).isVisible())
      .toBe(false);
    await expectAccessible(page);
    await card.getByText("Lasting answers").click();
    await page.getByRole("button", { name: "Always allow" }).dblclick();
    await page.getByText(/^Always allow · by owner/).waitFor();
    await page.goBack();
    await page.reload();
    await page.getByText(/^Always allow · by owner/).waitFor();
    await page.close();
  });

  test("answers a choice after signing in", async () => {
    const path = await ask("choice", {
      kind: "choice",
      title: "Colour",
      content: "Which one?",
      options: [
        { id: "r", label: "Red" },
        { id: "b", label: "Blue" },
      ],
    });
    const context = await signedIn.browser()!.newContext();
    const page = await open(context, path);
    await enterToken(page);
    await page.getByLabel("Blue").check();
    await page.getByRole("button", { name: "Send the answer" }).click();
    await page.getByText(/^Blue · by owner/).waitFor();
    await context.close();
  });

  test("warns of foreign letters in an address", async () => {
    const path = await ask("foreign", {
      kind: "link",
      title: "Sign in",
      content: "Open the address.",
      url: "https://xn--pple-43d.example/",
    });
    const page = await open(signedIn, path);
    await page.getByText("The name has letters that may look like others.").waitFor();
    await page.close();
  });

  test("shows a question that expired, and one of long ago", async () => {
    const path = await ask("expired", { ...approval, timeout_s: 2 });
    const page = await open(signedIn, path);
    await expect
      .poll(async () => {
        await page.reload();
        return page.locator(".card").textContent();
      })
      .toMatch(/Expired/);
    const old = await ask("old", approval);
    await page.goto(url(old));
    await page.getByRole("button", { name: "Deny" }).click();
    await page.getByText(/^Deny · by owner/).waitFor();
    const lines: Line[] = Array.from({ length: 210 }, (_, at) => [
      "message.create",
      { content: `part ${at}` },
    ]);
    await chat.say("old", "go", ...lines);
    const turns = async (): Promise<number | undefined> => {
      const found = await signedIn.request.get(url("/api/conversations?session=old"));
      const { conversations } = (await found.json()) as { conversations: { turns: number }[] };
      return conversations[0]?.turns;
    };
    await expect.poll(turns).toBeGreaterThan(205);
    await page.reload();
    await page.getByText(/^Deny · by owner/).waitFor();
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
    await expect
      .poll(() => page.evaluate(() => document.documentElement.scrollWidth))
      .toBeLessThan(391);
    await expectAccessible(page);
    await page.screenshot({ path: process.env["ASK_SHOT"] ?? "/dev/null", type: "png" });
    await page.close();
  });
});
