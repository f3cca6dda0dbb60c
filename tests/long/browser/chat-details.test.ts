// Tests figures, states and small promises of the chat page, with a real launcher and a program.
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { expectAccessible } from "../../browser/axe.ts";
import {
  connected,
  growing,
  rows,
  useChat,
  stopButton,
  write,
} from "../../browser/chat-launcher.ts";

const chat = useChat();
const open: typeof chat.open = (...of) => chat.open(...of);
const say: typeof chat.say = (...of) => chat.say(...of);
const field = (page: Page) => page.getByLabel("Message", { exact: true });

describe("Figures of an answer", () => {
  test("stay the same after a reload", async () => {
    const page = await open("figures");
    await write(page, "Weather?");
    const calls = [
      { id: "1", function: { name: "map", arguments: "{}" }, error: "no map" },
      { id: "2", function: { name: "wind", arguments: "{}" }, result: "calm" },
    ];
    const call = { message_id: "c", kind: "tool_calls", content: "", tool_calls: calls };
    await say("figures", "Weather?", [
      "message.create",
      { message_id: "t", kind: "thought", content: "Hm", final: false },
    ]);
    await say("figures", "Weather?", ["message.create", call]);
    await say("figures", "Weather?", [
      "message.create",
      { content: "Calm", usage: { input_tokens: 1200, output_tokens: 30 } },
    ]);
    const meta = page.locator("article.msg:not(.mine) > .meta .num");
    const thought = page.locator(".steps .items > details:first-child .ms");
    await meta.first().waitFor();
    for (let visit = 1; visit <= 2; visit++) {
      await page.getByText("1 thought, 2 tool calls").waitFor();
      await expect.poll(() => page.locator(".steps > summary .bad").textContent()).toBe("1 failed");
      await meta.first().waitFor();
      await expect.poll(() => meta.first().textContent()).toMatch(/^\d/);
      await page.getByText("Sent", { exact: true }).waitFor();
      // The thought ends with the call, not with its final text at the end of the answer.
      await expect.poll(() => thought.textContent()).toMatch(/^\d+ ms$|^[0-2]\.\d+ s$/);
      await page.reload();
      await connected(page);
    }
    await page.close();
  });

  test("show what was stopped and what failed after a reload", async () => {
    const page = await open("outcomes");
    await write(page, "One");
    await say("outcomes", "One", growing("a", "Half"));
    await page.getByText("Half", { exact: true }).waitFor();
    await stopButton(page).click();
    await write(page, "Two");
    await say("outcomes", "Two", ["message.ack", {}], ["error", { message: "The disk is full." }]);
    const found = ["> One", "Half | Stopped", "> Two"];
    await expect.poll(() => rows(page)).toEqual([...found, "The disk is full."]);
    // The server has the times of its last 200 requests only.
    await page.route("**/api/requests*", (route) => route.fulfill({ json: { requests: [] } }));
    await page.reload();
    await expect.poll(() => rows(page)).toEqual([...found, expect.stringMatching(/./)]);
    await page.getByRole("button", { name: "Try again" }).waitFor();
    await page.close();
  });
});

describe("Suggestions of an answer", () => {
  const group = (page: Page) => page.getByRole("group", { name: "Suggestions" });
  const offered = (page: Page) => group(page).getByRole("button").allTextContents();

  test("send on a click, and go with the next message", async () => {
    const page = await open("offers");
    const other = await open("offers");
    await write(page, "Weather?");
    const suggestions = ["And tomorrow?", "<b>Bold</b>", "", "x".repeat(81), "3", "4", "5"];
    await say("offers", "Weather?", ["message.create", { content: "Calm", suggestions }]);
    const kept = ["And tomorrow?", "<b>Bold</b>", "3", "4"];
    for (const each of [page, other]) await expect.poll(() => offered(each)).toEqual(kept);
    await page.route("**/api/requests*", (route) => route.fulfill({ json: { requests: [] } }));
    await page.reload();
    await expect.poll(() => offered(page)).toEqual(kept);
    await expectAccessible(page);
    await connected(page);
    await group(page).getByRole("button").first().focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => rows(page)).toContain("> And tomorrow?");
    await expect.poll(() => group(page).count()).toBe(0);
    await expect
      .poll(() => field(page).evaluate((area) => area === document.activeElement))
      .toBe(true);
    await say("offers", "And tomorrow?", ["message.create", { content: "Rain" }]);
    for (const each of [page, other]) {
      await each.getByRole("log").getByText("Rain", { exact: true }).waitFor();
      await expect.poll(() => group(each).count()).toBe(0);
    }
    await Promise.all([page.close(), other.close()]);
  });
});

