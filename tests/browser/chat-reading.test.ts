// Tests how the chat is read and written: following the end, keys, pasted text and phones.
import type { Page } from "playwright-core";
import { beforeEach, describe, expect, test } from "vitest";
import { growing, launcherToken, useChat, write, type Line } from "./chat-launcher.ts";
import { useDashboard } from "./dashboard-pages.ts";
import { dotBytes } from "./sample.ts";

const dashboard = useDashboard();
const desktop = { viewport: { width: 1280, height: 800 } };
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const field = (page: Page) => page.getByLabel("Message", { exact: true });
const connected = (page: Page): Promise<void> =>
  page.getByText("Connected", { exact: true }).waitFor({ state: "attached" });
const say = (type: string, payload: object): void => dashboard.site.channel.send({ type, payload });
const lines = (count: number): string =>
  Array.from({ length: count }, (_, at) => `Line ${at} of the answer.`).join("\n\n");

/** Pixels between what is visible and the end. */
const distance = (page: Page): Promise<number> =>
  page
    .locator(".log")
    .evaluate((log) => Math.round(log.scrollHeight - log.scrollTop - log.clientHeight));

const nextFrames = (page: Page): Promise<void> =>
  page.evaluate(async () => {
    for (let frame = 0; frame < 6; frame++) await new Promise(requestAnimationFrame);
  });

beforeEach(() => {
  dashboard.site.channel.echoes = dashboard.site.channel.acknowledges = true;
});

describe("The end of a conversation", () => {
  const grow = async (page: Page, count: number): Promise<void> => {
    const content = lines(count);
    say("message.update", { message_id: "long", content, final: false });
    await page.getByText(`Line ${count - 1} of`, { exact: false }).waitFor();
  };
  const open = (name: string, use: (page: Page) => Promise<void>): Promise<void> =>
    dashboard.openLive(
      `/chat/${name}`,
      async (page) => {
        await connected(page);
        say("message.create", { message_id: "long", content: lines(80), final: false });
        await page.getByText("Line 79 of").waitFor();
        await expect.poll(() => distance(page)).toBe(0);
        await page.locator(".log").hover();
        await use(page);
      },
      desktop,
    );

  test("lets go with the first pixels of a reader", async () => {
    await open("slow-reader", async (page) => {
      let previous = 0;
      for (let step = 1; step <= 6; step++) {
        await page.mouse.wheel(0, -4);
        await grow(page, 80 + step);
        await nextFrames(page);
        const away = await distance(page);
        expect(away).toBeGreaterThan(previous);
        previous = away;
      }
      await page.getByRole("button", { name: "Jump to latest" }).click();
      await grow(page, 90);
      await expect.poll(() => distance(page)).toBe(0);
    });
  });

  test("stays in view while the content grows by itself", async () => {
    await open("self-growing", async (page) => {
      // The first growth is drawn between the movement of the page and its event.
      await page.locator(".log-in").evaluate(async (content) => {
        const log = content.parentElement!;
        log.scrollTop -= 0;
        const box = document.createElement("div");
        content.append(box);
        for (const height of [500, 4000]) {
          log.scrollTop = log.scrollHeight;
          box.style.height = `${height}px`;
          await new Promise(requestAnimationFrame);
        }
      });
      await expect.poll(() => distance(page)).toBe(0);
    });
  });

  test("returns with a message of the reader", async () => {
    await open("sent-from-above", async (page) => {
      await page.mouse.wheel(0, -2000);
      await expect.poll(() => distance(page)).toBeGreaterThan(1000);
      await write(page, "back to you");
      await page.getByText("echo: back to you", { exact: true }).waitFor();
      await expect.poll(() => distance(page)).toBe(0);
    });
  });
});

describe("Keys of the message", () => {
  test("never send with the Enter of an input method", async () => {
    await dashboard.openLive("/chat/input-method", async (page) => {
      await connected(page);
      await field(page).fill("にほん");
      /** True if the field takes the key. */
      async function press(init: { keyCode?: number; isComposing?: boolean }): Promise<boolean> {
        return field(page).evaluate(
          (area, options) => area.dispatchEvent(new KeyboardEvent("keydown", options)),
          { key: "Enter", bubbles: true, cancelable: true, ...init },
        );
      }
      // Safari reports the key after the end of the composition, with this code.
      expect(await press({ keyCode: 229 })).toBe(true);
      expect(await press({ isComposing: true })).toBe(true);
      await expect.poll(() => field(page).inputValue()).toBe("にほん");
      expect(await press({ keyCode: 13 })).toBe(false);
      await page.getByText("echo: にほん", { exact: true }).waitFor();
    });
  });
});

