// Tests the clients page in a browser.
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { useDashboard } from "./dashboard-pages.ts";
import { connection } from "./sample-api.ts";

const dashboard = useDashboard();
const pageOf = (offset: number) => ({
  total: 10_000,
  connections: Array.from({ length: 100 }, (_, at) => connection(offset + at)),
});

const path = "/clients/connections";
const rowOf = (page: Page, name: string | RegExp) => page.getByRole("row", { name });

describe("Connections", () => {
  test("shows 10,000 connections in pages of 100", async () => {
    dashboard.site.views.set("GET /api/connections", pageOf(0));
    await dashboard.openLive(path, async (page) => {
      await page.getByText("1 to 100 of 10\u202f000").waitFor();
      await expect.poll(() => page.locator("tbody tr").count()).toBe(100);
      dashboard.site.views.set("GET /api/connections", pageOf(100));
      await page.getByRole("button", { name: "Next" }).click();
      await page.getByText("101 to 200 of 10\u202f000").waitFor();
      await page.getByText("robot-150", { exact: true }).waitFor();
      await expect.poll(() => page.getByText("robot-50", { exact: true }).count()).toBe(0);
    });
  });

  test("updates rows and rates and keeps the focus", async () => {
    await dashboard.openLive(path, async (page) => {
      const menu = page.getByRole("button", { name: "Actions for Firefox 140 on Linux, laptop" });
      await menu.focus();
      const connections = [{ ...connection(1), messagesIn: 9999 }, connection(7)];
      dashboard.site.views.set("GET /api/connections", { total: 2, connections });
      dashboard.site.emit("rate", { at: 1, in: 12, out: 34, connections: 2, queuedBytes: 1536 });
      await page.getByText("robot-7").waitFor();
      await expect
        .poll(() => page.locator(".rates").textContent())
        .toBe("12 in/s · 34 out/s · 1.5 KiB queued");
      await expect.poll(() => rowOf(page, /roses/).textContent()).toContain("9\u202f999");
      await expect
        .poll(() => menu.evaluate((button) => button === document.activeElement))
        .toBe(true);
      await expect
        .poll(() => page.getByRole("link", { name: /^Connections/ }).textContent())
        .toContain("2");
    });
  });

  test("lists the channels of other authors, with their sessions of now", async () => {
    const line = { name: "line", isKept: true, acceptsConsole: true, received: 2, sent: 1 };
    const others = (sessions: number) => ({ channels: [], others: [{ ...line, sessions }] });
    dashboard.site.views.set("GET /api/channels", others(1));
    await dashboard.openLive(path, async (page) => {
      dashboard.site.emit("rate", { at: 1, in: 2, out: 1, connections: 2, queuedBytes: 0 });
      await rowOf(page, "line Kept, you can write 1 2 / 1").waitFor();
      dashboard.site.views.set("GET /api/channels", others(7));
      dashboard.site.emit("rate", { at: 2, in: 0, out: 0, connections: 2, queuedBytes: 0 });
      await rowOf(page, "line Kept, you can write 7 2 / 1").waitFor();
    });
  });

  test("ignores older responses and responses to earlier filters", async () => {
    await dashboard.openLive(path, async (page) => {
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
      await expect.poll(() => page.getByText("robot-7", { exact: true }).count()).toBe(1);
    });
  });

  test("shows client, authentication, times and traffic of a connection", async () => {
    await dashboard.openLive(path, async (page) => {
      const cells = rowOf(page, /roses/).locator("td");
      await expect
        .poll(async () => (await cells.allTextContents()).slice(0, -1))
        .toEqual([
          "Firefox 140 on Linuxhttps://home.example.org",
          "Do the roses need water?",
          "192.168.178.21",
          "subprotocol",
          "In / out 2\u202f568 / 31",
          expect.stringMatching(/^Connected 3 h ago ?active (just now|\d+ s ago)$/),
        ]);
      await expect
        .poll(() => rowOf(page, /garden/).textContent())
        .toMatch(/This dashboard.*Ann Example.*80 KiB/);
      const since = rowOf(page, /roses/).locator("time").first();
      await expect.poll(() => since.getAttribute("title")).toMatch(/\d:\d\d/);
    });
  });

  test("links a connection to its conversation, and labels numbers on a phone", async () => {
    await dashboard.openLive(path, async (page) => {
      const row = rowOf(page, /roses/);
      const link = row.getByRole("link", { name: "Do the roses need water?" });
      await expect.poll(() => link.getAttribute("href")).toMatch(/\/chat\/laptop$/);
      await row.getByText("In / out").waitFor({ state: "hidden" });
      await page.setViewportSize({ width: 390, height: 844 });
      await row.getByText("In / out").waitFor();
      await row.getByText("Connected", { exact: true }).waitFor();
    });
  });

  test("disconnects one client after a confirmation", async () => {
    await dashboard.openLive(path, async (page) => {
      await page.getByRole("button", { name: "Actions for This dashboard, garden" }).click();
      await page.getByRole("menuitem", { name: "Disconnect…" }).click();
      await page.getByText("The client won't reconnect automatically.").waitFor();
      expect(dashboard.site.sent).toEqual([]);
      await page.getByRole("button", { name: "Disconnect", exact: true }).click();
      await page.getByText("This dashboard disconnected").waitFor();
      expect(dashboard.site.sent.map((request) => `${request.method} ${request.path}`)).toEqual([
        "DELETE /api/connections/c2",
      ]);
    });
  });

  test("explains an empty list", async () => {
    dashboard.site.views.set("GET /api/connections", { total: 0, connections: [] });
    await dashboard.openLive(path, async (page) => {
      await page.getByText("Clients appear here as soon as they connect.").waitFor();
      await page.getByLabel("Filter connections").fill("x");
      await page.getByText("No matching connections").waitFor();
    });
  });
});

