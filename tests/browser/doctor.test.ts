// Tests the doctor page in a browser.
import { describe, expect, test } from "vitest";
import { hold, useDashboard } from "./dashboard-pages.ts";
import { checks } from "./sample-api.ts";

const dashboard = useDashboard();
const passed = { id: "clock", title: "Clock", result: "ok", reason: "Right." };

describe("Doctor page", () => {
  test("runs the checks although the stream opens before the page is drawn", async () => {
    await dashboard.open("/sign-in", {}, async (page) => {
      // Without frames, the page reacts 100 ms later.
      await page.addInitScript(() => {
        globalThis.requestAnimationFrame = () => 0;
      });
      await page.goto(`${dashboard.site.origin}/doctor`);
      await page.getByText(/\d checks/).waitFor();
    });
  });

  test("shows findings first, worst first, with the command that fixes them", async () => {
    await dashboard.openLive("/doctor", async (page) => {
      await page.getByRole("heading", { name: "1 problem and 1 warning" }).waitFor();
      await page.getByText("5 checks: 3 passed · last run just now").waitFor();
      await expect
        .poll(() => page.locator(".finding h2").allTextContents())
        .toEqual(["Problem: Files that other users can read", "Warning: Weak token"]);
      await page.getByText("chmod 600 ~/.service/.security.yml", { exact: true }).waitFor();
      await expect.poll(() => page.locator(".finding").getByRole("button").count()).toBe(2);

      await expect.poll(() => page.locator(".checks details[open]").count()).toBe(0);
      await page.getByText("3 passed", { exact: true }).click();
      await page.locator(".checks code").getByText("Bearer <token>", { exact: true }).waitFor();
    });
  });

  test("runs the checks again and opens passed ones without findings", async () => {
    await dashboard.openLive("/doctor", async (page) => {
      await page.getByRole("heading", { name: "1 problem and 1 warning" }).waitFor();
      dashboard.site.views.set("POST /api/doctor", { checks: [passed] });
      await page.getByRole("button", { name: "Run again" }).click();
      await page.getByRole("heading", { name: "Everything is fine" }).waitFor();
      await page.getByText("1 check: 1 passed").waitFor();
      await page.getByText("Right.").waitFor();
      await expect.poll(() => page.locator(".finding").count()).toBe(0);
      await page.getByText("The checks have finished").waitFor();
    });
  });

  test("fixes findings on the server and runs the checks again", async () => {
    const off = {
      id: "handshake",
      title: "Handshakes with the token",
      result: "warning",
      reason: "Not tested: the channel is off.",
      action: "turn-on-channel",
    };
    dashboard.site.views.set("POST /api/doctor", { checks: [off, passed] });
    dashboard.site.answer = () => [422, { error: "invalid_setting", message: "No token." }];
    await dashboard.openLive("/doctor", async (page) => {
      const turnOn = page.getByRole("button", { name: "Turn on the channel" });
      await turnOn.click();
      await page.getByRole("alert").getByText("No token.").waitFor();
      dashboard.site.answer = () => [200, {}];
      dashboard.site.views.set("POST /api/doctor", { checks: [passed] });
      await turnOn.click();
      await page.getByRole("heading", { name: "Everything is fine" }).waitFor();
      await page.getByText("The channel is on").waitFor();
      expect(dashboard.bodies("/api/channels/pico")).toEqual([
        { enabled: true },
        { enabled: true },
      ]);
      const sent = dashboard.site.sent.filter(({ path }) => path === "/api/channels/pico");
      expect(sent[0]?.headers["if-match"]).toBe('"a1"');
    });
  });

  test("runs the checks again after a fix that began during a run", async () => {
    const off = { ...passed, result: "warning", action: "turn-on-channel" };
    dashboard.site.views.set("POST /api/doctor", { checks: [off] });
    await dashboard.openLive("/doctor", async (page) => {
      await page.getByRole("heading", { name: "1 warning" }).waitFor();
      const held = await hold(page, "**/api/doctor");
      await page.getByRole("button", { name: "Run again" }).click();
      await expect.poll(() => held.length).toBe(1);
      await page.getByRole("button", { name: "Turn on the channel" }).click();
      await page.getByText("The channel is on").waitFor();
      await held[0]!.fulfill({ json: { checks: [off] } });
      await expect.poll(() => held.length).toBe(2);
      await held[1]!.fulfill({ json: { checks: [passed] } });
      await page.getByRole("heading", { name: "Everything is fine" }).waitFor();
    });
  });

  test("says that the checks could not run, and runs them on request", async () => {
    dashboard.site.views.delete("POST /api/doctor");
    dashboard.site.answer = () => [503, { error: "unavailable", message: "Starting." }];
    await dashboard.open("/doctor", {}, async (page) => {
      await page.getByText("The checks could not run.").waitFor();
      dashboard.site.views.set("POST /api/doctor", { checks });
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByRole("heading", { name: "1 problem and 1 warning" }).waitFor();
    });
  });
});
