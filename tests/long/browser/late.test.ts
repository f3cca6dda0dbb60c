// Tests pages whose requests fail, or whose responses arrive late or in the wrong order.
import type { Page, Route } from "playwright-core";
import { beforeEach, describe, expect, test } from "vitest";
import { hold, useDashboard } from "../../browser/dashboard-pages.ts";
import { conversations, turns } from "../../browser/sample-api.ts";
import { dotBytes } from "../../browser/sample.ts";

const dashboard = useDashboard();
const wide = { viewport: { width: 1280, height: 900 } };
const connected = (page: Page): Promise<void> =>
  page.getByText("Connected", { exact: true }).waitFor();
const field = (page: Page) => page.getByLabel("Message", { exact: true });
const list = (page: Page) => page.getByRole("region", { name: "Conversations" });
const talk = (page: Page, name: string | RegExp) => list(page).getByRole("link", { name });

async function among(held: readonly Route[], many: number): Promise<void> {
  await expect.poll(() => held.length).toBe(many);
}

beforeEach(() => {
  dashboard.site.channel.echoes = dashboard.site.channel.acknowledges = true;
});

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
      await expect.poll(() => list(page).getByText("a shelf").count()).toBe(0);
      await expect.poll(() => page.getByText("No conversation contains").count()).toBe(0);
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

describe("Clicks while a request is under way", () => {
  test("turn a protocol once, and keep its etag", async () => {
    await dashboard.openLive("/clients", async (page) => {
      const held = await hold(page, "**/api/channels/openai");
      const turn = page.getByRole("switch", { name: "Protocol OpenAI API" });
      await turn.click();
      await among(held, 1);
      await turn.click({ force: true });
      await held[0]!.fulfill({ json: { etag: '"o2"', now: ["enabled"], afterRestart: [] } });
      await page.getByText("Base URL").waitFor({ state: "detached" });
      await expect.poll(() => turn.isEnabled()).toBe(true);
      await turn.click();
      await among(held, 2);
      expect(held.map((route) => route.request().headers()["if-match"])).toEqual(['"o1"', '"o2"']);
    });
  });

  test("keep the title that is typed for the next conversation", async () => {
    await dashboard.openLive("/chat/one", async (page) => {
      const held = await hold(page, "**/api/conversations/c2");
      const rename = async (name: RegExp): Promise<void> => {
        await page.getByRole("button", { name }).click();
        await page.getByRole("menuitem", { name: "Rename…" }).click();
      };
      await rename(/^Actions for Reorder/);
      await page.getByLabel("Title", { exact: true }).fill("Coffee");
      await page.keyboard.press("Enter");
      await among(held, 1);
      await page.getByRole("button", { name: "Cancel" }).click();
      await rename(/^Actions for Good/);
      await page.getByLabel("Title", { exact: true }).fill("Bad evening");
      await held[0]!.fulfill({ json: { conversation: { ...conversations[1]!, title: "Coffee" } } });
      await page.getByText("Renamed").waitFor();
      await expect
        .poll(() => page.getByLabel("Title", { exact: true }).inputValue())
        .toBe("Bad evening");
    });
  });

  test("send a suggestion once", async () => {
    await dashboard.openLive("/chat/new", async (page) => {
      await connected(page);
      const { channel } = dashboard.site;
      const before = channel.heard.length;
      const sent = () => channel.heard.slice(before).filter(({ type }) => type === "message.send");
      const clickTwice = (selector: string) =>
        page
          .locator(selector)
          .last()
          .evaluate((button: HTMLElement) => {
            button.click();
            button.click();
          });
      channel.echoes = false;
      await clickTwice(".idea");
      await expect.poll(() => sent().length).toBe(1);
      const { id } = sent()[0]!;
      channel.send({
        type: "message.create",
        payload: { message_id: "s1", request_id: id, content: "Hello, you", final: true },
      });
      const end = { outcome: "completed", finish_reason: "stop", suggestions: ["And then?"] };
      channel.send({ type: "answer.end", payload: { request_id: id, ...end } });
      await page.getByRole("button", { name: "And then?" }).waitFor();
      channel.echoes = true;
      await clickTwice(".suggestions button");
      await page.getByText("echo: And then?", { exact: true }).first().waitFor();
      expect(sent().map(({ payload }) => payload?.["content"])).toEqual(["Say hello", "And then?"]);
    });
  });

  test("say nothing about checks that could not run", async () => {
    await dashboard.openLive("/doctor", async (page) => {
      await page.getByRole("heading", { name: "1 problem and 1 warning" }).waitFor();
      await page.route("**/api/doctor", (route) =>
        route.fulfill({ status: 500, json: { message: "Out of memory." } }),
      );
      await page.getByRole("button", { name: "Run again" }).click();
      await page.getByText("Out of memory.").waitFor();
      await page.getByRole("button", { name: "Run again" }).waitFor();
      await expect.poll(() => page.getByText("The checks have finished").count()).toBe(0);
    });
  });
});