describe("Chat page", () => {
  test("keeps a line that was typed just before leaving", async () => {
    const page = await open("leaving");
    await field(page).fill("Half a thought");
    await page.reload();
    await expect.poll(() => field(page).inputValue()).toBe("Half a thought");
    await field(page).fill("");
    await page.reload();
    await connected(page);
    await expect.poll(() => field(page).inputValue()).toBe("");
    await page.close();
  });

  test("returns to the conversation with Undo, and closes the inspector with Escape", async () => {
    const page = await open("undone");
    await write(page, "Keep me");
    await say("undone", "Keep me", ["message.create", { content: "Yes" }]);
    await page.getByRole("log").getByText("Yes", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Request inspector" }).click();
    const inspector = page.getByRole("complementary", { name: "Request inspector" });
    await inspector.waitFor();
    await page.keyboard.press("Escape");
    await inspector.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Conversation actions" }).click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Undo" }).click();
    await expect.poll(() => rows(page)).toEqual(["> Keep me", "Yes"]);
    await expect.poll(() => new URL(page.url()).pathname).toBe("/chat/undone");
    await page.close();
  });

  test("covers neither the field nor words on a phone", async () => {
    const inside = await chat.signedIn(chat.launcher.base, {
      viewport: { width: 390, height: 700 },
    });
    const page = await open("narrow", chat.launcher.base, inside);
    await write(page, "Table");
    const head = "| Responsibility | Deliverables | Consequences | Notes |\n|-|-|-|-|\n";
    const content = `${"Line\n\n".repeat(60)}${head}| Documentation | Specification | Delay | - |`;
    await say("narrow", "Table", ["message.create", { content }]);
    const cell = page.getByRole("columnheader", { name: "Responsibility" });
    await cell.waitFor();
    const { height } = (await cell.boundingBox())!;
    expect(height).toBeLessThan(45);
    await page.getByRole("log").evaluate((log) => log.scrollTo({ top: 0 }));
    const jump = (await page.getByRole("button", { name: "Jump to latest" }).boundingBox())!;
    const box = (await page.locator(".composer .box").boundingBox())!;
    expect(jump.y + jump.height).toBeLessThanOrEqual(box.y);
    await inside.close();
  });
});

