// Tests that pages with outdated data recover or say so.
import type { Page, Route } from "playwright-core";
import { describe, expect, test } from "vitest";
import { useDashboard } from "../../browser/dashboard-pages.ts";
import { sampleAnswers } from "../../browser/sample-api.ts";
import { fresh, running } from "../../browser/sample.ts";
import { sessions, tokens } from "../../browser/sample-api.ts";

const dashboard = useDashboard();
const live = (page: Page): Promise<void> => page.getByText("Live", { exact: true }).waitFor();
const fewer = { sessions: sessions.slice(0, 2) };
const gone = (page: Page): Promise<void> =>
  page.getByText("Unknown browser").waitFor({ state: "detached" });

/** Responses after the new sign-in. */
const answers: Readonly<Record<string, object>> = {
  "/api/sessions": fewer,
  "/api/tokens": { tokens },
  "/api/questions": { questions: [] },
};

/** Rejects all requests with 401 until a sign-in. */
function signOut(): void {
  let isSignedIn = false;
  dashboard.site.views.clear();
  dashboard.site.answer = ({ method, path }) => {
    if (path === "/login") isSignedIn = true;
    return isSignedIn
      ? [200, (method === "GET" && answers[path]) || {}]
      : [401, { error: "unauthorized" }];
  };
}
async function signIn(page: Page): Promise<void> {
  await page.getByRole("dialog").locator('input[type="password"]').fill("right");
  await page.keyboard.press("Enter");
}

