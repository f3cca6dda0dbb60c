// Tests the chat page in a browser.
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { useDashboard } from "./dashboard-pages.ts";

const dashboard = useDashboard();
const connected = (page: Page): Promise<void> =>
  page.getByText("Connected", { exact: true }).waitFor();
const dotBytes =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const dot = `data:image/png;base64,${dotBytes}`;

describe("Chat page", () => {
  test("marks a message as delivered and shows the reply", async () => {
    await dashboard.openLive("/chat#kitchen", async (page) => {
      await connected(page);
      await page.getByLabel("Message", { exact: true }).fill("hello <b>there</b>");
      await page.keyboard.press("Enter");
      await page.getByText("echo: hello <b>there</b>", { exact: true }).waitFor();
      await page.getByText("Delivered", { exact: true }).waitFor();
      expect(await page.getByLabel("Message", { exact: true }).inputValue()).toBe("");
      expect(dashboard.site.channel.dialled.at(-1)).toContain(
        "session_id=kitchen&pico_ext=1&pico_can=append%2Cstop%2Cturns",
      );
    });
  });

  test("renders updates, thoughts, tool calls, images, typing and errors", async () => {
    await dashboard.openLive("/chat#looks", async (page) => {
      await connected(page);
      const { channel } = dashboard.site;
      const say = (type: string, payload: object) => channel.send({ type, payload });
      say("typing.start", {});
      await page.getByText("Typing…").waitFor();
      say("message.create", {
        message_id: "t",
        kind: "thought",
        thought: true,
        content: "Let me see.",
      });
      const tool_calls = [{ name: "weather", arguments: { at: "home" } }];
      say("message.create", { message_id: "c", kind: "tool_calls", content: "", tool_calls });
      say("message.create", { message_id: "a", content: "It is", placeholder: true });
      const bad = { url: "javascript:alert(1)", filename: "bad" };
      const attachments = [{ type: "image", url: dot, filename: "sun.png" }, bad];
      say("message.update", {
        message_id: "a",
        content: "It is sunny.",
        final: true,
        model_name: "m1",
        attachments,
      });
      await page.getByText("It is sunny.", { exact: true }).waitFor();
      expect(await page.getByText("It is", { exact: true }).count()).toBe(0);
      await page.getByText("Let me see.", { exact: true }).waitFor();
      await page.getByText("weather", { exact: true }).click();
      await page.getByText('"at": "home"').waitFor();
      const width = () =>
        page.getByAltText("sun.png").evaluate((image: HTMLImageElement) => image.naturalWidth);
      await expect.poll(width).toBe(1);
      expect(await page.locator('a[href^="javascript"]').count()).toBe(0);
      say("message.delete", { message_id: "t" });
      await page.getByText("Let me see.", { exact: true }).waitFor({ state: "detached" });
      say("error", { code: "busy", message: "The application is busy." });
      await page.getByText("The application is busy.", { exact: true }).waitFor();
    });
  });

  test("stops an answer and shows the messages of other devices", async () => {
    await dashboard.openLive("/chat#stops", async (page) => {
      await connected(page);
      const { channel } = dashboard.site;
      const say = (type: string, payload: object, rest: object = {}) =>
        channel.send({ type, payload, ...rest });
      const hello = {
        conn_id: "c",
        session_id: "stops",
        epoch: "e",
        seq: 0,
        can: ["stop", "turns"],
      };
      say("hello", hello);
      const turn = { message_id: "u", request_id: "q", content: "From the phone" };
      const own = { ...turn, media: [], attachments: [], sender: { id: "owner", name: "Ann" } };
      say("message.user", own, { seq: 1, epoch: "e" });
      await page.getByText("From the phone", { exact: true }).waitFor();
      const button = page.getByRole("button", { name: "Stop", exact: true });
      await button.waitFor();
      await page.getByLabel("Raw frames", { exact: true }).check();
      await button.click();
      await page.locator(".frames .out").getByText('"type":"message.stop"').waitFor();
      await page.keyboard.press("Escape");
      await expect
        .poll(() => page.locator(".frames .out").getByText("message.stop").count())
        .toBe(2);
      say("answer.end", { request_id: "q", outcome: "stopped", finish_reason: "stopped" });
      await page.getByRole("button", { name: "Send", exact: true }).waitFor();
    });
  });

  test("shows sent and received raw frames on request", async () => {
    await dashboard.openLive("/chat#raw", async (page) => {
      await connected(page);
      await page.getByLabel("Raw frames", { exact: true }).check();
      await page.getByLabel("Message", { exact: true }).fill("look");
      await page.keyboard.press("Enter");
      await page.locator(".frames .out").getByText('"type":"message.send"').waitFor();
      await page.locator(".frames .in").getByText('"content":"echo: look"').waitFor();
    });
  });

  test("resumes after a disconnect and shows no message twice", async () => {
    await dashboard.openLive("/chat#cut", async (page) => {
      await connected(page);
      await page.getByLabel("Message", { exact: true }).fill("one");
      await page.keyboard.press("Enter");
      await page.getByText("echo: one", { exact: true }).waitFor();
      dashboard.site.channel.cut(1012, "restart; retry=10");
      await expect
        .poll(() => dashboard.site.channel.dialled.at(-1))
        .toMatch(/resume=e1%3A\d+&conn=conn$/);
      await connected(page);
      expect(await page.getByText("echo: one", { exact: true }).count()).toBe(1);
    });
  });

  test("sends messages written offline after the reconnect", async () => {
    await dashboard.openLive("/chat#patience", async (page) => {
      await connected(page);
      const release = dashboard.site.channel.hold();
      dashboard.site.channel.cut(1012, "restart; retry=10");
      await page.getByText("Connected", { exact: true }).waitFor({ state: "detached" });
      await page.getByLabel("Message", { exact: true }).fill("later");
      await page.keyboard.press("Enter");
      await page.getByText("Waiting for connection…", { exact: true }).waitFor();
      release();
      await page.getByText("Delivered", { exact: true }).waitFor();
      await page.getByText("echo: later", { exact: true }).waitFor();
      expect(await page.getByText("Waiting for connection…", { exact: true }).count()).toBe(0);
    });
  });

  test("explains a permanent close and reconnects only on request", async () => {
    await dashboard.openLive("/chat#over", async (page) => {
      await connected(page);
      await page.getByLabel("Message", { exact: true }).fill("half a thought");
      dashboard.site.channel.cut(1008, "session_ended");
      await page.getByText("Your session has ended. Sign in, then connect again.").waitFor();
      await page.keyboard.press("Enter");
      await page.getByText("Not sent: there is no connection.").waitFor();
      const tries = dashboard.site.channel.dialled.length;
      await page.getByRole("button", { name: "Reconnect" }).click();
      await connected(page);
      expect(dashboard.site.channel.dialled).toHaveLength(tries + 1);
      expect(await page.getByLabel("Message", { exact: true }).inputValue()).toBe("half a thought");
    });
  });

  test("separates conversations and sends an image with a message", async () => {
    await dashboard.openLive("/chat#first", async (page) => {
      await connected(page);
      const file = {
        name: "dot.png",
        mimeType: "image/png",
        buffer: Buffer.from(dotBytes, "base64"),
      };
      await page.locator("[data-image]").setInputFiles(file);
      await page.getByAltText("Image 1").waitFor();
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByText("Delivered", { exact: true }).waitFor();
      expect(
        dashboard.site.channel.heard.findLast(({ type }) => type === "message.send")?.payload,
      ).toEqual({ content: "", media: [dot] });
      await page.getByText("echo:", { exact: true }).waitFor();
      await page.getByRole("button", { name: "New conversation" }).click();
      await expect.poll(() => page.locator(".message").count()).toBe(0);
      await page.getByRole("link", { name: "first" }).click();
      await expect.poll(() => page.locator(".message").count()).toBe(2);
    });
  });
});
