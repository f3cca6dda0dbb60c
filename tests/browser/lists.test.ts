// Tests the pages with lists: connections, sign-ins, log, doctor and connect.
import { describe, expect, test } from "vitest";
import { useDashboard } from "./dashboard-pages.ts";
import { connection, sessions } from "./sample-api.ts";

const dashboard = useDashboard();
const pageOf = (offset: number) => ({
  total: 10_000,
  connections: Array.from({ length: 100 }, (_, at) => connection(offset + at)),
});

describe("Pages with lists", () => {
  test("shows 10,000 connections in pages of 100", async () => {
    dashboard.site.views.set("GET /api/connections", pageOf(0));
    await dashboard.openLive("/connections", async (page) => {
      await page.getByText("1 to 100 of 10\u202f000").waitFor();
      expect(await page.locator("tbody tr").count()).toBe(100);
      dashboard.site.views.set("GET /api/connections", pageOf(100));
      await page.getByRole("button", { name: "Next" }).click();
      await page.getByText("101 to 200 of 10\u202f000").waitFor();
      await page.getByText("robot-150", { exact: true }).waitFor();
      expect(await page.getByText("robot-50", { exact: true }).count()).toBe(0);
    });
  });

  test("updates rows and rates and keeps the focus", async () => {
    await dashboard.openLive("/connections", async (page) => {
      const end = page.getByRole("button", { name: "Disconnect laptop" });
      await end.focus();
      const connections = [{ ...connection(1), messagesIn: 9999 }, connection(7)];
      dashboard.site.views.set("GET /api/connections", { total: 2, connections });
      dashboard.site.emit("rate", { at: 1, in: 12, out: 34, connections: 2, queuedBytes: 1536 });
      await page.getByText("robot-7").waitFor();
      expect(await page.locator(".rates").textContent()).toMatch(
        /In12 messages\/s\s*Out34 messages\/s\s*Queued1\.5 KiB/,
      );
      expect(await page.getByRole("row", { name: /laptop/ }).textContent()).toContain("9\u202f999");
      expect(await end.evaluate((button) => button === document.activeElement)).toBe(true);
    });
  });

  test("ignores older responses and responses to earlier filters", async () => {
    await dashboard.openLive("/connections", async (page) => {
      const held: ((number: number) => Promise<void>)[] = [];
      await page.route(
        "**/api/connections?*",
        (route) =>
          void held.push((number) =>
            route.fulfill({ json: { total: 1, connections: [connection(number)] } }),
          ),
      );
      const filter = page.getByRole("searchbox");
      await filter.fill("a");
      await expect.poll(() => held.length).toBe(1);
      await filter.fill("b");
      await expect.poll(() => held.length).toBe(2);
      for (const asked of [3, 4]) {
        dashboard.site.emit("connected", {});
        await expect.poll(() => held.length).toBe(asked);
      }
      await held[2]!(6);
      await page.getByText("robot-6", { exact: true }).waitFor();
      await held[3]!(7);
      await page.getByText("robot-7", { exact: true }).waitFor();
      await held[0]!(8);
      await held[1]!(9);
      expect(await page.getByText("robot-7", { exact: true }).count()).toBe(1);
    });
  });

  test("shows client, authentication, times and traffic of a connection", async () => {
    await dashboard.openLive("/connections", async (page) => {
      const cells = await page
        .getByRole("row", { name: /laptop/ })
        .locator("td")
        .allTextContents();
      expect(cells.slice(0, -1)).toEqual([
        "laptop",
        "192.168.178.21https://home.example.orgFirefox 140 on Linux",
        "subprotocol",
        "3 h ago",
        "2\u202f568",
        "31",
        "0 B",
        expect.stringMatching(/^just now$|^\d+ s ago$/),
      ]);
      const since = page
        .getByRole("row", { name: /laptop/ })
        .locator("time")
        .first();
      expect(await since.getAttribute("title")).toMatch(/\d:\d\d/);
    });
  });

  test("disconnects one client", async () => {
    await dashboard.openLive("/connections", async (page) => {
      await page.getByRole("button", { name: "Disconnect garden" }).click();
      await page.getByText("Disconnected garden.").waitFor();
      expect(dashboard.site.sent.map(({ method, path }) => `${method} ${path}`)).toEqual([
        "DELETE /api/connections/c2",
      ]);
    });
  });

  test("signs out one browser or all others", async () => {
    dashboard.site.answer = ({ path }) => [
      200,
      path === "/api/sessions" ? { ended: 2 } : { status: "ok" },
    ];
    await dashboard.openLive("/sessions", async (page) => {
      const cells = await page
        .getByRole("row", { name: /this browser/ })
        .locator("td")
        .allTextContents();
      expect(cells.slice(0, -2)).toEqual([
        "Firefox 140 on Linuxthis browser",
        "127.0.0.1",
        "2 min ago",
        expect.stringMatching(/^just now$|^\d+ s ago$/),
      ]);
      const dialog = page.getByRole("dialog");
      await page.getByRole("button", { name: "Sign out Safari 18 on iOS" }).click();
      await dialog.getByLabel("Launcher token", { exact: true }).fill("typed-again");
      await dialog.getByRole("button", { name: "Sign out" }).click();
      await page.getByText("Signed out Safari 18 on iOS.").waitFor();
      await page.getByRole("button", { name: "Sign out others" }).click();
      await dialog.getByRole("button", { name: "Cancel" }).click();
      await page.getByRole("button", { name: "Sign out others" }).click();
      await dialog.getByLabel("Launcher token", { exact: true }).fill("typed-again");
      await dialog.getByRole("button", { name: "Sign out others" }).click();
      await page.getByText("Signed out 2 other browsers.").waitFor();
      expect(dashboard.site.sent.map(({ method, path }) => `${method} ${path}`)).toEqual([
        "DELETE /api/sessions/4e5f6071",
        "DELETE /api/sessions",
      ]);
      for (const { body } of dashboard.site.sent)
        expect(JSON.parse(body)).toEqual({ current: "typed-again" });
    });
  });

  test("shows new sign-ins automatically", async () => {
    dashboard.site.views.set("GET /api/sessions", { sessions: sessions.slice(0, 1) });
    await dashboard.openLive("/sessions", async (page) => {
      expect(await page.getByRole("button", { name: "Sign out others" }).isDisabled()).toBe(true);
      dashboard.site.views.set("GET /api/sessions", { sessions });
      dashboard.site.emit("signed-in", { at: 1, signIn: "4e5f6071", address: "::1", via: "form" });
      await page.getByText("Safari 18 on iOS").waitFor();
    });
  });

  test("limits the log to 1,000 lines and escapes markup", async () => {
    await dashboard.openLive("/log", async (page) => {
      for (let at = 0; at < 1500; at++) {
        dashboard.site.emit("log", {
          at,
          level: "info",
          text: `<b>line ${at}</b>`,
          fields: { at },
        });
      }
      dashboard.site.emit("log-skipped", { count: 731 });
      await page.getByText("731 lines skipped").waitFor();
      await page.getByText("<b>line 1499</b>").waitFor();
      expect(await page.locator(".lines li").count()).toBe(1000);
      await page.getByText("731 lines not shown").waitFor();
      expect(await page.locator(".lines b b").count()).toBe(0);
    });
  });

  test("pauses the log, continues and jumps to the newest line", async () => {
    await dashboard.openLive("/log", async (page) => {
      await page.getByRole("button", { name: "Pause" }).click();
      dashboard.site.emit("log", { at: 1, level: "warn", text: "while paused", fields: {} });
      await page.getByText("paused, 1 new").waitFor();
      expect(await page.getByText("while paused").count()).toBe(0);
      await page.getByRole("button", { name: "Continue" }).click();
      await page.getByText("while paused").waitFor();
      await page.locator(".lines").evaluate((list) => {
        list.scrollTop = 0;
      });
      await page.getByRole("button", { name: "Jump to newest" }).click();
      expect(
        await page.locator(".lines").evaluate((l) => l.scrollHeight - l.scrollTop - l.clientHeight),
      ).toBeLessThan(2);
    });
  });

  test("filters loaded and new lines by level and text", async () => {
    await dashboard.openLive("/log", async (page) => {
      expect(await page.getByRole("link", { name: "Download" }).getAttribute("href")).toMatch(
        /\/api\/log\/download$/,
      );
      await page.route("**/api/log?*text=garden*", (route) =>
        route.fulfill({ json: { lines: [], truncated: false } }),
      );
      await page.getByLabel("Level").selectOption("warn");
      await expect.poll(() => dashboard.site.opened.at(-1)).toContain("log=warn");
      await page.getByLabel("Filter").fill("garden");
      await page.getByText("0 lines", { exact: true }).waitFor();
      dashboard.site.emit("log", { at: 1, level: "warn", text: "about the kitchen", fields: {} });
      dashboard.site.emit("log", {
        at: 2,
        level: "warn",
        text: "about something",
        fields: { session: "garden" },
      });
      await page.getByText("about something").waitFor();
      expect(await page.getByText("about the kitchen").count()).toBe(0);
    });
  });

  test("merges streamed and loaded lines without loss or duplicates", async () => {
    await dashboard.openLive("/log", async (page) => {
      const held: ((lines: object[]) => Promise<void>)[] = [];
      await page.route(
        "**/api/log?*",
        (route) => void held.push((lines) => route.fulfill({ json: { lines } })),
      );
      const told = (at: number) => ({
        at,
        level: "info",
        text: `line ${at} of the garden`,
        fields: { at },
      });
      const says = (at: number): Promise<void> => page.getByText(told(at).text).waitFor();
      await page.getByLabel("Filter").fill("garden");
      await expect.poll(() => held.length).toBe(1);
      for (const at of [2, 4]) dashboard.site.emit("log", told(at));
      await says(4);
      await held[0]!([told(1), told(2), told(3)]);
      await says(1);
      for (const at of [3, 5]) dashboard.site.emit("log", told(at));
      await says(5);
      const numbers = (await page.locator(".lines li").allTextContents()).map(
        (text) => /line (\d)/.exec(text)?.[1],
      );
      expect(numbers.join("")).toBe("12345");
    });
  });

  test("runs the checks on load and on request", async () => {
    await dashboard.openLive("/doctor", async (page) => {
      await page.getByText("1 failed, 1 warning of 5 checks.").waitFor();
      await page.getByText("chmod 600").waitFor();
      expect(await page.locator(".checks .badge").allTextContents()).toEqual([
        "Failed",
        "Warning",
        "OK",
        "OK",
        "OK",
      ]);
      await page.locator("h3 code").getByText("Bearer <token>", { exact: true }).waitFor();
      dashboard.site.views.set("POST /api/doctor", {
        checks: [{ id: "a", title: "Clock", result: "ok", reason: "Right." }],
      });
      await page.getByRole("button", { name: "Run again" }).click();
      await page.getByText("All 1 checks passed.").waitFor();
    });
  });

  test("copies a snippet with the token and keeps it off the page", async () => {
    const secret = "channel-secret-0123456789";
    dashboard.site.answer = () => [200, { token: secret }];
    await dashboard.openLive(
      "/connect",
      async (page) => {
        await page.getByRole("button", { name: "Copy snippet for Browser with token" }).click();
        await page.getByLabel("Launcher token", { exact: true }).fill("right");
        await page.keyboard.press("Enter");
        await page.getByText("Copied with the token.").waitFor();
        expect(await page.evaluate(() => navigator.clipboard.readText())).toContain(`"${secret}"`);
        expect(await page.content()).not.toContain(secret);
      },
      { permissions: ["clipboard-read", "clipboard-write"] },
    );
  });

  test("tests every method and explains failures", async () => {
    dashboard.site.answer = () => [
      200,
      {
        results: [
          { method: "header", ok: true, code: "101", ms: 4.2 },
          { method: "query", ok: false, code: "token_query_disabled", ms: 2 },
        ],
      },
    ];
    await dashboard.openLive("/connect", async (page) => {
      await page.getByRole("button", { name: "Test all methods" }).click();
      await page.getByText("OK, 4 ms").waitFor();
      await page.getByText("Off", { exact: true }).waitFor();
      expect(await page.locator('[data-method="query"]').textContent()).toContain(
        "allow_token_query",
      );
    });
  });
});
