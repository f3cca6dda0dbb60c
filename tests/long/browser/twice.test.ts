// Tests slow responses and impatient users.
import type { Page, Route } from "playwright-core";
import { describe, expect, test } from "vitest";
import { hold, useDashboard } from "../../browser/dashboard-pages.ts";
import { sections } from "../../browser/sample-api.ts";

const dashboard = useDashboard();
const secret = "0123456789abcdef".repeat(4);
const dot =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

async function among(held: readonly Route[], many: number): Promise<void> {
  await expect.poll(() => held.length).toBe(many);
}
/** Answers the first request with the rate limit. */
async function limit(held: readonly Route[]): Promise<void> {
  await among(held, 1);
  const json = { error: "rate_limited", message: "Too many.", retryAfterSeconds: 60 };
  await held[0]!.fulfill({ status: 429, json });
}
const token = (page: Page) => page.getByRole("dialog").locator('input[type="password"]');

describe("Page with slow responses", () => {
  test("shows a new token after the dialog was closed", async () => {
    dashboard.site.answer = () => [200, { which: "pico", token: secret, source: "security" }];
    await dashboard.openLive("/security", async (page) => {
      await page.evaluate(() => {
        const limits: { ms: number; controller: AbortController }[] = [];
        AbortSignal.timeout = (ms) => {
          const controller = new AbortController();
          limits.push({ ms, controller });
          return controller.signal;
        };
        addEventListener("late", () =>
          limits.forEach(({ ms, controller }) => ms <= 20_000 && controller.abort()),
        );
      });
      const held = await hold(page, "**/api/token/rotate");
      await page.getByRole("button", { name: "Replace the channel token" }).click();
      await token(page).fill("right");
      await page.keyboard.press("Enter");
      await among(held, 1);
      await page.evaluate(() => dispatchEvent(new Event("late")));
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await held[0]!.continue();
      await expect
        .poll(() =>
          page.getByRole("dialog").getByLabel("Channel token", { exact: true }).inputValue(),
        )
        .toBe(secret);
    });
  });

  test("allows a token that bypasses the limit only once", async () => {
    await dashboard.openLive("/security", async (page) => {
      const held = await hold(page, "**/api/token/rotate");
      await page.getByRole("button", { name: "Replace the launcher token" }).click();
      await token(page).fill("wrong");
      await page.clock.install();
      await page.keyboard.press("Enter");
      await limit(held);
      await page.getByText(/Try again in \d+ s/).waitFor();
      await token(page).fill("x".repeat(43));
      await page.keyboard.press("Enter");
      await among(held, 2);
      await page.clock.runFor(1_000);
      await token(page).press("End");
      await page.keyboard.press("Enter");
      const send = page.getByRole("button", { name: "Replace", exact: true });
      await expect
        .poll(async () => [await send.getAttribute("aria-disabled"), held.length])
        .toEqual(["true", 2]);
    });
  });

  test("allows a setup that bypasses the limit only once", async () => {
    await dashboard.open("/setup-page", {}, async (page) => {
      const held = await hold(page, "**/setup");
      await page.fill("#code", "wrong");
      await page.clock.install();
      await page.getByRole("button", { name: "Finish setup" }).click();
      await limit(held);
      await page.getByText(/Try again in \d+ s/).waitFor();
      await page.fill("#code", "x".repeat(43));
      await page.getByRole("button", { name: "Finish setup" }).click();
      await among(held, 2);
      await page.clock.runFor(1_000);
      await expect
        .poll(() => page.getByRole("button", { name: "Finish setup" }).isDisabled())
        .toBe(true);
    });
  });

  test("disconnects once after a double click", async () => {
    await dashboard.openLive("/clients/connections", async (page) => {
      const held = await hold(page, "**/api/connections/c2");
      await page.getByRole("button", { name: /^Actions for .*garden$/ }).click();
      await page.getByRole("menuitem", { name: "Disconnect…" }).click();
      await page.getByRole("button", { name: "Disconnect", exact: true }).dblclick();
      await among(held, 1);
      await held[0]!.fulfill({ json: {} });
      await page.getByText(/ disconnected$/).waitFor();
      expect(held).toHaveLength(1);
    });
  });

  test("keeps input typed during a save for the next save", async () => {
    const view = (value: object, etag: string, problem?: string): object => ({
      sections: [
        { ...sections[0]!, value: { ...(sections[0]!.value as object), ...value }, etag, problem },
      ],
    });
    await dashboard.openLive("/settings", async (page) => {
      dashboard.site.views.set(
        "GET /api/settings",
        view({}, '"p1"', "read_timeout: expected a number"),
      );
      dashboard.site.emit("settings", {});
      await page.getByText("config.json contains an invalid change").waitFor();
      dashboard.site.views.set("GET /api/settings", view({}, '"p1"'));
      dashboard.site.emit("settings", {});
      await page.getByText("config.json contains an invalid change").waitFor({ state: "hidden" });

      const held = await hold(page, "**/api/channels/pico");
      const save = page.locator(".save .button.primary");
      const interval = page.getByLabel("Ping interval", { exact: true });
      await interval.fill("15");
      await save.click();
      await among(held, 1);
      await interval.fill("20");
      await save.click({ force: true });
      await expect
        .poll(async () => [await save.getAttribute("aria-disabled"), held.length])
        .toEqual(["true", 1]);
      dashboard.site.views.set("GET /api/settings", view({ ping_interval: 15 }, '"p2"'));
      await held[0]!.fulfill({ json: { etag: '"p2"', now: ["ping_interval"], afterRestart: [] } });
      await page.getByText("1 setting saved").waitFor();
      await expect
        .poll(() => page.getByText("You typed").filter({ visible: true }).count())
        .toBe(0);
      await save.click();
      await among(held, 2);
      expect([held[1]!.request().headers()["if-match"], held[1]!.request().postDataJSON()]).toEqual(
        ['"p2"', { ping_interval: 20 }],
      );
    });
  });

  test("delays a message until its image is loaded, then sends it once", async () => {
    await dashboard.openLive("/chat#slow", async (page) => {
      await page.getByText("Connected", { exact: true }).waitFor();
      await page.evaluate(() => {
        const read = FileReader.prototype.readAsDataURL;
        FileReader.prototype.readAsDataURL = function (file) {
          addEventListener("read", () => read.call(this, file), { once: true });
        };
      });
      const file = { name: "dot.png", mimeType: "image/png", buffer: Buffer.from(dot, "base64") };
      await page.locator("input[type=file]").setInputFiles(file);
      await page.getByLabel("Message", { exact: true }).fill("look at this");
      await page.keyboard.press("Enter");
      await page.keyboard.press("Enter");
      await page.evaluate(() => dispatchEvent(new Event("read")));
      await page.getByText("echo: look at this", { exact: true }).waitFor();
      const sent = dashboard.site.channel.heard
        .filter(({ type }) => type === "message.send")
        .map(({ payload }) => payload);
      expect(sent.slice(-1)).toEqual([
        {
          content: "look at this",
          media: [{ url: `data:image/png;base64,${dot}`, filename: "dot.png" }],
        },
      ]);
      await expect.poll(() => page.locator(".msg.mine").count()).toBe(1);
    });
  });

  test("allows one run of the checks at a time", async () => {
    await dashboard.openLive("/doctor", async (page) => {
      let begun = 0;
      page.on("request", (request) => {
        begun += request.url().endsWith("/api/status") ? 1 : 0;
      });
      const held = await hold(page, "**/api/doctor");
      await page.reload();
      await among(held, 1);
      dashboard.site.emit("missed", { count: 1 });
      dashboard.site.emit("superseded", {});
      await page.getByText("Live updates paused").waitFor();
      expect(begun).toBe(1);
    });
  });
});