describe("Pasted content", () => {
  /** Pastes into the field, and tells whether the field takes the text. */
  async function paste(page: Page, texts: Readonly<Record<string, string>>): Promise<boolean> {
    return field(page).evaluate(
      (area, [given, dot]) => {
        const data = new DataTransfer();
        for (const [type, text] of Object.entries(given)) data.setData(type, text);
        const bytes = Uint8Array.from(atob(dot), (one) => one.charCodeAt(0));
        data.items.add(new File([bytes], "image.png", { type: "image/png" }));
        const event = { bubbles: true, cancelable: true, clipboardData: data };
        const isTaken = area.dispatchEvent(new ClipboardEvent("paste", event));
        if (isTaken) document.execCommand("insertText", false, given["text/plain"]);
        return isTaken;
      },
      [texts, dotBytes] as const,
    );
  }

  test("keeps the text of a spreadsheet, and its image on request", async () => {
    await dashboard.openLive("/chat/sheet", async (page) => {
      await connected(page);
      await field(page).focus();
      const cells = { "text/plain": "a\tb\n1\t2\n", "text/html": "<table><td>a</table>" };
      expect(await paste(page, cells)).toBe(true);
      await expect.poll(() => field(page).inputValue()).toContain("a\tb");
      await expect.poll(() => page.locator(".composer .chip").count()).toBe(0);
      await page.getByRole("button", { name: "Attach its image" }).click();
      await page.getByAltText("Preview of image.png").waitFor();
      await expect.poll(() => field(page).inputValue()).toContain("a\tb");
    });
  });

  test.each([
    ["a copied image", { "text/html": '<img src="a.png">' }],
    ["a copied file", { "text/plain": "image.png" }],
  ])("attaches %s", async (_, texts) => {
    await dashboard.openLive("/chat/copied", async (page) => {
      await connected(page);
      expect(await paste(page, texts)).toBe(false);
      await page.getByAltText("Preview of image.png").waitFor();
      await expect.poll(() => field(page).inputValue()).toBe("");
    });
  });
});

describe("The chat on a phone", () => {
  const openOnPhone = (path: string, use: (page: Page) => Promise<void>): Promise<void> =>
    dashboard.open(path, phone, async (page) => {
      await page.locator("html[data-ready]").waitFor();
      await use(page);
    });

  test("has large letters and targets, and one row for the message", async () => {
    await openOnPhone("/chat/pocket", async (page) => {
      await connected(page);
      const viewport = page.locator('meta[name="viewport"]');
      const widget = "viewport-fit=cover, interactive-widget=resizes-content";
      await expect.poll(() => viewport.getAttribute("content")).toContain(widget);
      await field(page).fill("one\ntwo");
      await field(page).press("Enter");
      await expect.poll(() => field(page).inputValue()).toBe("one\ntwo\n");
      const parts = page.locator(".composer :is(button, textarea):visible");
      const shape = () =>
        parts.evaluateAll((all) => {
          const boxes = all.map((one) => one.getBoundingClientRect());
          const small = boxes.filter(({ width, height }) => Math.min(width, height) < 44);
          const rows = new Set(boxes.map(({ bottom }) => Math.round(bottom)));
          return { parts: boxes.length, small: small.length, rows: rows.size };
        });
      await expect.poll(shape).toEqual({ parts: 3, small: 0, rows: 1 });
      await field(page).press("Control+Enter");
      await page.getByText("echo: one\ntwo", { exact: true }).first().waitFor();
    });
  });

  test.each(["/chat", "/settings", "/security", "/activity", "/overview"])(
    "has fields of at least 16 pixels on %s",
    async (path) => {
      await openOnPhone(path, async (page) => {
        const fields = page.locator('input:not([type="hidden"], [type="file"]), select, textarea');
        const sizes = () =>
          fields.evaluateAll((all) => all.map((one) => parseFloat(getComputedStyle(one).fontSize)));
        await expect.poll(async () => Math.min(...(await sizes()))).toBeGreaterThanOrEqual(16);
      });
    },
  );
});

describe("A page that the browser restores", () => {
  test("shows nothing private after a sign-out", async () => {
    await dashboard.openLive("/chat/restored", async (page) => {
      await connected(page);
      const restore = (): Promise<void> =>
        page.evaluate(() => {
          dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
        });
      await write(page, "a secret");
      await page.getByText("echo: a secret", { exact: true }).waitFor();
      await restore();
      await expect.poll(() => page.getByText("echo: a secret").isVisible()).toBe(true);
      await page.route("**/api/status", (route) => route.fulfill({ status: 401, json: {} }));
      const reloaded = page.waitForEvent("domcontentloaded");
      await restore();
      await expect.poll(() => page.getByText("echo: a secret").isVisible()).toBe(false);
      await reloaded;
    });
  });
});

