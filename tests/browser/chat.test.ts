import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { useDesk } from "./desk.ts";

const desk = useDesk();
const connected = (page: Page): Promise<void> =>
  page.getByText("Connected", { exact: true }).waitFor();
const dotBytes =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const dot = `data:image/png;base64,${dotBytes}`;

test("Enter sends, the answer appears, and the message is marked as taken", async () => {
  await desk.look("/chat#kitchen", async (page) => {
    await connected(page);
    await page.getByLabel("Message", { exact: true }).fill("hello <b>there</b>");
    await page.keyboard.press("Enter");
    await page.getByText("echo: hello <b>there</b>", { exact: true }).waitFor();
    await page.getByText("taken", { exact: true }).waitFor();
    expect(await page.getByLabel("Message", { exact: true }).inputValue()).toBe("");
    expect(desk.site.channel.dialled.at(-1)).toContain("session_id=kitchen&pico_ext=1");
  });
});

test("an answer grows in place; thoughts, tool calls, pictures, typing and errors have their own looks", async () => {
  await desk.look("/chat#looks", async (page) => {
    await connected(page);
    const { channel } = desk.site;
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

test("raw frames are shown on demand, those sent and those received", async () => {
  await desk.look("/chat#raw", async (page) => {
    await connected(page);
    await page.getByLabel("Raw frames", { exact: true }).check();
    await page.getByLabel("Message", { exact: true }).fill("look");
    await page.keyboard.press("Enter");
    await page.locator(".frames .out").getByText('"type":"message.send"').waitFor();
    await page.locator(".frames .in").getByText('"content":"echo: look"').waitFor();
  });
});

test("a cut connection is taken up where it was, without a second copy of what was seen", async () => {
  await desk.look("/chat#cut", async (page) => {
    await connected(page);
    await page.getByLabel("Message", { exact: true }).fill("one");
    await page.keyboard.press("Enter");
    await page.getByText("echo: one", { exact: true }).waitFor();
    desk.site.channel.cut(1012, "restart; retry=10");
    await expect.poll(() => desk.site.channel.dialled.at(-1)).toMatch(/resume=e1%3A\d+&conn=conn$/);
    await connected(page);
    expect(await page.getByText("echo: one", { exact: true }).count()).toBe(1);
  });
});

test("what is written while the connection is cut waits for the next one", async () => {
  await desk.look("/chat#patience", async (page) => {
    await connected(page);
    const release = desk.site.channel.hold();
    desk.site.channel.cut(1012, "restart; retry=10");
    await page.getByText("Connected", { exact: true }).waitFor({ state: "detached" });
    await page.getByLabel("Message", { exact: true }).fill("later");
    await page.keyboard.press("Enter");
    await page.getByText("waits for the connection", { exact: true }).waitFor();
    release();
    await page.getByText("taken", { exact: true }).waitFor();
    await page.getByText("echo: later", { exact: true }).waitFor();
    expect(await page.getByText("waits for the connection", { exact: true }).count()).toBe(0);
  });
});

test("a close for good says why, does not try again, and can be tried by hand; what was typed stays", async () => {
  await desk.look("/chat#over", async (page) => {
    await connected(page);
    await page.getByLabel("Message", { exact: true }).fill("half a thought");
    desk.site.channel.cut(1008, "session_ended");
    await page.getByText("The session of this browser has ended").waitFor();
    await page.keyboard.press("Enter");
    await page.getByText("There is no connection now").waitFor();
    const tries = desk.site.channel.dialled.length;
    await page.getByRole("button", { name: "Connect again" }).click();
    await connected(page);
    expect(desk.site.channel.dialled).toHaveLength(tries + 1);
    expect(await page.getByLabel("Message", { exact: true }).inputValue()).toBe("half a thought");
  });
});

test("conversations are kept apart, and a picture goes with a message", async () => {
  await desk.look("/chat#first", async (page) => {
    await connected(page);
    const file = {
      name: "dot.png",
      mimeType: "image/png",
      buffer: Buffer.from(dotBytes, "base64"),
    };
    await page.locator("[data-picture]").setInputFiles(file);
    await page.getByAltText("Picture 1").waitFor();
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("taken", { exact: true }).waitFor();
    expect(
      desk.site.channel.heard.findLast(({ type }) => type === "message.send")?.payload,
    ).toEqual({ content: "", media: [dot] });
    await page.getByText("echo:", { exact: true }).waitFor();
    await page.getByRole("button", { name: "New conversation" }).click();
    await expect.poll(() => page.locator(".message").count()).toBe(0);
    await page.getByRole("link", { name: "first" }).click();
    await expect.poll(() => page.locator(".message").count()).toBe(2);
  });
});
