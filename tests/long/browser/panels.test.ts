// Tests the accessibility of content that appears after an action.
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { expectAccessible } from "../../browser/axe.ts";
import { useDashboard } from "../../browser/dashboard-pages.ts";
import { sections } from "../../browser/sample-api.ts";

const dashboard = useDashboard();
const checker = { reducedMotion: "reduce" } as const;

async function check(page: Page): Promise<void> {
  for (const [colorScheme, width] of [
    ["light", 1280],
    ["dark", 360],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 800 });
    await expectAccessible(page);
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
  }
}

describe("Accessibility after actions", () => {
  test("covers the dialogs that rotate a token", async () => {
    dashboard.site.answer = ({ body }) =>
      body.includes("wrong")
        ? [403, { error: "invalid_token", message: "no" }]
        : [200, { which: "pico", token: "0123456789abcdef".repeat(4), source: "security" }];
    await dashboard.openLive(
      "/security",
      async (page) => {
        await page.getByRole("button", { name: "Replace the channel token" }).click();
        await page.getByLabel("Use my own token").check();
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

  test("covers settings with a problem, a conflict and a save", async () => {
    await dashboard.openLive(
      "/settings",
      async (page) => {
        await page.locator("#channels-pico-max_payload").fill("1000");
        await page.getByLabel("Ping interval", { exact: true }).fill("15");
        await page.getByText("Enter a number from 1 KiB to 256 MiB.").waitFor();
        const value = { ...(sections[0]!.value as object), ping_interval: 45 };
        dashboard.site.views.set("GET /api/settings", {
          sections: [{ ...sections[0]!, value, etag: '"p7"' }],
        });
        dashboard.site.emit("settings", {
          at: 1,
          section: "channels.pico",
          keys: ["ping_interval"],
        });
        await page.getByText("The file now contains 45 s").waitFor();
        const problem = "ping_interval: expected a number";
        dashboard.site.views.set("GET /api/settings", {
          sections: [{ ...sections[0]!, value, etag: '"p7"', problem }],
        });
        dashboard.site.emit("settings", { at: 2, section: "channels.pico", rejected: problem });
        await page.getByText("config.json contains an invalid change").waitFor();
        await check(page);
      },
      checker,
    );
  });

  test("covers a full conversation, raw frames and a closed connection", async () => {
    await dashboard.openLive(
      "/chat#all",
      async (page) => {
        await page.getByText("Connected", { exact: true }).waitFor();
        const say = (type: string, payload: object): void =>
          dashboard.site.channel.send({ type, payload });
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
        await page.getByRole("button", { name: "Request inspector" }).click();
        await check(page);
        await page.getByRole("radio", { name: "Raw frames" }).click();
        await page.getByText("message.send", { exact: true }).click();
        await check(page);
        dashboard.site.channel.cut(4403, "forbidden");
        await page.getByText("The owner disconnected this client").waitFor();
        await check(page);
      },
      checker,
    );
  });

  test("covers an ended sign-in and paused updates", async () => {
    await dashboard.openLive(
      "/security",
      async (page) => {
        dashboard.site.emit("superseded", {});
        await page.getByRole("button", { name: "Resume" }).first().waitFor();
        await check(page);
        dashboard.site.views.delete("GET /api/sessions");
        dashboard.site.answer = () => [401, {}];
        await page.getByRole("button", { name: "Resume" }).first().click();
        await page.getByText("Your session has ended").waitFor();
        await check(page);
      },
      checker,
    );
  });
});