describe("Text of an answer", () => {
  test("offers a download, wrapped lines and a copy of tables", async () => {
    const page = await open("code");
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const code = `<svg onload=x>${"long ".repeat(80)}`;
    const content = `\`\`\`html\n${code}\n\`\`\`\n\n| a | b |\n|-|-|\n| 1 | **2** |`;
    await write(page, "Code");
    await say("code", "Code", ["message.create", { content }]);
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download code.html" }).click(),
    ]);
    expect(file.suggestedFilename()).toBe("code.html");
    const widthOf = (block: HTMLElement): boolean => block.scrollWidth > block.clientWidth;
    const block = page.locator(".prose pre");
    await expect.poll(() => block.evaluate(widthOf)).toBe(true);
    await page.getByRole("button", { name: "Wrap lines" }).click();
    await expect.poll(() => block.evaluate(widthOf)).toBe(false);
    await page.locator(".prose .table").hover();
    await page.getByRole("button", { name: "Copy table" }).click();
    await expect
      .poll(() => page.evaluate(() => navigator.clipboard.readText()))
      .toBe("a\tb\n1\t**2**");
    await expectAccessible(page);
    await page.close();
  });

  test("draws formulas, small tags and inline images without changing the source", async () => {
    const page = await open("content");
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const dot =
      "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const content = [
      "Euler: $e^{i\\pi}+1=0$, also \\(a_1\\). It costs $5 and $6.",
      "$$\n\\sum_{n=1}^\\infty \\frac{1}{n^2}\n- 1\n$$",
      "H<sub>2</sub>O, press <kbd>Esc</kbd><br>next <b onclick=x>bold</b>",
      "$\\href{javascript:alert(1)}{x}$ and $\\notacommand$",
      `![dot](${dot})`,
      "مرحبا بالعالم",
    ].join("\n\n");
    await write(page, "Show");
    await say("content", "Show", [
      "message.create",
      { content, usage: { input_tokens: 1200, output_tokens: 34 } },
    ]);
    const prose = page.locator("article .prose");
    await prose.locator("math").first().waitFor();
    await expect.poll(() => prose.locator("math").count()).toBe(3);
    await expect.poll(() => prose.locator("math[display=block] mfrac").count()).toBe(1);
    await expect.poll(() => prose.locator("sub").textContent()).toBe("2");
    await expect.poll(() => prose.locator("kbd").textContent()).toBe("Esc");
    for (const text of ["It costs $5 and $6.", "<b onclick=x>bold</b>", "$\\notacommand$"])
      await expect.poll(() => prose.textContent()).toContain(text);
    await expect.poll(() => prose.locator("a").count()).toBe(0);
    const isDrawn = (image: HTMLImageElement): boolean => image.naturalWidth === 1;
    await expect.poll(() => prose.getByAltText("dot").evaluate(isDrawn)).toBe(true);
    await page.getByText(/· 1\D?234 tokens$/).waitFor();
    await page.getByRole("button", { name: "Copy answer" }).click();
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(content);
    await page.close();
  });

  test("shows all of a long code without a pause, below its header", async () => {
    const page = await open("long");
    const lines = Array.from({ length: 5_000 }, (_, at) => `line ${at + 1};`);
    await write(page, "Long");
    const content = `\`\`\`js\n${lines.join("\n")}\n\`\`\``;
    await say("long", "Long", ["message.create", { content }]);
    const all = page.getByRole("button", { name: /^Show all 5\D?000 lines$/ });
    await all.waitFor();
    await page.evaluate(() => {
      const times: number[] = ((window as { longTasks?: number[] }).longTasks = []);
      new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) times.push(duration);
      }).observe({ type: "longtask" });
    });
    await all.click();
    await expect.poll(() => page.locator(".prose pre").textContent()).toBe(lines.join("\n"));
    const longest = () => Math.max(0, ...(window as { longTasks?: number[] }).longTasks!);
    await expect.poll(() => page.evaluate(longest)).toBeLessThan(200);
    const distance = (block: Element): number => {
      let scroller = block.parentElement!;
      while (!/auto|scroll/.test(getComputedStyle(scroller).overflowY))
        scroller = scroller.parentElement!;
      scroller.scrollTop += block.getBoundingClientRect().top + 3_000;
      const header = block.querySelector("header")!.getBoundingClientRect();
      return Math.abs(header.top - scroller.getBoundingClientRect().top);
    };
    await expect.poll(() => page.locator(".prose .code").evaluate(distance)).toBeLessThan(2);
    await page.close();
  });

  test("draws folded parts, footnotes, SVG and changes without changing the source", async () => {
    const page = await open("rare");
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const svg =
      '<svg width="20" height="10" onload="document.title=1"><script>document.title=2</script>' +
      '<rect width="20" height="10" fill="teal"/></svg>';
    const content = [
      "Water boils at 100 °C[^1], not at 90 °C[^none].",
      "<details>\n<summary>**Why**</summary>\n\n- Pressure\n\n</details>",
      `\`\`\`svg\n${svg}\n\`\`\``,
      "```diff\n-old\n+new\n```",
      "[^1]: At *sea level*.",
    ].join("\n\n");
    await write(page, "Rare");
    await say("rare", "Rare", ["message.create", { content }]);
    const prose = page.locator("article .prose");
    await prose.locator("summary strong").waitFor();
    await expect.poll(() => prose.getByText("Pressure").isVisible()).toBe(false);
    await prose.locator("summary").click();
    await expect.poll(() => prose.getByText("Pressure").isVisible()).toBe(true);
    await expect.poll(() => prose.textContent()).toContain("90 °C[^none].");
    await page.getByRole("button", { name: "Footnote 1", exact: true }).click();
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.textContent))
      .toBe("1 At sea level.");
    await prose.locator(".hljs-addition", { hasText: "+new" }).waitFor();
    await prose.locator(".hljs-deletion", { hasText: "-old" }).waitFor();
    await expect.poll(() => prose.locator("img").count()).toBe(0);
    await page.getByRole("button", { name: "Show image" }).click();
    const width = (image: HTMLImageElement): number => image.naturalWidth;
    await expect.poll(() => prose.locator("img").evaluate(width)).toBe(20);
    await expect.poll(() => prose.locator("rect:not(.icon > rect), script").count()).toBe(0);
    expect(await page.title()).not.toMatch(/^[12]$/);
    await page.getByRole("button", { name: "Copy answer" }).click();
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(content);
    await expectAccessible(page);
    await page.close();
  });
});

