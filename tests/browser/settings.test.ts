// Tests the settings page in a browser.
import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { useDashboard } from "./dashboard-pages.ts";
import { sections } from "./sample-api.ts";

const dashboard = useDashboard();
const form = (page: Page, name: string): Locator => page.getByRole("form", { name, exact: true });
const save = (page: Page, name: string): Promise<void> =>
  form(page, name).getByRole("button", { name: "Save" }).click();

/** Returns the response of `GET /api/settings` with new values in a section. */
function changed(section: string, value: object, etag: string, problem?: string): object {
  return {
    sections: sections.map((each) =>
      each.section === section
        ? {
            ...each,
            value: { ...(each.value as object), ...value },
            etag,
            ...(problem && { problem }),
          }
        : each,
    ),
  };
}

describe("Settings page", () => {
  test("shows defaults, units and limits and reports invalid input", async () => {
    await dashboard.openLive("/settings", async (page) => {
      const pico = form(page, "Channel");
      expect(await pico.textContent()).toMatch(/Default: 30 seconds\./);
      await pico.locator("#channels-pico-max_payload").fill("67108864");
      await pico.getByText("bytes, 64 MiB").waitFor();
      await pico.locator("#channels-pico-max_payload").fill("12");
      await pico.getByText("Enter 1024 or more.").waitFor();
      await save(page, "Channel");
      expect(await page.evaluate(() => document.activeElement?.id)).toBe(
        "channels-pico-max_payload",
      );
      expect(dashboard.site.sent).toEqual([]);
    });
  });

  test("shows settings of environment variables as read-only", async () => {
    await dashboard.openLive("/settings", async (page) => {
      await form(page, "Channel").getByText("1 read-only setting").click();
      await page
        .getByText("Set by the environment variable SERVICE_CHANNELS_PICO_MAX_CONNECTIONS.")
        .waitFor();
      expect(await page.locator("#channels-pico-max_connections").count()).toBe(0);
    });
  });

  test("shows settings of files and options as read-only", async () => {
    await dashboard.openLive("/settings", async (page) => {
      const launcher = form(page, "Dashboard");
      await launcher.getByText("8 read-only settings").click();
      await launcher.getByText("Set by the command-line option -port.").waitFor();
      expect(await launcher.getByText("Edit launcher-config.json to change it.").count()).toBe(7);
    });
  });

  test("saves only changed fields and names when they take effect", async () => {
    dashboard.site.answer = () => {
      dashboard.site.views.set(
        "GET /api/settings",
        changed("channels.pico", { ping_interval: 15 }, '"p2"'),
      );
      return [200, { etag: '"p2"', now: ["ping_interval"], afterRestart: ["read_timeout"] }];
    };
    await dashboard.openLive("/settings", async (page) => {
      await page.getByLabel("Ping interval").fill("15");
      await save(page, "Channel");
      await page
        .getByText("In effect now: Ping interval. After a restart: Read timeout.")
        .waitFor();
      expect(dashboard.bodies("/api/channels/pico")).toEqual([{ ping_interval: 15 }]);
      expect(dashboard.site.sent[0]?.headers["if-match"]).toBe('"p1"');
      expect(await form(page, "Channel").getByRole("button", { name: "Save" }).isDisabled()).toBe(
        true,
      );
    });
  });

  test("requires the launcher token for access settings", async () => {
    dashboard.site.answer = ({ body }) =>
      body.includes('"current":"right"')
        ? [200, { etag: '"l2"', now: ["allowed_hosts"], afterRestart: [] }]
        : [403, { error: "invalid_token", message: "no" }];
    await dashboard.openLive("/settings", async (page) => {
      await page.getByLabel("Allowed host names").fill("door.example.org\nother.example.org\n");
      await save(page, "Dashboard");
      await page.getByLabel("Launcher token", { exact: true }).fill("wrong");
      await page.keyboard.press("Enter");
      await page.getByText("That is not the launcher token.").waitFor();
      await page.getByLabel("Launcher token", { exact: true }).fill("right");
      await page.keyboard.press("Enter");
      await page.getByText("In effect now: Allowed host names.").waitFor();
      expect(dashboard.bodies("/api/launcher").at(-1)).toEqual({
        allowed_hosts: ["door.example.org", "other.example.org"],
        current: "right",
      });
    });
  });

  test.each([
    ["another server for the client", "wss://evil.example/pico"],
    ["the same one without encryption", "ws://other.example.org/pico"],
  ])("requires the remote token for %s", async (_, url) => {
    dashboard.site.answer = () => [200, { etag: '"c2"', now: ["url"], afterRestart: [] }];
    await dashboard.openLive("/settings", async (page) => {
      await page.locator("#channels-pico_client-url").fill(url);
      await save(page, "Remote channel");
      await page.getByLabel("Remote token", { exact: true }).fill("remote");
      await page.keyboard.press("Enter");
      await page.getByText("In effect now:").waitFor();
      expect(dashboard.bodies("/api/channels/pico_client")).toEqual([{ url, token: "remote" }]);
    });
  });

  test("shows both values after a conflict and keeps the input", async () => {
    dashboard.site.answer = ({ headers }) => {
      if (headers["if-match"] === '"p9"')
        return [200, { etag: '"p10"', now: [], afterRestart: [] }];
      const theirs = changed("channels.pico", { ping_interval: 45, read_timeout: 90 }, '"p9"');
      dashboard.site.views.set("GET /api/settings", theirs);
      return [412, { error: "etag_mismatch", message: "changed" }];
    };
    await dashboard.openLive("/settings", async (page) => {
      await page.getByLabel("Ping interval").fill("15");
      await page.getByLabel("Write timeout").fill("50");
      await save(page, "Channel");
      await page.getByText("The file now contains 45. You typed 15.").waitFor();
      expect(await page.getByLabel("Ping interval").inputValue()).toBe("15");
      expect(await page.getByLabel("Read timeout").inputValue()).toBe("90");
      await page.getByRole("button", { name: "Use file value" }).click();
      expect(await page.getByLabel("Ping interval").inputValue()).toBe("45");
      await save(page, "Channel");
      await expect
        .poll(() => dashboard.bodies("/api/channels/pico").at(-1))
        .toEqual({ write_timeout: 50 });
    });
  });

  test("shows file edits automatically and reports invalid ones", async () => {
    await dashboard.openLive("/settings", async (page) => {
      dashboard.site.views.set(
        "GET /api/settings",
        changed("channels.pico", { ping_interval: 20 }, '"p3"'),
      );
      dashboard.site.emit("settings", { at: 1, section: "channels.pico", keys: ["ping_interval"] });
      await expect.poll(() => page.getByLabel("Ping interval").inputValue()).toBe("20");
      const problem = "session_days: expected a number";
      dashboard.site.views.set("GET /api/settings", changed("launcher", {}, '"l1"', problem));
      dashboard.site.emit("settings", { at: 2, section: "launcher", rejected: problem });
      await page.getByText("The file contains an invalid change: session_days").waitFor();
    });
  });

  test("shows a rejected value at its field", async () => {
    const refused = {
      error: "invalid_setting",
      field: "allowed_origins",
      message: "Expected an origin.",
    };
    dashboard.site.answer = () => [422, refused];
    await dashboard.openLive("/settings", async (page) => {
      await form(page, "Dashboard").getByLabel("Allowed origins").fill("https://a.example");
      await save(page, "Dashboard");
      await page.getByLabel("Launcher token", { exact: true }).fill("right");
      await page.keyboard.press("Enter");
      await page.getByText("Expected an origin.").waitFor();
      expect(
        await form(page, "Dashboard").getByLabel("Allowed origins").getAttribute("aria-invalid"),
      ).toBe("true");
      expect(await form(page, "Dashboard").getByLabel("Allowed origins").inputValue()).toBe(
        "https://a.example",
      );
    });
  });
});
