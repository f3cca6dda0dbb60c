// Tests the settings page in a browser.
import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { useDashboard } from "./dashboard-pages.ts";
import { sections } from "./sample-api.ts";

const dashboard = useDashboard();
const save = (page: Page): Promise<void> =>
  page.getByRole("button", { name: "Save changes" }).click();
/** The field of a setting; its buttons have longer labels. */
const field = (page: Page, name: string): Locator => page.getByLabel(name, { exact: true });
const focused = (page: Page): Promise<string | undefined> =>
  page.evaluate(() => document.activeElement?.id);

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
  test("shows protocols and the store of conversations", async () => {
    dashboard.site.answer = () => [200, { etag: '"o2"', now: ["enabled"], afterRestart: [] }];
    await dashboard.openLive("/settings", async (page) => {
      const protocols = page.getByRole("region", { name: "Protocols" });
      await protocols.getByLabel("OpenAI API: Protocol on").check();
      await page.getByRole("button", { name: "Save changes" }).click();
      await expect
        .poll(() => dashboard.bodies("/api/channels/openai"))
        .toEqual([{ enabled: true }]);
      const conversations = page.getByRole("region", { name: "Conversations" });
      await conversations.getByText("Edit config.json to change it.").first().waitFor();
    });
  });

  test("offers the possible values of a setting", async () => {
    dashboard.site.answer = () => [200, { etag: '"o3"', now: ["answers"], afterRestart: [] }];
    await dashboard.openLive("/settings", async (page) => {
      const answers = page.locator("#channels-pico-answers");
      await expect.poll(() => answers.inputValue()).toBe("all");
      await expect
        .poll(() => answers.locator("option").allTextContents())
        .toEqual(["all", "owner"]);
      await answers.selectOption("owner");
      await save(page);
      await expect
        .poll(() => dashboard.bodies("/api/channels/pico"))
        .toEqual([{ answers: "owner" }]);
    });
  });

  test("shows units and defaults, and reports invalid input in words", async () => {
    await dashboard.keepLive("/settings", async (page) => {
      const size = page.locator("#channels-pico-max_payload");
      await expect.poll(() => size.inputValue()).toBe("32");
      await expect
        .poll(() => page.getByLabel("Unit of maximum message size").inputValue())
        .toBe("MiB");
      await size.fill("0.5");
      await page.getByLabel("Unit of maximum message size").selectOption("KiB");
      await expect.poll(() => page.getByText("Enter a number").count()).toBe(0);
      await size.blur();
      await page.getByText("Enter a number from 1 KiB to 256 MiB.").waitFor();
      await size.fill("1");
      await expect.poll(() => page.getByText("Enter a number").count()).toBe(0);
      await size.fill("0");
      await save(page);
      await page.getByText("1 value needs attention").waitFor();
      await expect.poll(() => focused(page)).toBe("channels-pico-max_payload");
      expect(dashboard.site.sent).toEqual([]);
      await page.getByRole("button", { name: "Default of Maximum message size: 32 MiB" }).click();
      await page.getByRole("region", { name: "Unsaved changes" }).waitFor({ state: "detached" });
    });
  });

  test("shows settings of the environment, files and options as read-only", async () => {
    await dashboard.keepLive("/settings", async (page) => {
      const readOnly = page.getByRole("region", { name: "Read-only" });
      await readOnly
        .getByText("Set by the environment variable SERVICE_CHANNELS_PICO_MAX_CONNECTIONS.")
        .waitFor();
      await readOnly.getByText("Set by the command-line option -port.").waitFor();
      await expect
        .poll(() => readOnly.getByText("Edit launcher-config.json to change it.").count())
        .toBe(8);
      await expect.poll(() => page.locator("input#channels-pico-max_connections").count()).toBe(0);
      await expect.poll(() => readOnly.locator("input, select, button").count()).toBe(0);
    });
  });

  test("finds settings by name and key and shows their sections", async () => {
    await dashboard.keepLive("/settings", async (page) => {
      await page.getByLabel("Filter settings").fill("allow_token");
      await expect.poll(() => page.locator(".set").count()).toBe(1);
      await page.getByLabel("Filter settings").fill("nothing like this");
      await page.getByText("No matching settings.").waitFor();
      await page.getByRole("link", { name: "Sign-in" }).click();
      await expect.poll(() => new URL(page.url()).pathname).toMatch(/\/settings\/sign-in$/);
      await expect.poll(() => page.locator(".set").count()).toBeGreaterThan(10);
      await page.getByRole("heading", { name: "Sign-in", exact: true }).waitFor();
    });
  });

  test.each(["0", "-5"])("rejects %s where the file would take the default", async (typed) => {
    await dashboard.openLive("/settings", async (page) => {
      await field(page, "Ping interval").fill(typed);
      await save(page);
      await page.getByText("Enter a number from 1 s to 24 h.").waitFor();
      expect(dashboard.site.sent).toEqual([]);
    });
  });

  test("saves only changed fields and keeps the focus", async () => {
    dashboard.site.answer = () => {
      dashboard.site.views.set(
        "GET /api/settings",
        changed("channels.pico", { ping_interval: 15 }, '"p2"'),
      );
      return [200, { etag: '"p2"', now: [], afterRestart: ["ping_interval"] }];
    };
    await dashboard.openLive("/settings", async (page) => {
      await field(page, "Ping interval").fill("15");
      await page.getByText("1 unsaved change", { exact: true }).waitFor();
      await page.getByText("Channelunsaved").waitFor();
      await save(page);
      await page
        .getByText("1 setting saved. Ping interval takes effect after a restart.")
        .waitFor();
      await page.getByRole("region", { name: "Unsaved changes" }).waitFor({ state: "detached" });
      await expect.poll(() => focused(page)).toBe("channels-pico-ping_interval");
      expect(dashboard.bodies("/api/channels/pico")).toEqual([{ ping_interval: 15 }]);
      expect(dashboard.site.sent[0]?.headers["if-match"]).toBe('"p1"');
    });
  });

  test("saves settings of several files with Ctrl S", async () => {
    dashboard.site.answer = ({ path }) => {
      const value = path.endsWith("pico") ? { message_burst: 9 } : { session_days: 3 };
      const section = path.endsWith("pico") ? "channels.pico" : "launcher";
      dashboard.site.views.set("GET /api/settings", changed(section, value, '"x"'));
      return [200, { etag: '"x"', now: Object.keys(value), afterRestart: [] }];
    };
    await dashboard.openLive("/settings", async (page) => {
      await field(page, "Message burst").fill("9");
      await field(page, "Sign-in lifetime").fill("3");
      await page.keyboard.press("Control+s");
      await page.getByText("2 settings saved", { exact: true }).waitFor();
      expect(dashboard.bodies("/api/channels/pico")).toEqual([{ message_burst: 9 }]);
      expect(dashboard.bodies("/api/launcher")).toEqual([{ session_days: 3 }]);
    });
  });

  test("keeps what is typed over a reload and discards it on request", async () => {
    await dashboard.openLive("/settings", async (page) => {
      page.on("dialog", (dialog) => void dialog.accept());
      await field(page, "Ping interval").fill("7");
      await page.getByText("1 unsaved change", { exact: true }).waitFor();
      await page.reload();
      await page.getByText("1 unsaved change", { exact: true }).waitFor();
      await expect.poll(() => field(page, "Ping interval").inputValue()).toBe("7");
      await page.getByRole("button", { name: "Discard" }).click();
      await expect.poll(() => field(page, "Ping interval").inputValue()).toBe("30");
    });
  });

  test("requires the launcher token for access settings", async () => {
    dashboard.site.answer = ({ body }) =>
      body.includes('"current":"right"')
        ? [200, { etag: '"l2"', now: ["allowed_hosts"], afterRestart: [] }]
        : [403, { error: "invalid_token", message: "no" }];
    await dashboard.openLive("/settings", async (page) => {
      const hosts = field(page, "Allowed host names");
      await page.getByRole("button", { name: "Remove door.example.org" }).click();
      await hosts.fill("a.example.org");
      await page.keyboard.press("Enter");
      await expect.poll(() => hosts.inputValue()).toBe("");
      await hosts.fill("b.example.org");
      await save(page);
      const token = page.getByRole("dialog").getByLabel("Launcher token", { exact: true });
      await token.fill("wrong");
      await page.keyboard.press("Enter");
      await page.getByText("That is not the launcher token.").waitFor();
      await token.fill("right");
      await page.keyboard.press("Enter");
      await page.getByText("1 setting saved").waitFor();
      expect(dashboard.bodies("/api/launcher").at(-1)).toEqual({
        allowed_hosts: ["a.example.org", "b.example.org"],
        current: "right",
      });
    });
  });

  test("reports an invalid item of a list", async () => {
    await dashboard.openLive("/settings", async (page) => {
      await field(page, "Allowed host names").fill("not/a/host");
      await save(page);
      await page.getByText("“not/a/host” does not have the expected format.").waitFor();
      expect(dashboard.site.sent).toEqual([]);
    });
  });

  test.each([
    ["another server for the client", "wss://evil.example/pico"],
    ["the same one without encryption", "ws://other.example.org/pico"],
  ])("requires the remote token for %s", async (_, url) => {
    dashboard.site.answer = () => [200, { etag: '"c2"', now: ["url"], afterRestart: [] }];
    await dashboard.openLive("/settings", async (page) => {
      await page.locator("#channels-pico_client-url").fill(url);
      await save(page);
      await page.getByRole("dialog").getByLabel("Remote token", { exact: true }).fill("remote");
      await page.keyboard.press("Enter");
      await page.getByText("1 setting saved").waitFor();
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
      await field(page, "Ping interval").fill("15");
      await field(page, "Write timeout").fill("50");
      await save(page);
      await page.getByText("The file changed in the meantime, so nothing was saved.").waitFor();
      await page.getByText("The file now contains 45 s. You typed 15 s.").waitFor();
      await expect.poll(() => field(page, "Ping interval").inputValue()).toBe("15");
      await expect.poll(() => field(page, "Read timeout").inputValue()).toBe("90");
      await page.getByRole("button", { name: "Use file value" }).click();
      await expect.poll(() => field(page, "Ping interval").inputValue()).toBe("45");
      await save(page);
      await expect
        .poll(() => dashboard.bodies("/api/channels/pico").at(-1))
        .toEqual({ write_timeout: 3000 });
      await expect.poll(() => page.getByText("nothing was saved").count()).toBe(0);
    });
  });

  test("shows file edits automatically and reports invalid ones", async () => {
    await dashboard.openLive("/settings", async (page) => {
      dashboard.site.views.set(
        "GET /api/settings",
        changed("channels.pico", { ping_interval: 20 }, '"p3"'),
      );
      dashboard.site.emit("settings", { at: 1, section: "channels.pico", keys: ["ping_interval"] });
      await expect.poll(() => field(page, "Ping interval").inputValue()).toBe("20");
      const problem = "session_days: expected a number";
      dashboard.site.views.set("GET /api/settings", changed("launcher", {}, '"l1"', problem));
      dashboard.site.emit("settings", { at: 2, section: "launcher", rejected: problem });
      await page
        .getByText("launcher-config.json contains an invalid change: session_days")
        .waitFor();
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
      const origins = field(page, "Allowed origins of the dashboard");
      await origins.fill("https://a.example");
      await save(page);
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Launcher token", { exact: true }).fill("right");
      await page.keyboard.press("Enter");
      await page.getByText("Expected an origin.").waitFor();
      await expect.poll(() => origins.getAttribute("aria-invalid")).toBe("true");
      await page.getByRole("button", { name: "Remove https://a.example" }).waitFor();
      await expect.poll(() => page.getByText("setting saved").count()).toBe(0);
    });
  });
});