describe("List of conversations", () => {
  test("has titles of the program, pins, filters and an archive", async () => {
    const page = await open("named");
    await write(page, "hello there");
    await say("named", "hello there", ["conversation.title", { title: "Plan of the garden" }]);
    await say("named", "hello there", ["message.create", { content: "Hi" }]);
    await page.getByText("Hi", { exact: true }).waitFor();
    void chat.post("other client", "From a client");
    await say("other client", "From a client", ["message.create", { content: "Yes" }]);
    await page.reload();
    const list = page.getByRole("region", { name: "Conversations" });
    const titles = list.locator(".talk b");
    await list.getByText("Plan of the garden").waitFor();
    const act = async (name: string): Promise<void> => {
      await list.locator(".talk", { hasText: "Plan of the garden" }).hover();
      await list.getByRole("button", { name: "Actions for Plan of the garden" }).click();
      await page.getByRole("menuitem", { name }).click();
    };
    // Another device: it has other storage, and hears of changes.
    const other = await chat.open("named", undefined, await chat.signedIn(chat.launcher.base));
    await act("Pin");
    await list.getByRole("heading", { name: "Pinned" }).waitFor();
    await other.getByRole("heading", { name: "Pinned" }).waitFor();
    await other.close();
    await expect.poll(() => titles.first().textContent()).toBe("Plan of the garden");
    const choose = async (name: string): Promise<void> => {
      await list.getByRole("button", { name: "Filter conversations" }).click();
      await page.getByRole("menuitem", { name }).click();
    };
    await choose("Clients with the channel token");
    await list.getByText("From a client").waitFor();
    await expect.poll(() => list.getByText("Plan of the garden").count()).toBe(0);
    await list.getByRole("button", { name: "Show all" }).click();
    await act("Archive");
    await list.getByText("Plan of the garden").waitFor({ state: "detached" });
    await choose("Archived");
    await expect.poll(() => titles.allTextContents()).toEqual(["Plan of the garden"]);
    await page.close();
  });

  test("moves the pins of an earlier version to the server", async () => {
    const page = await open("old pins");
    await write(page, "An old plan");
    await say("old pins", "An old plan", ["message.create", { content: "Well" }]);
    await page.getByText("Well", { exact: true }).waitFor();
    const find = () =>
      page.evaluate(async () => {
        const answer = await fetch("/api/conversations?session=old%20pins");
        const { conversations } = (await answer.json()) as {
          conversations: readonly { readonly id: string; readonly pinned?: true }[];
        };
        return conversations[0]!;
      });
    const { id } = await find();
    const kept = () => page.evaluate(() => localStorage.getItem("doorward-flags"));
    await page.evaluate((pinned) => {
      const flags = { pinned: [pinned, "gone"], archived: { [pinned]: 1 } };
      localStorage.setItem("doorward-flags", JSON.stringify(flags));
    }, id);
    await page.reload();
    await page.getByRole("heading", { name: "Pinned" }).waitFor();
    await expect.poll(kept).toBeNull();
    await expect.poll(async () => (await find()).pinned).toBe(true);
    await page.close();
  });
});

describe("Queued message", () => {
  test("waits visibly, returns to the field, or is sent now", async () => {
    const page = await open("queue");
    await write(page, "One");
    await say("queue", "One", growing("a", "Half"));
    await page.getByText("Half", { exact: true }).waitFor();
    await write(page, "Two");
    await write(page, "Three");
    const queued = page.locator(".msg.queued");
    await expect.poll(() => queued.count()).toBe(2);
    await expect.poll(() => rows(page)).toEqual(["> One", "Half | Writing…", "> Two", "> Three"]);
    await queued.last().getByRole("button", { name: "Take back" }).click();
    await expect.poll(() => rows(page)).toEqual(["> One", "Half | Writing…", "> Two"]);
    await expect.poll(() => field(page).inputValue()).toBe("Three");
    await queued.getByRole("button", { name: "Send now" }).click();
    await say("queue", "Two", ["message.create", { content: "Second" }]);
    await expect.poll(() => rows(page)).toEqual(["> One", "Half | Stopped", "> Two", "Second"]);
    await page.close();
  });
});