describe("Page with outdated data", () => {
  test("retries a failed refresh even if the clock moved back", async () => {
    await dashboard.openLive("/security", async (page) => {
      dashboard.site.views.delete("GET /api/sessions");
      dashboard.site.answer = () => [503, {}];
      dashboard.site.emit("signed-out", {});
      await page.getByText("Reconnecting…").waitFor();
      dashboard.site.views.set("GET /api/sessions", { sessions });
      await live(page);
      await page.evaluate(() => {
        const { now } = Date;
        Date.now = () => now() - 3_600_000;
      });
      dashboard.site.views.set("GET /api/sessions", fewer);
      dashboard.site.emit("signed-out", {});
      await gone(page);
    });
  });

  test("retries a failed refresh if a later one of another part succeeds", async () => {
    await dashboard.openLive("/security", async (page) => {
      const held: Route[] = [];
      for (const path of ["sessions", "tokens"])
        await page.route(`**/api/${path}`, (route) => void held.push(route), { times: 1 });
      dashboard.site.views.set("GET /api/sessions", fewer);
      dashboard.site.emit("signed-out", {});
      await expect.poll(() => held.length).toBe(1);
      dashboard.site.emit("token", { which: "pico" });
      await expect.poll(() => held.length).toBe(2);
      await held[0]!.fulfill({ status: 503, json: {} });
      await held[1]!.continue();
      await gone(page);
    });
  });

  test("reopens a stream that stays silent", async () => {
    await dashboard.openLive("/security", async (page) => {
      await page.clock.install();
      await page.route("**/api/events*", () => undefined);
      await page.reload();
      // Counted here: on a slow machine, the page reopens its stream before the next lines run.
      const before = dashboard.site.opened.length;
      await page.clock.runFor(8_100);
      await live(page);
      await page.unroute("**/api/events*");
      await page.clock.runFor(2_100);
      await expect.poll(() => dashboard.site.opened.length).toBe(before + 1);
      await live(page);
      dashboard.site.views.set("GET /api/sessions", fewer);
      await page.clock.runFor(40_100);
      await gone(page);
    });
  });

  test("waits for the new cookie after a rotation in another tab", async () => {
    await dashboard.openLive("/security", async (page) => {
      signOut();
      await page.clock.install();
      await page.clock.pauseAt(Date.now() + 60_000); // more than the minimum interval
      dashboard.site.emit("ended", { reason: "rotated" });
      await expect.poll(() => dashboard.site.listening).toBe(0);
      await page.evaluate(
        (login) => fetch(login, { method: "POST" }),
        `${dashboard.site.base}/login`,
      );
      await page.clock.runFor(1_000);
      await gone(page);
      await page.clock.runFor(10);
      await live(page);
      await expect.poll(() => page.getByText("Your session has ended").count()).toBe(0);
      // The reason of the previous end must not appear again.
      signOut();
      dashboard.site.emit("signed-in", {});
      await page.clock.resume();
      const dialog = page.getByRole("dialog", { name: "Your session has ended" });
      await dialog.waitFor();
      await expect.poll(() => dialog.textContent()).not.toContain("rotated");
    });
  });

  test.each([
    ["a sign-out", (page: Page) => page.getByRole("button", { name: "Sign out", exact: true })],
    [
      "a sign-out in the list",
      (page: Page) => page.getByRole("button", { name: /Sign out Firefox/ }),
    ],
  ])("asks for no token after %s", async (_, button) => {
    await dashboard.openLive("/security", async (page) => {
      dashboard.site.views.clear();
      dashboard.site.answer = ({ path }) =>
        /logout|sessions\//.test(path) ? [200, {}] : [401, {}];
      const held = new Promise<() => Promise<void>>(
        (done) => void page.route(/logout|sessions\//, (route) => done(() => route.continue())),
      );
      await button(page).click();
      const answer = await held;
      dashboard.site.emit("ended", { reason: "sign-out" });
      await expect.poll(() => dashboard.site.listening).toBe(0);
      await answer();
      await page.waitForURL(/\/login$/);
      expect(
        dashboard.site.sent.filter(
          ({ method, path }) => method === "GET" && path === "/api/sessions",
        ),
      ).toEqual([]);
    });
  });

  test("reports the ended sign-in if the user stays after sign-out", async () => {
    await dashboard.openLive("/settings", async (page) => {
      await page.getByLabel("Ping interval", { exact: true }).fill("15");
      dashboard.site.views.clear();
      dashboard.site.answer = ({ path }) => (path === "/logout" ? [200, {}] : [401, {}]);
      const asked = new Promise<string>((done) =>
        page.on("dialog", (dialog) => {
          done(dialog.type());
          void dialog.dismiss();
        }),
      );
      await page.getByRole("button", { name: "Sign out", exact: true }).click();
      expect(await asked).toBe("beforeunload");
      dashboard.site.emit("ended", { reason: "sign-out" });
      await page.getByRole("dialog", { name: "Your session has ended" }).waitFor();
      await expect
        .poll(() => page.getByLabel("Ping interval", { exact: true }).inputValue())
        .toBe("15");
    });
  });

  test("keeps a declined dialog closed until the next action", async () => {
    dashboard.site.status = fresh;
    await dashboard.openLive("/overview-off", async (page) => {
      signOut();
      await page.route("**/api/status", (route) => route.fulfill({ status: 401, json: {} }));
      await page.getByRole("button", { name: "Turn on channel" }).click();
      const dialog = page.getByRole("dialog", { name: "Your session has ended" });
      await dialog.waitFor();
      await page.keyboard.press("Escape");
      await dialog.getByRole("button", { name: "Not now" }).click();
      await page.getByText("The service rejected the request (401).").waitFor();
      dashboard.site.emit("rate", {});
      await page.getByText("Signed out", { exact: true }).waitFor();
      await expect.poll(() => dialog.count()).toBe(0);
      await page.unroute("**/api/status");
      dashboard.site.status = running;
      for (const request of ["GET /api/figures", "GET /api/connections"])
        dashboard.site.views.set(request, sampleAnswers[request]!);
      await page.getByRole("button", { name: "Turn on channel" }).click();
      await signIn(page);
      await page.getByText("The channel is on.").waitFor();
      await live(page);
    });
  });

  test("detects the end of the sign-in without live data", async () => {
    await dashboard.openLive("/clients", async (page) => {
      signOut();
      dashboard.site.views.set("GET /api/auth/status", { authenticated: false });
      dashboard.site.emit("ended", { reason: "expired" });
      await page.getByText("Your session has expired.").waitFor();
    });
  });
});