/** @returns What the conversation has announced since. */
async function listen(page: Page): Promise<() => Promise<readonly string[]>> {
  await page.evaluate(() => {
    const heard: string[] = [];
    Object.assign(globalThis, { heard });
    const thread = document.querySelector(".thread")!;
    new MutationObserver(() => {
      for (const one of thread.querySelectorAll(":scope > .unseen")) {
        const text = `${one.role} ${one.textContent}`;
        if (one.textContent !== "" && heard.at(-1) !== text) heard.push(text);
      }
    }).observe(thread, { subtree: true, childList: true, characterData: true });
  });
  return () => page.evaluate(() => (globalThis as unknown as { heard: string[] }).heard);
}

describe("A question and an answer", () => {
  const chat = useChat();
  const options = [
    { id: "y", label: "Allow", effect: "allow" },
    { id: "n", label: "Deny", effect: "deny" },
  ];
  const asks = (message_id: string): Line => [
    "question.ask",
    { message_id, kind: "approval", title: "Send the mail?", content: "To Ann.", options },
  ];

  test("lead to a question that is out of sight", async () => {
    const page = await chat.open("out-of-sight");
    await write(page, "go");
    await chat.say("out-of-sight", "go", growing("a", lines(80)));
    await page.getByText("Line 79 of").waitFor();
    await page.locator(".log").hover();
    await page.mouse.wheel(0, -3000);
    await page.getByRole("button", { name: "Jump to latest" }).waitFor();
    await chat.say("out-of-sight", "go", asks("q1"));
    await page.getByText("A question waits for your answer.").waitFor();
    await page.getByRole("button", { name: "Show", exact: true }).click();
    const card = page.locator("[data-open-question]");
    await expect
      .poll(() => card.evaluate((one) => one === document.activeElement && one.tabIndex))
      .toBe(-1);
    await page.getByText("A question waits for your answer.").waitFor({ state: "detached" });
    await page.close();
  });

  test("keep Stop next to Send while a message is written", async () => {
    const page = await chat.open("stop-beside");
    await write(page, "go");
    await page.getByRole("button", { name: "Stop", exact: true }).waitFor();
    await field(page).fill("not finished");
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByText("Stopped", { exact: true }).waitFor();
    await expect.poll(() => field(page).inputValue()).toBe("not finished");
    await page.close();
  });

  test("announce sentences, failures, and questions with their answers", async () => {
    const page = await chat.open("announced");
    const announced = await listen(page);
    await write(page, "tell");
    await chat.say("announced", "tell", [
      "message.create",
      { message_id: "t", content: "# Weather\n\nIt is **sunny**. See [more](https://a.b)." },
    ]);
    await expect.poll(announced).toContain("status puppet-agent: Weather It is sunny. See more.");
    await write(page, "fail");
    await chat.say("announced", "fail", ["error", { message: "The disk is full." }]);
    await expect.poll(announced).toContain("alert puppet-agent failed: The disk is full.");
    await write(page, "ask");
    await chat.say("announced", "ask", asks("q2"));
    const question = "alert puppet-agent asks: Send the mail? Answers: Allow, Deny.";
    await expect.poll(announced).toContain(question);
    expect((await announced()).filter((text) => text.startsWith("alert")).length).toBe(2);
    await page.close();
  });

  test("can be followed in the accessibility tree, from the sign-in on", async () => {
    const signedIn = await chat.signedIn(chat.launcher.base);
    const page = await signedIn.newPage();
    await signedIn.clearCookies();
    await page.goto(new URL("/chat/by-ear", chat.launcher.base).href);
    await page.getByRole("textbox", { name: "Launcher token" }).fill(launcherToken);
    await page.keyboard.press("Enter");
    await page.getByRole("textbox", { name: "Message", exact: true }).fill("go");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Stop", exact: true }).waitFor();
    const announced = await listen(page);
    await chat.say("by-ear", "go", asks("q3"));
    const group = page.getByRole("group", { name: "Send the mail?" });
    await group.getByRole("button", { name: /^Allow/ }).waitFor();
    await expect
      .poll(announced)
      .toEqual(["alert puppet-agent asks: Send the mail? Answers: Allow, Deny."]);
    await group.getByRole("button", { name: /^Deny/ }).focus();
    await page.keyboard.press("Enter");
    await chat.say("by-ear", "go", ["message.create", { message_id: "e", content: "Not sent." }]);
    await expect.poll(announced).toContain("status puppet-agent: Not sent.");
    const log = page.getByRole("log", { name: "Messages" });
    await expect.poll(() => log.ariaSnapshot()).toContain("Not sent.");
    await signedIn.close();
  });
});
