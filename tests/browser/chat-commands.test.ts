// Tests the commands that the application offers in the composer, and notices.
import { describe, expect, test } from "vitest";
import { expectAccessible } from "./axe.ts";
import { useChat, write } from "./chat-launcher.ts";

const shots = process.env["COMMANDS_SHOTS"];
const commands = [
  { name: "compact", description: "Shortens the conversation", hint: "[topic]" },
  { name: "cost", description: "Says what the session has cost" },
  { name: "review", description: "Reads the changes" },
];

describe("The composer", () => {
  const chat = useChat();

  test("offers the commands of the application after a slash", async () => {
    const page = await chat.open("commands");
    await page.emulateMedia({ reducedMotion: "reduce" });
    await write(page, "hello");
    await chat.say(
      "commands",
      "hello",
      ["status", { state: "ready", commands }],
      ["message.create", { kind: "notice", content: "The agent has forgotten this conversation" }],
      ["message.create", { content: "Hello." }],
    );

    await page.locator(".notice").getByText("The agent has forgotten").waitFor();
    const field = page.getByLabel("Message", { exact: true });
    await field.fill("/");
    const list = page.getByRole("listbox", { name: "Commands" });
    await list.waitFor();
    await expect.poll(() => list.getByRole("option").count()).toBe(3);
    await expectAccessible(page);
    for (const [width, height, scheme] of [
      [1280, 800, "light"],
      [390, 800, "dark"],
    ] as const) {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      if (shots !== undefined) await page.screenshot({ path: `${shots}/commands-${width}.png` });
    }
    await field.fill("/co");
    await expect.poll(() => list.getByRole("option").count()).toBe(2);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await expect.poll(() => field.inputValue()).toBe("/cost ");
    await list.waitFor({ state: "detached" });
    await field.fill("/rev");
    await list.waitFor();
    await page.keyboard.press("Escape");
    await list.waitFor({ state: "detached" });
    await expect.poll(() => field.inputValue()).toBe("/rev");
  });
});
