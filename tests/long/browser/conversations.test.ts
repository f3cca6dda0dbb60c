// Tests the list of conversations, drafts and history on the chat page.
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { useDashboard } from "../../browser/dashboard-pages.ts";
import { conversationList, conversations, turns } from "../../browser/sample-api.ts";
import { dotFile } from "../../browser/sample.ts";

const dashboard = useDashboard();
const connected = (page: Page): Promise<void> =>
  page.getByText("Connected", { exact: true }).waitFor();
const field = (page: Page) => page.getByLabel("Message", { exact: true });
const mine = (page: Page) => page.locator(".msg.mine");

async function write(page: Page, text: string): Promise<void> {
  await field(page).fill(text);
  await page.keyboard.press("Enter");
}

describe("Conversations of the chat page", () => {
  const open = (path: string, use: (page: Page) => Promise<void>) => dashboard.openLive(path, use);
  const stored = `/chat/${conversations[0]!.session}`;
  const list = (page: Page) => page.getByRole("region", { name: "Conversations" });

  test("shows stored messages again after a reload", async () => {
    await open(stored, async (page) => {
      await page.getByText("In the kitchen, on the second shelf.").last().waitFor();
      await page.getByRole("heading", { name: "Where is the blue teapot?" }).waitFor();
      await page.reload();
      await mine(page).getByText("Where is the blue teapot?").waitFor();
      await mine(page).getByText("Ann", { exact: true }).waitFor();
      await page.getByText("1 thought", { exact: true }).waitFor();
      const { site } = dashboard;
      const earlier = { id: "q0", seq: 0, role: "user", content: "Long ago", at: turns[0]!.at - 9 };
      site.views.set("GET /api/conversations/c1", {
        conversation: conversations[0]!,
        turns: [earlier],
      });
      await page.getByRole("button", { name: "Load earlier" }).click();
      await mine(page).first().getByText("Long ago").waitFor();
    });
  });

  test("shows the newest version after a reload, the earlier on request", async () => {
    const { site } = dashboard;
    const user = (seq: number, content: string, replaces?: string) => ({
      ...{
        id: `u${seq}`,
        requestId: `r${seq}`,
        seq,
        role: "user",
        content,
        at: turns[0]!.at + seq,
      },
      ...(replaces !== undefined && { replaces }),
    });
    const answer = (seq: number, content: string) => ({
      ...{ id: `a${seq}`, inReplyTo: `r${seq - 1}`, seq, role: "assistant", content },
      at: turns[0]!.at + seq,
    });
    const [conversation] = conversations;
    const pages = [
      [user(1, "Hello"), answer(2, "Good day"), user(3, "Tea?")],
      [answer(4, "No tea"), user(5, "Coffee?", "r3"), answer(6, "Yes, coffee")],
    ];
    site.views.delete("GET /api/conversations/c1");
    site.answer = ({ path, search }) => {
      if (path !== "/api/conversations/c1") return [200, {}];
      const isFirst = search.includes("before");
      const cursor = !isFirst && { before: "e:4" };
      return [200, { conversation, turns: pages[isFirst ? 0 : 1], ...cursor }];
    };
    await open(stored, async (page) => {
      const shows = async (...texts: string[]) => {
        for (const text of texts) await page.getByText(text, { exact: true }).last().waitFor();
      };
      await shows("Hello", "Good day", "Coffee?", "Yes, coffee", "Version 2 / 2");
      await expect.poll(() => page.getByText("No tea").count()).toBe(0);
      await page.reload();
      await shows("Hello", "Yes, coffee", "Version 2 / 2");
      await page.getByRole("button", { name: "Earlier version" }).click();
      await shows("Good day", "Tea?", "No tea", "Version 1 / 2");
      await expect.poll(() => page.getByText("Yes, coffee", { exact: true }).count()).toBe(0);
    });
  });

  test("loads all pages that a gap has hidden", async () => {
    const { site } = dashboard;
    const [conversation] = conversations;
    const turn = (seq: number) => ({ id: `u${seq}`, requestId: `r${seq}`, seq, role: "user" });
    const pageBefore = (last: number) =>
      [last - 1, last].map((seq) => ({ ...turn(seq), content: `turn ${seq}`, at: seq }));
    let newest = 4;
    let fails = true;
    site.views.delete("GET /api/conversations/c1");
    site.answer = ({ path, search }) => {
      if (path !== "/api/conversations/c1") return [200, {}];
      const last = Number(new URLSearchParams(search).get("before") ?? newest);
      if (last === 2 && fails) return [503, { error: "store_unavailable", message: "Away." }];
      const turns = pageBefore(last);
      return [200, { conversation, turns, ...(last > 2 && { before: String(last - 2) }) }];
    };
    await open(stored, async (page) => {
      await connected(page);
      const shown = () => mine(page).locator(".bubble").allTextContents();
      await expect.poll(shown).toEqual([3, 4].map((seq) => `turn ${seq}`));
      newest = 10;
      site.channel.send({ type: "gap", payload: { from: 1, to: 49, reason: "overflow" } });
      // The server repeats the latest frames before the page has its answer.
      const repeated = { message_id: "u9", request_id: "r9", content: "turn 9", media: [] };
      site.channel.send({ type: "message.user", seq: 50, epoch: "e1", payload: repeated });
      await expect.poll(shown).toEqual([3, 4, 5, 6, 7, 8, 9, 10].map((seq) => `turn ${seq}`));
      await page.getByRole("button", { name: "Load earlier" }).click();
      await page.getByText("Earlier messages could not be loaded. Try again.").waitFor();
      fails = false;
      // The sentence lies above the button.
      await page.getByRole("button", { name: "Load earlier" }).press("Enter");
      await expect.poll(shown).toHaveLength(10);
    });
  });

  test("follows new versions of other devices, and drops an unknown replaced message", async () => {
    await dashboard.openLive("/chat/versions", async (page) => {
      const { channel } = dashboard.site;
      await connected(page);
      await write(page, "one");
      await page.getByText("echo: one", { exact: true }).waitFor();
      const request = channel.heard.findLast(({ type }) => type === "message.send")?.id;
      const turn = { message_id: "u", request_id: "q2", content: "two", ["door"]: "pico" };
      const payload = { ...turn, media: [], attachments: [], replaces: request };
      channel.send({ type: "message.user", payload });
      await mine(page).getByText("two", { exact: true }).waitFor();
      await page.getByText("echo: one", { exact: true }).waitFor({ state: "detached" });
      await page.getByRole("button", { name: "Stop", exact: true }).waitFor();
      const end = { request_id: "q2", outcome: "completed", finish_reason: "stop" };
      channel.send({ type: "answer.end", payload: end });
      channel.rejects = { code: "unknown_turn", message: "The session has no such message." };
      await page.getByRole("button", { name: "Edit and send again" }).click();
      await write(page, "three");
      await page.getByText("Not delivered · The session has no such message.").waitFor();
      await mine(page).getByText("two", { exact: true }).waitFor();
      channel.rejects = undefined;
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByText("echo: three", { exact: true }).waitFor();
      const sent = channel.heard.filter(({ type }) => type === "message.send");
      expect(sent.at(-1)?.payload).toEqual({ content: "three" });
    });
  });

  test("keeps a draft with its image for each conversation", async () => {
    await open("/chat/one", async (page) => {
      await connected(page);
      await field(page).fill("unfinished");
      await page.locator("input[type=file]").setInputFiles(dotFile);
      await page.getByAltText("Preview of dot.png").waitFor();
      await list(page)
        .getByRole("link", { name: /Good morning/ })
        .click();
      await page.getByRole("heading", { name: "Good morning" }).waitFor();
      await expect.poll(() => field(page).inputValue()).toBe("");
      await field(page).fill("another");
      await page.goBack();
      await expect.poll(() => field(page).inputValue()).toBe("unfinished");
      await page.getByAltText("Preview of dot.png").waitFor();
      await page.reload();
      await expect.poll(() => field(page).inputValue()).toBe("unfinished");
      await page.getByAltText("Preview of dot.png").waitFor();
    });
  });

  test("gives a new conversation an address with its first message", async () => {
    await open("/chat/new", async (page) => {
      await connected(page);
      await page.getByRole("heading", { name: "Talk to home-agent" }).waitFor();
      await page.getByRole("button", { name: /What can you do/ }).click();
      await page.getByText("echo: What can you do?", { exact: true }).waitFor();
      await expect.poll(() => new URL(page.url()).pathname).toMatch(/\/chat\/chat-[0-9a-f]{8}$/);
      expect(await page.title()).toBe("What can you do? · Doorward");
    });
  });

  test("offers the actions of a new conversation once it is stored", async () => {
    await open("/chat/new", async (page) => {
      await connected(page);
      await write(page, "hello");
      await page.getByText("echo: hello", { exact: true }).waitFor();
      const actions = page.getByRole("button", { name: "Conversation actions" });
      await expect.poll(() => actions.count()).toBe(0);
      const session = decodeURIComponent(new URL(page.url()).pathname.split("/").at(-1)!);
      const created = { ...conversations[0]!, id: "c9", session, title: "hello" };
      const { store } = conversationList();
      dashboard.site.views.set("GET /api/conversations", { conversations: [created], store });
      dashboard.site.emit("rate", { at: 0, in: 0, out: 0, connections: 1, queuedBytes: 0 });
      await actions.waitFor();
      await expect.poll(() => page.getByText("Unread: ").count()).toBe(0);
    });
  });

  test("shows requests that continue one another as one entry", async () => {
    await open("/chat/one", async (page) => {
      await connected(page);
      const root = `openai/${"0123456789abcdef".repeat(2)}`;
      const chain = ["Is it warm?", "And tomorrow?", "Thanks"].map((title, at) => ({
        ...conversations[0]!,
        ...{ id: `chain-${at}`, title, usedAt: conversations[0]!.usedAt + at },
        session: at === 0 ? root : `${root}~${`${at}`.repeat(16)}`,
      }));
      const all = [...chain, ...conversations];
      dashboard.site.views.set("GET /api/conversations", {
        ...conversationList(),
        conversations: all,
      });
      dashboard.site.emit("rate", { at: 0, in: 0, out: 0, connections: 1, queuedBytes: 0 });
      await list(page).getByText("3 requests", { exact: true }).waitFor();
      const later = list(page).getByRole("link", { name: /And tomorrow/ });
      await expect.poll(() => later.isVisible()).toBe(false);
      await list(page).getByText("3 requests", { exact: true }).click();
      await later.click();
      await page.getByRole("heading", { name: "And tomorrow?" }).waitFor();
    });
  });

  test("offers the suggestions of the application", async () => {
    dashboard.site.views.delete("GET /api/conversations");
    dashboard.site.answer = () => [404, { error: "not_found" }];
    await open("/chat-memory", async (page) => {
      await connected(page);
      await expect
        .poll(() => page.locator(".idea").allTextContents())
        .toEqual(["What is <b>on</b> today?", "Is it warm?"]);
      await page.getByRole("button", { name: "Is it warm?" }).click();
      await page.getByText("echo: Is it warm?", { exact: true }).waitFor();
    });
  });

  test("marks unread conversations until they are opened", async () => {
    await open("/chat/one", async (page) => {
      await connected(page);
      const [first, ...others] = conversations;
      const grown = { ...first!, turns: first!.turns + 2 };
      const { store } = conversationList();
      dashboard.site.views.set("GET /api/conversations", {
        conversations: [grown, ...others],
        store,
      });
      dashboard.site.emit("rate", { at: 0, in: 0, out: 0, connections: 1, queuedBytes: 0 });
      const link = list(page).getByRole("link", { name: /blue teapot/ });
      await link.getByText("Unread: 2", { exact: true }).waitFor();
      await page.getByRole("link", { name: /^Chat.*unread: 1$/ }).waitFor();
      await link.click();
      await page.getByText("New messages", { exact: true }).waitFor();
      await expect.poll(() => page.getByText("Unread: ").count()).toBe(0);
      await page.getByText("New messages", { exact: true }).waitFor({ state: "detached" });
      await page.reload();
      await link.waitFor();
      await expect.poll(() => page.getByText("Unread: ").count()).toBe(0);
    });
  });

  test("finds titles immediately and messages on the server", async () => {
    await open("/chat/one", async (page) => {
      const hit = { conversation: conversations[0]!, turn: turns[2]!, excerpt: "on the shelf" };
      dashboard.site.views.set("GET /api/conversations/search", { hits: [hit] });
      const search = page.getByLabel("Search conversations");
      await search.fill("coffee");
      await expect
        .poll(() =>
          list(page)
            .getByRole("link", { name: /teapot/ })
            .count(),
        )
        .toBe(0);
      await list(page)
        .getByRole("link", { name: /coffee filters/ })
        .waitFor();
      await list(page).getByText("on the shelf").waitFor();
      await list(page).getByText("on the shelf").click();
      await page.locator(".msg.found").getByText(turns[2]!.content).waitFor();
      dashboard.site.views.set("GET /api/conversations/search", { hits: [] });
      await search.fill("nothing like this");
      await page.getByText("No conversation contains “nothing like this”.").waitFor();
    });
  });

  test("renames and exports a conversation", async () => {
    await open(stored, async (page) => {
      dashboard.site.answer = () => [200, { conversation: { ...conversations[0]!, title: "Tea" } }];
      await page
        .getByRole("heading", { name: /blue teapot/ })
        .getByRole("button")
        .click();
      await page.getByRole("dialog").getByLabel("Title").fill(" Tea ");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Tea", exact: true }).waitFor();
      expect(dashboard.bodies("/api/conversations/c1")).toEqual([{ title: "Tea" }]);
      await page.getByRole("button", { name: "Conversation actions" }).click();
      const item = page.getByRole("menuitem", { name: "Export as Markdown" });
      await expect
        .poll(() => item.getAttribute("href"))
        .toBe(`${dashboard.site.base}/api/conversations/c1/export?format=markdown`);
    });
  });

  test("deletes a conversation after the time for Undo", async () => {
    await open(stored, async (page) => {
      const deletions = () => dashboard.site.sent.filter(({ method }) => method === "DELETE");
      const remove = async () => {
        await page.getByRole("button", { name: "Conversation actions" }).click();
        await page.getByRole("menuitem", { name: "Delete…" }).click();
      };
      const sure = async () => {
        await remove();
        await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
        await page.getByText("Conversation deleted").waitFor();
      };
      const link = list(page).getByRole("link", { name: /blue teapot/ });
      await link.waitFor();
      await remove();
      await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
      await expect.poll(() => link.count()).toBe(1);
      await sure();
      await expect.poll(() => link.count()).toBe(0);
      await page.getByRole("button", { name: "Undo" }).click();
      await link.click();
      expect(deletions()).toEqual([]);
      await page.getByRole("heading", { name: /blue teapot/ }).waitFor();
      await sure();
      // Leaving the page ends the time for Undo.
      await page.goto("about:blank");
      await expect
        .poll(() => deletions().map(({ path }) => path))
        .toEqual(["/api/conversations/c1"]);
    });
  });

  test("says that a conversation could not be loaded, and tries again", async () => {
    const view = dashboard.site.views.get("GET /api/conversations/c1")!;
    dashboard.site.views.delete("GET /api/conversations/c1");
    dashboard.site.answer = () => [500, { message: "The server answered with an error." }];
    await open(stored, async (page) => {
      await page.getByText("The conversation could not be loaded").waitFor();
      await page.getByText("Your messages are safe.").waitFor();
      dashboard.site.views.set("GET /api/conversations/c1", view);
      await page.getByRole("button", { name: "Try again" }).click();
      await mine(page).getByText("Where is the blue teapot?").waitFor();
    });
  });

  test("lists the names of this browser if the server stores nothing", async () => {
    const { views } = dashboard.site;
    views.delete("GET /api/conversations");
    dashboard.site.answer = ({ path }) =>
      path === "/api/conversations" ? [409, { error: "not_supported" }] : [200, {}];
    await open("/chat-memory", async (page) => {
      await connected(page);
      await write(page, "hello");
      await page.getByText("echo: hello", { exact: true }).waitFor();
      await page.getByText("· Not stored", { exact: true }).waitFor();
      await list(page)
        .getByRole("link", { name: /^chat-/ })
        .waitFor();
    });
  });

  test("shows list and conversation one after the other on phones", async () => {
    const phone = { viewport: { width: 390, height: 844 } };
    await dashboard.open("/chat", phone, async (page) => {
      await list(page)
        .getByRole("link", { name: /blue teapot/ })
        .click();
      await mine(page).getByText("Where is the blue teapot?").waitFor();
      await expect.poll(() => list(page).isVisible()).toBe(false);
      await page.getByRole("link", { name: "Back to conversations" }).click();
      await list(page)
        .getByRole("link", { name: /blue teapot/ })
        .waitFor();
      await expect.poll(() => field(page).count()).toBe(0);
    });
  });
});