describe("Connect", () => {
  const clipboard = { permissions: ["clipboard-read", "clipboard-write"] };

  test("copies code with the token and keeps it off the page", async () => {
    const secret = "channel-secret-0123456789";
    dashboard.site.answer = () => [200, { token: secret }];
    await dashboard.openLive(
      "/clients",
      async (page) => {
        await page.getByRole("button", { name: "Copy with token…" }).first().click();
        await page.getByRole("dialog").getByLabel("Launcher token", { exact: true }).fill("right");
        await page.keyboard.press("Enter");
        await page.getByText("Copied with the token").waitFor();
        await expect
          .poll(() => page.evaluate(() => navigator.clipboard.readText()))
          .toContain(`"${secret}"`);
        expect(await page.content()).not.toContain(secret);
      },
      clipboard,
    );
  });

  test("begins to copy in the handler of the key, as Safari requires", async () => {
    const secret = "channel-secret-0123456789";
    let answer!: () => void;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    dashboard.site.answer = () => [200, { token: secret }];
    await dashboard.openLive(
      "/clients",
      async (page) => {
        await page.evaluate(() => {
          const { clipboard } = navigator;
          const write = clipboard.write.bind(clipboard);
          clipboard.writeText = () => Promise.reject(new Error("not in a handler"));
          document.execCommand = () => false;
          clipboard.write = (items) => {
            document.body.dataset["copying"] = "yes";
            return write(items);
          };
        });
        await page.route("**/api/token/reveal", async (route) => {
          await answered;
          await route.continue();
        });
        await page.getByRole("button", { name: "Copy with token…" }).first().click();
        await page.getByRole("dialog").getByLabel("Launcher token", { exact: true }).fill("right");
        await page.keyboard.press("Enter");
        await page.locator("body[data-copying]").waitFor();
        answer();
        await page.getByText("Copied with the token").waitFor();
        await expect
          .poll(() => page.evaluate(() => navigator.clipboard.readText()))
          .toContain(`"${secret}"`);
      },
      clipboard,
    );
  });

  test("highlights the code of the chosen language and remembers it", async () => {
    await dashboard.openLive("/clients", async (page) => {
      await page.getByRole("radio", { name: "Python" }).first().click();
      await page.locator(".code .hljs-keyword", { hasText: "import" }).first().waitFor();
      await page.reload();
      await page.locator(".code", { hasText: "import asyncio" }).waitFor();
    });
  });

  test("tries every way and explains failures", async () => {
    dashboard.site.answer = () => [
      200,
      {
        results: [
          { method: "header", ok: true, code: "101", ms: 4.2 },
          { method: "subprotocol", ok: false, code: "token_mismatch", ms: 2 },
          { method: "query", ok: false, code: "token_query_disabled", ms: 2 },
        ],
      },
    ];
    await dashboard.openLive("/clients", async (page) => {
      await page.getByRole("button", { name: "Try every way" }).click();
      await page.getByText("Works · 4 ms").waitFor();
      await page.getByText("Turned off", { exact: true }).waitFor();
      await expect
        .poll(() => page.locator('[data-method="subprotocol"]').textContent())
        .toContain("The channel rejected the token.");
    });
  });

  test("copies the base URL and names the token of each protocol", async () => {
    await dashboard.openLive("/clients", async (page) => {
      const card = page.getByRole("region", { name: "OpenAI clients" });
      await card.getByRole("button", { name: "Copy base URL of OpenAI API" }).waitFor();
      await card.getByText("PASTE_OPENAI_TOKEN").first().waitFor();
      await expect.poll(() => card.getByText("PASTE_CHANNEL_TOKEN").count()).toBe(0);
    });
  });

  test("turns the channel and the OpenAI protocol on and off", async () => {
    dashboard.site.answer = () => [200, { etag: '"o2"', now: ["enabled"], afterRestart: [] }];
    await dashboard.openLive("/clients-off", async (page) => {
      await page.getByRole("button", { name: "Turn on" }).click();
      await page.getByText("The channel is on").waitFor();
      expect(dashboard.bodies("/api/channels/pico")).toEqual([{ enabled: true }]);
    });
    await dashboard.openLive("/clients", async (page) => {
      const turn = page.getByRole("switch", { name: "Protocol OpenAI API" });
      await turn.click();
      await page.getByText("Base URL").waitFor({ state: "detached" });
      await turn.click();
      await page.getByText("Base URL").waitFor();
      expect(dashboard.bodies("/api/channels/openai")).toEqual([
        { enabled: false },
        { enabled: true },
      ]);
      expect(dashboard.site.sent.at(-1)?.headers["if-match"]).toBe('"o2"');
    });
  });
});
