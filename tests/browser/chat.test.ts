// Tests the chat page in a browser.
import type { Page } from "playwright-core";
import { beforeEach, describe, expect, test } from "vitest";
import { useDashboard } from "./dashboard-pages.ts";
import { dotBytes, dotFile } from "./sample.ts";

const dashboard = useDashboard();
const connected = (page: Page): Promise<void> =>
  page.getByText("Connected", { exact: true }).waitFor();
const field = (page: Page) => page.getByLabel("Message", { exact: true });
const say = (type: string, payload: object, rest: object = {}) =>
  dashboard.site.channel.send({ type, payload, ...rest });
const dot = `data:image/png;base64,${dotBytes}`;
const mine = (page: Page) => page.locator(".msg.mine");

async function write(page: Page, text: string): Promise<void> {
  await field(page).fill(text);
  await page.keyboard.press("Enter");
}

beforeEach(() => {
  dashboard.site.channel.echoes = true;
});

/** Waits for the message, and returns its id. */
async function sentId(content: string): Promise<string> {
  const find = () =>
    dashboard.site.channel.heard.findLast(({ payload }) => payload?.["content"] === content)?.id;
  await expect.poll(find).toBeDefined();
  return find()!;
}

describe("Chat page", () => {
  test("marks a message as sent and shows the reply", async () => {
    await dashboard.openLive("/chat/kitchen", async (page) => {
      await connected(page);
      await write(page, "hello <b>there</b>");
      await page.getByText("echo: hello <b>there</b>", { exact: true }).waitFor();
      await page.getByText("Sent", { exact: true }).waitFor();
      await mine(page).getByText("hello <b>there</b>", { exact: true }).waitFor();
      await expect.poll(() => field(page).inputValue()).toBe("");
      expect(dashboard.site.channel.dialled.at(-1)).toContain(
        "pico_can=append%2Cnotices%2Cquestions%2Cstop%2Cturns%2Cwaiting&session_id=kitchen&pico_ext=1",
      );
    });
  });

  test("draws markdown while it grows, and HTML as text", async () => {
    await dashboard.openLive("/chat/looks", async (page) => {
      await connected(page);
      await page.evaluate(() => {
        const seen: string[] = [];
        Object.assign(globalThis, { seen });
        addEventListener("securitypolicyviolation", ({ violatedDirective }) =>
          seen.push(violatedDirective),
        );
      });
      const bad =
        "<img src=x onerror=alert(1)> <script>alert(2)</script> [go](javascript:alert(3)) " +
        "![picture](https://example.org/a.png)";
      const text = `# Plan\n\nSome **bold** words.\n\n${bad}\n\n| a | b |\n|--|--:|\n| 1 | 2 |\n\n`;
      const code = "```python\nimport time\nprint(1)\n";
      say("message.create", { message_id: "a", request_id: "r", content: text, final: false });
      await page.getByRole("cell", { name: "2", exact: true }).waitFor();
      const heading = page.getByRole("heading", { name: "Plan" });
      await heading.evaluate((element) => element.setAttribute("data-first", ""));
      say("message.update", { message_id: "a", request_id: "r", content: text + code });
      await page.getByRole("group", { name: "Code, python" }).getByText("print(1)").waitFor();
      await page.locator("pre .hljs-keyword").getByText("import").waitFor();
      await expect.poll(() => heading.getAttribute("data-first")).toBe("");
      const whole = `${text}${code}\`\`\`\n\nThe end.`;
      say("message.update", { message_id: "a", request_id: "r", content: whole, final: true });
      await page.getByText("The end.", { exact: true }).waitFor();
      const prose = page.locator(".prose");
      await expect.poll(() => prose.locator("img, script, a[href^='javascript']").count()).toBe(0);
      await prose.getByText("<img src=x onerror=alert(1)>").waitFor();
      await expect
        .poll(() => prose.getByRole("link", { name: "picture" }).getAttribute("rel"))
        .toBe("noopener noreferrer");
      await expect
        .poll(() => page.evaluate(() => (globalThis as unknown as { seen: string[] }).seen))
        .toEqual([]);
    });
  });

  test("folds thoughts and tool calls into steps", async () => {
    await dashboard.openLive("/chat/steps", async (page) => {
      await connected(page);
      dashboard.site.channel.echoes = false;
      say("typing.start", {});
      await page.getByText("Typing…", { exact: true }).waitFor();
      await write(page, "weather?");
      const request_id = await sentId("weather?");
      await page.getByText("Thinking…", { exact: true }).waitFor();
      const thought = { message_id: "t", kind: "thought", thought: true, content: "Let me see." };
      say("message.create", { ...thought, request_id });
      const tool_calls = [
        { name: "weather", arguments: { at: "home" } },
        { function: { name: "broken", arguments: "{}" }, error: "No network" },
      ];
      const calls = { message_id: "c", kind: "tool_calls", content: "", tool_calls };
      say("message.create", { ...calls, request_id });
      await page.getByText("Running weather, broken…", { exact: true }).waitFor();
      say("message.create", { message_id: "a", content: "It is", request_id, final: false });
      const bad = { url: "javascript:alert(1)", filename: "bad" };
      const attachments = [{ type: "image", url: dot, filename: "sun.png" }, bad];
      const answer = { message_id: "a", content: "It is sunny.", model_name: "m1", attachments };
      say("message.update", { ...answer, request_id, final: true });
      await page.getByText("It is sunny.", { exact: true }).waitFor();
      say("answer.end", { request_id, outcome: "completed", finish_reason: "stop" });
      await page.getByText("1 thought, 2 tool calls", { exact: true }).waitFor();
      await page.getByText("No network").waitFor();
      await page.getByText("weather", { exact: true }).click();
      await page.getByText('"at"').waitFor();
      const width = () =>
        page.getByAltText("sun.png").evaluate((image: HTMLImageElement) => image.naturalWidth);
      await expect.poll(width).toBe(1);
      await expect.poll(() => page.locator('a[href^="javascript"]').count()).toBe(0);
      say("error", { code: "busy", message: "The application is busy." });
      await page.getByText("The application is busy.", { exact: true }).waitFor();
    });
  });

  test("stops an answer and shows the messages of other devices", async () => {
    await dashboard.openLive("/chat/stops", async (page) => {
      await connected(page);
      const turn = { message_id: "u", request_id: "q", content: "From the phone", door: "pico" };
      const own = { ...turn, media: [], attachments: [], sender: { id: "owner", name: "Ann" } };
      say("message.user", own);
      await mine(page).getByText("From the phone", { exact: true }).waitFor();
      const stops = () =>
        dashboard.site.channel.heard.filter(({ type }) => type === "message.stop").length;
      const before = stops();
      await page.getByRole("button", { name: "Stop", exact: true }).click();
      await expect.poll(stops).toBe(before + 1);
      await page.keyboard.press("Escape");
      await expect.poll(stops).toBe(before + 2);
      say("answer.end", { request_id: "q", outcome: "stopped", finish_reason: "stopped" });
      await page.getByRole("button", { name: "Stop", exact: true }).waitFor({ state: "detached" });
      await page.getByText("Stopped", { exact: true }).waitFor();
      await expect.poll(() => field(page).inputValue()).toBe("");
    });
  });

  test("shows the times and the frames of a request", async () => {
    await dashboard.openLive("/chat/raw", async (page) => {
      await connected(page);
      await write(page, "look");
      await page.getByText("echo: look", { exact: true }).waitFor();
      const id = await sentId("look");
      const times = { channel: "pico", session: "raw", id, at: 1, acceptedMs: 250, endedMs: 4_321 };
      dashboard.site.views.set("GET /api/requests", {
        requests: [{ ...times, parts: [], left: 0 }],
      });
      await field(page).blur();
      await page.keyboard.press("i");
      const inspector = page.getByRole("complementary", { name: "Request inspector" });
      await inspector.getByText("Delivered", { exact: true }).waitFor();
      await inspector.getByText("4.32 s", { exact: true }).waitFor();
      const log = inspector.getByRole("link", { name: "Show in activity" });
      await expect.poll(() => log.getAttribute("href")).toMatch(/\/activity\?q=request%3A/);
      await inspector.getByRole("radio", { name: "Raw frames" }).click();
      await inspector.getByText("message.send", { exact: true }).click();
      await inspector.getByText('"look"').waitFor();
      await inspector.getByText("message.ack", { exact: true }).waitFor();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        inspector.getByRole("button", { name: "Export as JSON" }).click(),
      ]);
      expect(download.suggestedFilename()).toMatch(/^request-.+\.json$/);
      await inspector.getByRole("button", { name: "Close inspector" }).click();
      await inspector.waitFor({ state: "detached" });
    });
  });

  test("resumes after a disconnect and shows no message twice", async () => {
    await dashboard.openLive("/chat/cut", async (page) => {
      await connected(page);
      await write(page, "one");
      await page.getByText("echo: one", { exact: true }).waitFor();
      dashboard.site.channel.cut(1012, "restart; retry=10");
      await expect
        .poll(() => dashboard.site.channel.dialled.at(-1))
        .toMatch(/resume=e1%3A\d+&conn=conn$/);
      await connected(page);
      await expect.poll(() => page.getByText("echo: one", { exact: true }).count()).toBe(1);
    });
  });

  test("sends messages written offline after the reconnect", async () => {
    await dashboard.openLive("/chat/patience", async (page) => {
      await connected(page);
      const release = dashboard.site.channel.hold();
      dashboard.site.channel.cut(1012, "restart; retry=10");
      await page.getByText("Connected", { exact: true }).waitFor({ state: "detached" });
      await page.getByText("Messages you send now are delivered afterwards.").waitFor();
      await write(page, "later");
      await page.getByText("Waiting for connection…", { exact: true }).waitFor();
      release();
      await page.getByText("Sent", { exact: true }).waitFor();
      await page.getByText("echo: later", { exact: true }).waitFor();
      await expect
        .poll(() => page.getByText("Waiting for connection…", { exact: true }).count())
        .toBe(0);
    });
  });

  test("explains a permanent close and delivers after connecting again", async () => {
    await dashboard.openLive("/chat/over", async (page) => {
      await connected(page);
      dashboard.site.channel.cut(1008, "session_ended");
      await page.getByText("Your session has ended. Sign in, then connect again.").waitFor();
      await write(page, "half a thought");
      await page.getByText("Waiting for connection…", { exact: true }).waitFor();
      const attempts = dashboard.site.channel.dialled.length;
      await page.getByRole("button", { name: "Reconnect now" }).click();
      await connected(page);
      expect(dashboard.site.channel.dialled).toHaveLength(attempts + 1);
      await page.getByText("echo: half a thought", { exact: true }).waitFor();
      await page.getByText("Sent", { exact: true }).waitFor();
    });
  });

  test("turns the channel on where the connection fails", async () => {
    const { site } = dashboard;
    const { status, answer } = site;
    const channel = { ...status!.channel!, enabled: false, etag: '"c1"' };
    site.status = { ...status!, channel };
    const release = site.channel.refuse();
    site.answer = (request) => {
      if (request.method !== "PUT") return answer(request);
      release();
      site.status = status;
      return [200, { etag: '"c2"', changed: [], restart: [] }];
    };
    await dashboard.openLive("/chat/off", async (page) => {
      await page.getByText("The channel is off.", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Turn on", exact: true }).click();
      await connected(page);
      const put = site.sent.find(({ method }) => method === "PUT");
      expect([put?.path, put?.body]).toEqual(["/api/channels/pico", '{"enabled":true}']);
      site.status = { ...status!, channel: { ...channel, enabledManagedBy: "SERVICE_PICO" } };
      const releaseAgain = site.channel.refuse();
      site.channel.cut(1012, "restart; retry=10");
      await page.getByText("The channel is off, and this page can't turn it on.").waitFor();
      await page.getByRole("link", { name: "Open Overview" }).waitFor();
      releaseAgain();
    });
  });

  test("connects again by itself after the user signs in again", async () => {
    await dashboard.openLive("/chat/again", async (page) => {
      await connected(page);
      const { site } = dashboard;
      await field(page).fill("not sent yet");
      const answer = site.answer;
      const views = [...site.views];
      site.views.clear();
      site.answer = ({ path }) => (path === "/login" ? [200, {}] : [401, { error: "signed_out" }]);
      site.channel.cut(1008, "session_ended");
      site.emit("ended", { reason: "revoked" });
      const dialog = page.getByRole("dialog", { name: "Your session has ended" });
      await dialog.getByLabel("Launcher token", { exact: true }).fill("token");
      for (const [path, view] of views) site.views.set(path, view);
      await dialog.getByRole("button", { name: "Sign in" }).click();
      await connected(page);
      site.answer = answer;
      await expect.poll(() => field(page).inputValue()).toBe("not sent yet");
      await field(page).focus();
      await page.keyboard.press("Enter");
      await page.getByText("echo: not sent yet", { exact: true }).waitFor();
    });
  });

  test("attaches images by button, paste and drop, and rejects other files", async () => {
    await dashboard.openLive("/chat/first", async (page) => {
      await connected(page);
      await page.locator("input[type=file]").setInputFiles(dotFile);
      await page.getByAltText("Preview of dot.png").waitFor();
      await page.evaluate(
        async ([base64, target]) => {
          const bytes = Uint8Array.from(atob(base64!), (character) => character.charCodeAt(0));
          const data = new DataTransfer();
          data.items.add(new File([bytes], "dropped.png", { type: "image/png" }));
          data.items.add(new File(["x"], "report.mkv", { type: "video/x-matroska" }));
          const options = { bubbles: true, cancelable: true, dataTransfer: data };
          const element = document.querySelector(target!)!;
          element.dispatchEvent(new DragEvent("dragover", options));
          element.dispatchEvent(new DragEvent("drop", options));
        },
        [dotBytes, ".log"],
      );
      await page.getByAltText("Preview of dropped.png").waitFor();
      await page.getByText("report.mkv can't be attached.").waitFor();
      await page.getByRole("button", { name: "Remove dropped.png" }).click();
      await page.getByRole("button", { name: "Send", exact: true }).click();
      await page.getByText("Sent", { exact: true }).waitFor();
      expect(
        dashboard.site.channel.heard.findLast(({ type }) => type === "message.send")?.payload,
      ).toEqual({ content: "", media: [{ url: dot, filename: "dot.png" }] });
      await mine(page).getByAltText("dot.png").waitFor();
      await page.getByText("echo:", { exact: true }).waitFor();
    });
  });

  test("replaces a message by editing and asking again, and keeps its versions", async () => {
    await dashboard.openLive("/chat/edit", async (page) => {
      const { channel } = dashboard.site;
      const sent = () => channel.heard.filter(({ type }) => type === "message.send").at(-1);
      const echo = (text: string) => page.getByText(`echo: ${text}`, { exact: true });
      await connected(page);
      await write(page, "frist");
      await echo("frist").waitFor();
      const { id } = sent()!;
      await field(page).fill("not sent yet");
      await page.getByRole("button", { name: "Edit and send again" }).click();
      await page.getByText("Editing a message. Its earlier version is kept.").waitFor();
      await page.keyboard.press("Escape");
      await expect.poll(() => field(page).inputValue()).toBe("not sent yet");
      await field(page).fill("");
      await page.keyboard.press("ArrowUp");
      await expect.poll(() => field(page).inputValue()).toBe("frist");
      await write(page, "first");
      await echo("first").waitFor();
      expect(sent()?.payload).toEqual({ content: "first", replaces: id });
      await expect.poll(() => echo("frist").count()).toBe(0);
      const versions = page.getByRole("group", { name: "Versions" });
      await versions.getByText("2 / 2").waitFor();
      const earlier = versions.getByRole("button", { name: "Earlier version" });
      await earlier.click();
      await echo("frist").waitFor();
      await versions.getByText("1 / 2").waitFor();
      await expect
        .poll(() => earlier.evaluate((button) => button === document.activeElement))
        .toBe(true);
      await page.getByText("This is an earlier version.").waitFor();
      await page.getByRole("button", { name: "Show newest" }).click();
      await echo("first").waitFor();
      const { id: second } = sent()!;
      await page.getByRole("button", { name: "Ask again" }).click();
      await versions.getByText("3 / 3").waitFor();
      expect(sent()?.payload).toEqual({ content: "first", replaces: second });
      await expect.poll(() => echo("first").count()).toBe(1);
    });
  });
});