describe("Text that is not sent yet", () => {
  test("stays, with an edit, when the user leaves", async () => {
    await dashboard.openLive(
      "/chat/edit-and-leave",
      async (page) => {
        await connected(page);
        await field(page).fill("first");
        await page.keyboard.press("Enter");
        await page.getByText("echo: first", { exact: true }).waitFor();
        await field(page).fill("a long thought");
        await page.getByRole("button", { name: "Edit and send again" }).click();
        await expect.poll(() => field(page).inputValue()).toBe("first");
        await field(page).fill("first, changed");
        await talk(page, /Good morning/).click();
        await expect.poll(() => field(page).inputValue()).toBe("");
        await page.goBack();
        const both = "first, changed\n\na long thought";
        await expect.poll(() => field(page).inputValue()).toBe(both);
        await page.getByRole("button", { name: "Edit and send again" }).click();
        await expect.poll(() => field(page).inputValue()).toBe("first");
        await field(page).fill("changed again");
        await page.reload();
        await expect.poll(() => field(page).inputValue()).toBe(`changed again\n\n${both}`);
      },
      wide,
    );
  });

  test("returns to its conversation after the user has left that", async () => {
    await dashboard.openLive(
      "/chat/take-back",
      async (page) => {
        const { channel } = dashboard.site;
        const heard = (type: string) => channel.heard.filter((frame) => frame.type === type).at(-1);
        await connected(page);
        channel.echoes = false;
        for (const text of ["one", "two"]) {
          await field(page).fill(text);
          await page.keyboard.press("Enter");
          await expect.poll(() => heard("message.send")?.payload?.["content"]).toBe(text);
          await page.getByText("Thinking…").waitFor();
          channel.acknowledges = false;
        }
        await page.getByRole("button", { name: "Take back" }).click();
        await expect.poll(() => heard("message.stop")).toBeDefined();
        await talk(page, /Good morning/).click();
        await page.getByRole("heading", { name: "Good morning" }).waitFor();
        await field(page).fill("here");
        const stopped = [{ request_id: heard("message.send")!.id, status: "removed" }];
        const payload = { request_id: heard("message.stop")!.id, stopped };
        channel.send({ type: "stop.ack", payload });
        await page.goBack();
        await expect.poll(() => field(page).inputValue()).toBe("two");
        await talk(page, /Good morning/).click();
        await expect.poll(() => field(page).inputValue()).toBe("here");
      },
      wide,
    );
  });

  test("keeps late images with the message they were chosen for", async () => {
    await dashboard.openLive(
      "/chat/late-image",
      async (page) => {
        const chips = page.locator(".composer .chip");
        await connected(page);
        await page.evaluate(() => {
          const read = FileReader.prototype.readAsDataURL;
          FileReader.prototype.readAsDataURL = function (file) {
            addEventListener("read", () => read.call(this, file), { once: true });
            this.addEventListener("load", () =>
              setTimeout(() => document.body.setAttribute("data-read", file.type)),
            );
          };
        });
        const choose = () =>
          page.locator("input[type=file]").setInputFiles({
            ...{ name: "dot.png", mimeType: "image/png" },
            buffer: Buffer.from(dotBytes, "base64"),
          });
        const release = async (): Promise<void> => {
          await page.evaluate(() => {
            document.body.removeAttribute("data-read");
            dispatchEvent(new Event("read"));
          });
          await page.locator("body[data-read]").waitFor();
        };
        await field(page).fill("first");
        await page.keyboard.press("Enter");
        await page.getByText("echo: first", { exact: true }).waitFor();
        await page.getByRole("button", { name: "Edit and send again" }).click();
        await choose();
        await field(page).press("Escape");
        await release();
        await expect.poll(() => chips.count()).toBe(0);
        await choose();
        await page.getByRole("button", { name: "Edit and send again" }).click();
        await release();
        await expect.poll(() => chips.count()).toBe(0);
        await field(page).press("Escape");
        await chips.getByText("dot.png").waitFor();
        await choose();
        await talk(page, /Good morning/).click();
        await page.getByRole("heading", { name: "Good morning" }).waitFor();
        await release();
        await expect.poll(() => chips.count()).toBe(0);
        await page.goBack();
        await expect.poll(() => chips.count()).toBe(2);
      },
      wide,
    );
  });

  test("disappears with a sign-out on the page Security", async () => {
    await dashboard.openLive("/chat/secret", async (page) => {
      await connected(page);
      await field(page).fill("a secret");
      await page.goto(`${dashboard.site.origin}/security`);
      const own = page.locator(".signin", { hasText: "This browser" });
      await page.getByText("Live", { exact: true }).waitFor();
      await page.route("**/login", (route) => route.fulfill({ body: "signed out" }));
      await own.getByRole("button").click();
      await page.getByText("signed out", { exact: true }).waitFor();
      await expect.poll(() => page.evaluate(() => Object.keys(localStorage))).toEqual([]);
    });
  });
});

describe("Storage of the browser", () => {
  test("lets the page Settings work without it", async () => {
    await dashboard.open("/message", {}, async (page) => {
      await page.addInitScript(() => {
        const deny = () => {
          throw new DOMException("denied", "SecurityError");
        };
        for (const name of ["getItem", "setItem", "removeItem"] as const)
          Storage.prototype[name] = deny;
      });
      await page.goto(`${dashboard.site.origin}/settings`);
      await page.getByText("Live", { exact: true }).waitFor();
      await page.getByLabel("Ping interval", { exact: true }).fill("15");
      await page.getByText("1 unsaved change").waitFor();
      dashboard.site.answer = () => [200, { etag: '"p2"', now: [], afterRestart: [] }];
      await page.keyboard.press("Control+s");
      await page.getByText("1 setting saved").waitFor();
    });
  });
});
