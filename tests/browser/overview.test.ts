// Tests the overview in a browser.
import { describe, expect, test } from "vitest";
import { useDashboard } from "./dashboard-pages.ts";
import { fresh, program, running } from "./sample.ts";

const dashboard = useDashboard();
const { openLive } = dashboard;

describe("Overview page", () => {
  test("shows changes automatically and escapes markup", async () => {
    await openLive("/overview-on", async (page) => {
      dashboard.site.status = {
        ...running,
        channel: {
          ...running.channel!,
          connections: 17,
          perMinute: [0, 0, 0, 0, 0, 0, 0, 0, 0, 80],
        },
        signIns: [{ at: running.now, address: "<img src=x>", via: "form" }],
        warnings: [{ id: "w", text: "<b>weak token</b>", fix: "doorward token rotate" }],
      };
      dashboard.site.emit("rate", {
        at: running.now,
        in: 1,
        out: 1,
        connections: 17,
        queuedBytes: 0,
      });
      await page.locator('[data-live="connections"]').getByText("17").waitFor();
      expect(await page.textContent('[data-live="chart-top"]')).toBe("80");
      expect(await page.locator("rect").last().getAttribute("height")).toBe("60");
      expect(await page.textContent('[data-live="sign-ins"]')).toContain("<img src=x>");
      expect(await page.isVisible("text=<b>weak token</b>")).toBe(true);
    });
  });

  test("shows rejected connections with a fix and the remaining block", async () => {
    const channel = { ...running.channel!, refusals: [] };
    dashboard.site.status = { ...running, channel };
    await openLive("/overview-on", async (page) => {
      const list = page.locator('[data-live="refused-clients"]');
      await list.waitFor({ state: "hidden" });
      const refusal = { at: running.now, times: 1, address: "10.0.0.7", via: "header" };
      const refuse = (more: object): void => {
        dashboard.site.status = {
          ...running,
          channel: { ...channel, refusals: [{ ...refusal, code: "", ...more }] },
        };
        dashboard.site.emit("refused", { at: running.now, code: "", address: "10.0.0.7" });
      };
      refuse({ code: "token_mismatch", times: 3 });
      await list.getByText("Authorization header · 10.0.0.7 · 3 times").waitFor();
      expect(await list.textContent()).toContain("Compare the client’s token");
      refuse({ code: "rate_limited", until: running.now + 42_000 });
      await list.getByText(/^Blocked for \d+ s\.$/).waitFor();
      expect(await list.textContent()).toContain("doorward unblock 10.0.0.7");
      refuse({ code: "rate_limited", until: running.now + 1_000 });
      await list.getByText("No longer blocked.").waitFor();
      refuse({ code: "<b>new</b>", origin: "<i>x</i>" });
      await list.getByText("Rejected: <b>new</b>").waitFor();
    });
  });

  test("shows state, restarts and stderr of the program", async () => {
    await openLive("/overview-program", async (page) => {
      expect(await page.textContent(".program .command")).toContain("python3 agent.py");
      const stderr = [{ at: running.now, text: "<img src=x> Traceback" }];
      dashboard.site.status = {
        ...fresh,
        program: { ...program, state: "waiting", restarts: 4, stderr },
      };
      dashboard.site.emit("program", { at: running.now, state: "waiting", restarts: 4 });
      await page.getByText("Restarting soon").waitFor();
      expect(await page.textContent('[data-live="program-details"]')).toContain(
        "4, last exit: exit code 1",
      );
      expect(await page.textContent('[data-live="program-stderr"]')).toBe("<img src=x> Traceback");
    });
  });

  test("offers to restart a program that ignores stops", async () => {
    await openLive("/overview-program", async (page) => {
      const restart = page.getByRole("button", { name: "Restart the program" });
      expect(await restart.count()).toBe(0);
      const asked: string[] = [];
      page.on("request", (request) => {
        if (request.method() === "POST") asked.push(new URL(request.url()).pathname);
      });
      dashboard.site.status = { ...fresh, program: { ...program, deaf: 1, knowsStop: false } };
      dashboard.site.emit("program", { at: running.now, state: "running", restarts: 3 });
      await page.getByText("The program has not ended a stopped reply in time.").waitFor();
      expect(await page.textContent('[data-live="program-details"]')).toContain(
        "Not supported by this program",
      );
      dashboard.site.status = { ...fresh, program };
      await restart.click();
      await restart.waitFor({ state: "hidden" });
      expect(asked.filter((path) => path.endsWith("/api/program/restart"))).toHaveLength(1);
    });
  });

  test("reports a server that stops and resumes responding", async () => {
    dashboard.site.streams = false;
    await openLive("/overview-on", async (page) => {
      dashboard.site.status = undefined;
      await page.getByText("Reconnecting…").waitFor();
      dashboard.site.status = running;
      await page.getByText("Live", { exact: true }).waitFor();
    });
  });

  test("asks for the token again and repeats the request", async () => {
    let isSignedIn = false;
    dashboard.site.answer = ({ path }) => {
      if (path === "/login") isSignedIn = true;
      const link = { url: "http://127.0.0.1/login?link=ott_x", expiresAt: "2026-04-14T09:35:00Z" };
      return isSignedIn ? [200, link] : [401, {}];
    };
    await openLive("/overview-on", async (page) => {
      await page.getByRole("button", { name: "Copy sign-in link" }).click();
      await page.getByLabel("Launcher token", { exact: true }).fill("the token");
      await page.keyboard.press("Enter");
      await page.getByText(/Works once, until \d.*the other browser is signed out too/).waitFor();
      expect(dashboard.site.sent.find(({ path }) => path === "/login")?.body).toBe(
        '{"token":"the token"}',
      );
    });
  });

  test("turns on the channel with the latest etag", async () => {
    dashboard.site.status = fresh;
    dashboard.site.answer = () => {
      dashboard.site.status = running;
      return [200, { etag: '"b2"', now: ["enabled"], afterRestart: [] }];
    };
    await openLive("/overview-off", async (page) => {
      await page.getByRole("button", { name: "Turn on channel" }).click();
      await page.getByText("The channel is on.").waitFor();
      expect(dashboard.site.sent).toMatchObject([
        {
          method: "PUT",
          path: "/api/channels/pico",
          headers: { "if-match": '"a1"' },
          body: '{"enabled":true}',
        },
      ]);
      expect(await page.inputValue("#channel-url")).toBe(running.channel?.url);
      expect(await page.isVisible("pre >> text=PASTE_CHANNEL_TOKEN")).toBe(true);
    });
  });

  test("waits for the first status before it turns on the channel", async () => {
    dashboard.site.status = undefined;
    dashboard.site.answer = () => {
      dashboard.site.status = running;
      return [200, { etag: '"b2"', now: ["enabled"], afterRestart: [] }];
    };
    await dashboard.open("/overview-off", {}, async (page) => {
      await page.getByText("Reconnecting…").waitFor();
      dashboard.site.status = fresh;
      const held: (() => unknown)[] = [];
      let isHeld = true;
      await page.route("**/api/status", (route) =>
        isHeld ? void held.push(() => route.continue()) : route.continue(),
      );
      await page.getByRole("button", { name: "Turn on channel" }).click();
      await expect.poll(() => held.length).toBe(1);
      dashboard.site.emit("settings", {});
      await expect.poll(() => held.length).toBe(2);
      void held[0]!();
      await expect
        .poll(() => dashboard.site.sent.map((request) => request.headers["if-match"]))
        .toEqual(['"a1"']);
      isHeld = false;
      for (const go of held.slice(1)) await go();
      await page.getByText("The channel is on.").waitFor();
    });
  });

  test("names a service that does not respond and sends nothing", async () => {
    dashboard.site.status = undefined;
    await dashboard.open("/overview-off", {}, async (page) => {
      await page.getByText("Reconnecting…").waitFor();
      await page.getByRole("button", { name: "Turn on channel" }).click();
      await page
        .locator('[data-live="channel-said"]')
        .getByText("The service rejected the request (503).")
        .waitFor();
      expect(dashboard.site.sent).toEqual([]);
    });
  });

  test("reports changed settings and overwrites nothing", async () => {
    dashboard.site.status = fresh;
    dashboard.site.answer = () => {
      dashboard.site.status = { ...fresh, channel: { ...fresh.channel!, etag: '"c3"' } };
      return [412, { error: "etag_mismatch", message: "The file changed." }];
    };
    await openLive("/overview-off", async (page) => {
      const button = page.getByRole("button", { name: "Turn on channel" });
      await button.click();
      await page.getByText("The settings changed in the meantime.").waitFor();
      await button.click();
      await expect
        .poll(() => dashboard.site.sent.map((request) => request.headers["if-match"]))
        .toEqual(['"a1"', '"c3"']);
    });
  });

  test("asks before it turns off a channel with clients", async () => {
    await openLive("/overview-on", async (page) => {
      await page.getByRole("button", { name: "Turn off" }).click();
      await page.getByText("This disconnects 3 clients.").waitFor();
      await page.keyboard.press("Escape");
      await page.locator("dialog").waitFor({ state: "hidden" });
      expect(dashboard.site.sent).toEqual([]);
      await page.getByRole("button", { name: "Turn off" }).click();
      await page.getByRole("button", { name: "Turn off channel" }).click();
      await expect
        .poll(() => dashboard.site.sent.map((request) => request.body))
        .toEqual(['{"enabled":false}']);
    });
  });

  test("asks before turning off even before the first status", async () => {
    dashboard.site.status = undefined;
    await dashboard.open("/overview-on", {}, async (page) => {
      await page.getByText("Reconnecting…").waitFor();
      dashboard.site.status = running;
      await page.getByRole("button", { name: "Turn off" }).click();
      await page.getByText("This disconnects 3 clients.").waitFor();
      await page.keyboard.press("Escape");
      await page.locator("dialog").waitFor({ state: "hidden" });
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Turn off");
      expect(dashboard.site.sent).toEqual([]);
    });
  });

  test("copies to the clipboard or selects the text", async () => {
    const allowed = { permissions: ["clipboard-read", "clipboard-write"] };
    await openLive(
      "/overview-on",
      async (page) => {
        const button = page.getByRole("button", { name: "Copy snippet for Browser" });
        // The button shows "Copied" only briefly.
        await Promise.all([page.getByText("Copied").waitFor(), button.click()]);
        expect(await page.evaluate(() => navigator.clipboard.readText())).toContain(
          '"message.send"',
        );
      },
      allowed,
    );
    await openLive("/overview-on", async (page) => {
      await page.evaluate(() =>
        Object.defineProperty(navigator, "clipboard", { value: undefined }),
      );
      const button = page.getByRole("button", { name: "Copy channel URL" });
      await Promise.all([page.getByText("Press Ctrl+C").waitFor(), button.click()]);
      expect(await page.evaluate(() => getSelection()?.toString())).toBe(running.channel?.url);
    });
  });

  test("creates and copies a sign-in link with its expiry", async () => {
    dashboard.site.answer = () => [
      200,
      { url: "http://127.0.0.1/login?link=ott_x", expiresAt: "2026-04-14T09:35:00Z" },
    ];
    await openLive("/overview-on", async (page) => {
      await page.getByRole("button", { name: "Copy sign-in link" }).click();
      await page.getByText(/Works once, until \d.*the other browser is signed out too/).waitFor();
      expect(await page.inputValue("#sign-in-link")).toBe("http://127.0.0.1/login?link=ott_x");
      expect(dashboard.site.sent).toMatchObject([{ method: "POST", path: "/api/signin-links" }]);
    });
  });
});
