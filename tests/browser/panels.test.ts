import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { expectAccessible } from "./axe.ts";
import { useDesk } from "./desk.ts";
import { sections } from "./sample-api.ts";

/* What appears only after an action, checked like the pages themselves: both themes, wide and narrow. */

const desk = useDesk();
const checker = { bypassCSP: true, reducedMotion: "reduce" } as const;

async function check(page: Page): Promise<void> {
  for (const [colorScheme, width] of [
    ["light", 1280],
    ["dark", 360],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 800 });
    await expectAccessible(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
  }
}

test("the dialogs that ask for a token and show a new one", async () => {
  desk.site.answer = ({ body }) =>
    body.includes("wrong")
      ? [403, { error: "invalid_token", message: "no" }]
      : [200, { which: "pico", token: "0123456789abcdef".repeat(4), source: "security" }];
  await desk.look(
    "/tokens",
    async (page) => {
      await page.getByRole("button", { name: "Replace the channel token" }).click();
      await page.getByLabel("Use a token of my own").check();
      await page.getByLabel("New token").fill("a-good-token-of-mine");
      await page.getByRole("dialog").locator('input[type="password"]').fill("wrong");
      await page.keyboard.press("Enter");
      await page.getByText("That is not the launcher token.").waitFor();
      await check(page);
      await page.getByRole("dialog").locator('input[type="password"]').fill("right");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Done" }).waitFor();
      await check(page);
    },
    checker,
  );
});

test("settings with a wrong value, a conflict and what was saved", async () => {
  await desk.look(
    "/settings",
    async (page) => {
      await page.getByLabel("Maximum message size").fill("1");
      await page.getByLabel("Ping interval").fill("15");
      const value = { ...(sections[0]!.value as object), ping_interval: 45 };
      desk.site.views.set("GET /api/settings", {
        sections: [{ ...sections[0]!, value, etag: '"p7"' }],
      });
      desk.site.emit("settings", { at: 1, section: "channels.pico", keys: ["ping_interval"] });
      await page.getByText("The file says 45 meanwhile").waitFor();
      const problem = "ping_interval: expected a number";
      desk.site.views.set("GET /api/settings", {
        sections: [{ ...sections[0]!, value, etag: '"p7"', problem }],
      });
      desk.site.emit("settings", { at: 2, section: "channels.pico", rejected: problem });
      await page.getByText("An edit of the file was not taken").waitFor();
      await check(page);
    },
    checker,
  );
});

test("a conversation with everything in it, its raw frames, and a connection that is over", async () => {
  await desk.look(
    "/chat#all",
    async (page) => {
      await page.getByText("Connected", { exact: true }).waitFor();
      const say = (type: string, payload: object): void =>
        desk.site.channel.send({ type, payload });
      await page.getByLabel("Message", { exact: true }).fill("hello");
      await page.keyboard.press("Enter");
      await page.getByText("echo: hello", { exact: true }).waitFor();
      say("message.create", { message_id: "t", kind: "thought", content: "Let me see." });
      say("message.create", {
        message_id: "c",
        kind: "tool_calls",
        content: "",
        tool_calls: [{ name: "weather" }],
      });
      say("message.create", { message_id: "p", content: "One moment", placeholder: true });
      say("error", { code: "busy", message: "The application is busy." });
      say("typing.start", {});
      await page.getByText("Typing…").waitFor();
      await page.getByLabel("Raw frames", { exact: true }).check();
      await check(page);
      desk.site.channel.cut(4403, "forbidden");
      await page.getByText("The owner of this service disconnected").waitFor();
      await check(page);
    },
    checker,
  );
});

test("a page whose session has ended, and one whose updates are paused", async () => {
  await desk.look(
    "/sessions",
    async (page) => {
      desk.site.emit("superseded", {});
      await page.getByRole("button", { name: "Resume" }).waitFor();
      await check(page);
      desk.site.views.delete("GET /api/sessions");
      desk.site.answer = () => [401, {}];
      await page.getByRole("button", { name: "Resume" }).click();
      await page.getByText("Sign in again").waitFor();
      await check(page);
    },
    checker,
  );
});
