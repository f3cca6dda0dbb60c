// Tests the overview in a browser.
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { hold, useDashboard } from "./dashboard-pages.ts";
import { figures, firstVisit, fresh, program, running } from "./sample.ts";

const dashboard = useDashboard();
const wide = { viewport: { width: 1280, height: 900 } };
const openLive = (path: string, use: (page: Page) => Promise<void>, options = {}) =>
  dashboard.openLive(path, use, { ...wide, ...options });

const sharedStore = {
  kind: "redis",
  state: "up",
  since: 0,
  conversations: 2,
  waitingBytes: 0,
  searches: false,
} as const;
const node = {
  id: "a",
  name: "east",
  state: "up",
  lastSeenAt: running.now,
  isSelf: false,
  sessions: 0,
  differs: false,
} as const;
const tile = (page: Page, title: string) => page.locator(".tile", { hasText: title });
const attention = (page: Page) => page.getByRole("region", { name: "Needs attention" });
const rate = { at: running.now, in: 1, out: 1, connections: 17, queuedBytes: 0 };

describe("Overview page", () => {
  test("shows changes automatically and escapes markup", async () => {
    await openLive("/overview-on", async (page) => {
      dashboard.site.status = {
        ...running,
        channel: { ...running.channel!, connections: 17 },
        warnings: [{ id: "w", text: "<b>weak token</b>", fix: "<i>doorward</i> token rotate" }],
      };
      dashboard.site.views.set("GET /api/figures", {
        ...figures,
        hour: { ...figures.hour, in: [...figures.hour.in.slice(1), 61] },
      });
      dashboard.site.emit("rate", rate);
      await tile(page, "Connections").getByText("17").waitFor();
      const sent = figures.hour.out.at(-1)!;
      await tile(page, "Messages")
        .getByText(String(61 + sent))
        .waitFor();
      await attention(page).getByText("<b>weak token</b>").waitFor();
      await attention(page).getByText("<i>doorward</i> token rotate").waitFor();
    });
  });

  test("shows rejected connections with a fix and the remaining block", async () => {
    const channel = { ...running.channel!, refusals: [] };
    dashboard.site.status = { ...running, channel };
    await openLive("/overview-on", async (page) => {
      const list = attention(page);
      await list.waitFor({ state: "hidden" });
      await page.getByRole("heading", { name: "Everything is running" }).waitFor();
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
      await page.getByRole("heading", { name: "Running, with 1 problem" }).waitFor();
      await expect.poll(() => list.textContent()).toContain("Compare the client’s token");
      refuse({ code: "rate_limited", until: running.now + 42_000 });
      await list.getByText(/^Blocked for \d+ s\.$/).waitFor();
      await expect.poll(() => list.textContent()).toContain("doorward unblock 10.0.0.7");
      refuse({ code: "rate_limited", until: running.now + 1_000 });
      await list.getByText("No longer blocked.").waitFor();
      refuse({ code: "<b>new</b>", origin: "<i>x</i>" });
      await list.getByText("Rejected: <b>new</b>").waitFor();
    });
  });

  test("hides a dismissed problem until it occurs again", async () => {
    const [rejection] = running.channel!.refusals;
    const at = (time: number) => ({
      ...running,
      channel: { ...running.channel!, refusals: [{ ...rejection!, at: time }] },
    });
    dashboard.site.status = at(running.now);
    await openLive("/overview", async (page) => {
      await page.getByRole("button", { name: "Dismiss: Wrong token" }).click();
      await attention(page).waitFor({ state: "hidden" });
      await page.getByRole("heading", { name: "Everything is running" }).waitFor();
      await page.reload();
      await page.getByText("Live", { exact: true }).waitFor();
      await attention(page).waitFor({ state: "hidden" });
      dashboard.site.status = at(running.now + 1);
      dashboard.site.emit("refused", { at: running.now, code: "", address: "10.0.0.7" });
      await attention(page).getByText("Wrong token").waitFor();
    });
  });

  test("shows state, restarts and stderr of the program", async () => {
    dashboard.site.status = { ...fresh, program };
    await openLive("/overview-program", async (page) => {
      const card = page.getByRole("region", { name: "Application" });
      await expect.poll(() => card.textContent()).toContain("python3 agent.py");
      const stderr = [{ at: running.now, text: "<img src=x> Traceback" }];
      dashboard.site.status = {
        ...fresh,
        program: { ...program, state: "waiting", restarts: 4, stderr },
      };
      dashboard.site.emit("program", { at: running.now, state: "waiting", restarts: 4 });
      await card.getByText("Restarting soon").waitFor();
      await card.getByText("4, last exit: exit code 1").waitFor();
      await expect.poll(() => card.getByRole("list").textContent()).toBe("<img src=x> Traceback");
      await page.getByText("The application has stopped").waitFor();
    });
  });

  test("guides a first visit through four steps", async () => {
    const steps = firstVisit.firstSteps!;
    const on = { ...firstVisit, channel: { ...running.channel!, refusals: [] } };
    const update = (status: typeof firstVisit): void => {
      dashboard.site.status = status;
      dashboard.site.emit("rate", rate);
    };
    dashboard.site.status = firstVisit;
    dashboard.site.answer = () => {
      dashboard.site.status = on;
      return [200, { etag: '"b2"', now: ["enabled"], afterRestart: [] }];
    };
    await openLive("/overview-guide", async (page) => {
      const guide = page.getByRole("region", { name: "Set up Doorward in four steps" });
      await guide.getByText("0 of 4 done").waitFor();
      await page.getByRole("button", { name: "Turn on channel" }).click();
      await guide.getByText("1 of 4 done").waitFor();
      const chat = guide.getByRole("link", { name: "Open chat" });
      await expect.poll(() => chat.getAttribute("href")).toMatch(/\/chat$/);
      await page.getByRole("heading", { name: "An echo answers" }).waitFor();
      update({ ...on, firstSteps: { ...steps, greeted: true } });
      await guide.getByText("npx doorward run -port 8080 -- python3 agent.py").waitFor();
      update({ ...on, echo: false, program, firstSteps: { ...steps, greeted: true } });
      await guide.getByRole("link", { name: "Connect a client" }).waitFor();
      update({
        ...on,
        echo: false,
        program,
        firstSteps: { ...steps, greeted: true, device: true },
      });
      await guide.waitFor({ state: "hidden" });
    });
  });

  test("keeps the guide dismissed", async () => {
    dashboard.site.status = firstVisit;
    await openLive("/overview-guide", async (page) => {
      await page.getByRole("button", { name: "Skip the guide" }).click();
      await page.getByRole("region", { name: /four steps/ }).waitFor({ state: "hidden" });
      await expect.poll(() => page.evaluate(() => document.cookie)).toContain("guide=off");
      await page.getByRole("button", { name: "Turn on channel" }).waitFor();
    });
  });

  test("counts no restart that the owner asked for", async () => {
    const own = { ...program, restarts: 2, restartsByOwner: 2 };
    dashboard.site.status = { ...running, program: own };
    await openLive("/overview-program", async (page) => {
      await attention(page).getByText("Wrong token", { exact: true }).waitFor();
      await expect.poll(() => page.getByText("The application restarted").count()).toBe(0);
      const lastInvalidLine = { text: '{"type":"plan"}', reason: "payload: expected an object" };
      const crashed = { ...own, restarts: 3, invalidLines: 1204, lastInvalidLine };
      dashboard.site.status = { ...running, program: crashed };
      dashboard.site.emit("program", { at: running.now, state: "running", restarts: 3 });
      await attention(page).getByText("1 restart, last exit: exit code 1").waitFor();
      await attention(page)
        .getByText(/204 lines ignored. payload: expected an object/)
        .waitFor();
      await attention(page).getByText(lastInvalidLine.text, { exact: true }).waitFor();
      const links = attention(page).getByRole("link", { name: "Show output" });
      const queries = (all: Element[]) =>
        all.map((one) => new URL((one as HTMLAnchorElement).href).search);
      await expect
        .poll(() => links.evaluateAll(queries))
        .toEqual(["?q=stream%3Astdout", "?q=source%3Aprogram"]);
    });
  });

  test("begins the chart with the first data, below the application", async () => {
    dashboard.site.status = { ...running, program };
    dashboard.site.views.set("GET /api/figures", {
      ...figures,
      since: figures.at - 3 * 60_000,
    });
    await openLive("/overview-program", async (page) => {
      dashboard.site.emit("rate", rate);
      const chart = page.locator(".chart svg");
      await expect
        .poll(async () => (await chart.locator(".l1").getAttribute("d"))?.match(/[ML]/g)?.length)
        .toBe(4);
      const top = async (name: string) =>
        (await page.getByRole("region", { name }).boundingBox())!.y;
      await expect.poll(() => top("Application")).toBeLessThan(await top("Messages per minute"));
    });
  });

  test("offers to restart a program that ignores stops", async () => {
    dashboard.site.status = { ...fresh, program };
    await openLive("/overview-program", async (page) => {
      const restart = page.getByRole("button", { name: "Restart the program" });
      await expect.poll(() => restart.count()).toBe(0);
      dashboard.site.status = {
        ...fresh,
        program: { ...program, stopTimeouts: 1, knowsStop: false },
      };
      dashboard.site.emit("program", { at: running.now, state: "running", restarts: 3 });
      await page.getByText("The program has not ended a stopped reply in time.").waitFor();
      await page.getByText("Not supported by this program").waitFor();
      await restart.click();
      await page.getByText("The program is restarting.").waitFor();
      expect(dashboard.site.sent.map(({ path }) => path)).toEqual(["/api/program/restart"]);
    });
  });

  test("asks for the token again and repeats the request", async () => {
    let isSignedIn = false;
    dashboard.site.status = fresh;
    dashboard.site.answer = ({ path }) => {
      if (path === "/login") isSignedIn = true;
      return isSignedIn ? [200, {}] : [401, {}];
    };
    await openLive("/overview-off", async (page) => {
      await page.getByRole("button", { name: "Turn on channel" }).click();
      const dialog = page.getByRole("dialog", { name: "Your session has ended" });
      await dialog.getByLabel("Launcher token", { exact: true }).fill("the token");
      await page.keyboard.press("Enter");
      await page.getByText("The channel is on.").waitFor();
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
      await page.getByText(running.channel!.url).waitFor();
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

  test("names a service that does not respond", async () => {
    dashboard.site.status = fresh;
    dashboard.site.answer = () => [503, {}];
    await openLive("/overview-off", async (page) => {
      await page.getByRole("button", { name: "Turn on channel" }).click();
      await page.getByText("The service rejected the request (503).").waitFor();
    });
  });

  test("asks before it turns off a channel with clients", async () => {
    await openLive("/overview-on", async (page) => {
      const turnOff = async (): Promise<void> => {
        await page.getByRole("button", { name: "More about the channel" }).click();
        await page.getByRole("menuitem", { name: "Turn off…" }).click();
        await page.getByText("This disconnects 3 clients.").waitFor();
      };
      await turnOff();
      await page.keyboard.press("Escape");
      await page.locator("dialog").waitFor({ state: "detached" });
      expect(dashboard.site.sent).toEqual([]);
      await turnOff();
      await page.getByRole("button", { name: "Turn off channel" }).click();
      await expect
        .poll(() => dashboard.site.sent.map((request) => request.body))
        .toEqual(['{"enabled":false}']);
    });
  });

  test("lists the nodes of a shared store", async () => {
    const nodes = [
      { ...node, isSelf: true, sessions: 12 },
      { ...node, id: "b", name: "<b>west</b>", state: "gone" },
      { ...node, id: "c", name: "north", differs: true },
    ] as const;
    dashboard.site.status = running;
    await openLive("/overview-on", async (page) => {
      const card = page.getByRole("region", { name: "Nodes" });
      await expect.poll(() => card.count()).toBe(0);
      dashboard.site.status = { ...running, store: { ...sharedStore, nodes } };
      dashboard.site.emit("state", {});
      await card.waitFor();
      await expect
        .poll(() => card.getByRole("row").allInnerTexts())
        .toEqual([
          expect.stringMatching(/^Node\s+State\s+Sessions\s+Last seen$/),
          expect.stringMatching(/^east\s+Running\s+12\s+This node$/),
          expect.stringMatching(/^<b>west<\/b>\s+Gone\s+0\s/),
          expect.stringMatching(/^north\s+Running\s+0\s/),
        ]);
      await expect
        .poll(() => card.innerText())
        .toContain("The channel has other settings on north.");
    });
  });

  test("follows the status that the application gives", async () => {
    await openLive("/overview-on", async (page) => {
      const card = page.getByRole("region", { name: "Application" });
      const { program: _, ...status } = running;
      dashboard.site.status = { ...status, application: { state: "starting" } };
      dashboard.site.emit("state", {});
      await card.getByText("Starting").waitFor();
      dashboard.site.status = { ...status, application: { state: "ready", name: "Bridge" } };
      dashboard.site.emit("application", {});
      await card.getByText("Bridge").waitFor();
      await card.getByText("Ready").waitFor();
    });
  });

  test("shows what happened between the document and its effects", async () => {
    await openLive("/overview-on", async (page) => {
      await page.addInitScript(() => {
        const later = setTimeout;
        // Preact runs effects in the next frame, or 35 ms later.
        Object.assign(globalThis, {
          requestAnimationFrame: () => 0,
          setTimeout: (run: () => void, ms = 0) => later(run, ms === 35 ? 1_000 : ms),
        });
      });
      dashboard.site.status = { ...running, channel: { ...running.channel!, connections: 17 } };
      await page.reload();
      await tile(page, "Connections").getByText("17").waitFor();
    });
  });

  test("shows a card that is new before its code is loaded", async () => {
    await openLive("/overview-on", async (page) => {
      const held = await hold(page, /\/cards-/);
      await page.reload();
      await page.getByText("Live", { exact: true }).waitFor();
      const store = { ...sharedStore, nodes: [node] };
      const channel = { ...running.channel!, connections: 17 };
      dashboard.site.status = { ...running, channel, store };
      dashboard.site.emit("state", {});
      await tile(page, "Connections").getByText("17").waitFor();
      for (const route of held) await route.continue();
      await page.getByRole("region", { name: "Nodes" }).waitFor();
    });
  });

  test("shows values of the chart with the arrow keys", async () => {
    await openLive("/overview-on", async (page) => {
      const chart = page.getByRole("img", { name: /^Messages per minute in the last hour\./ });
      const values = page.locator(".tooltip b");
      const first = [figures.hour.in[0]!, figures.hour.out[0]!].map(String);
      // The code of the chart loads after the page.
      const atStart = async (): Promise<string[]> => {
        await chart.press("Home");
        return values.allTextContents();
      };
      await expect.poll(atStart).toEqual(first);
      await chart.press("ArrowRight");
      const next = [figures.hour.in[1]!, figures.hour.out[1]!].map(String);
      await expect.poll(() => values.allTextContents()).toEqual(next);
      await page.getByRole("radio", { name: "24 h" }).click();
      await page.getByRole("img", { name: /^Messages per minute in the last day\./ }).waitFor();
      await page.getByText("Show as table").click();
      await expect.poll(() => page.locator(".chart-note tbody tr").count()).toBe(96);
    });
  });
});
