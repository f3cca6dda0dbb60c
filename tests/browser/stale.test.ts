import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { useDesk } from "./desk.ts";
import { fresh, running } from "./sample.ts";
import { sessions } from "./sample-api.ts";

/* What a page shows is right or said not to be: answers that fail, streams that are silent, sessions that end. */

const desk = useDesk();
const live = (page: Page): Promise<void> => page.getByText("Live", { exact: true }).waitFor();
const panel = /Sign in again/;
const fewer = { sessions: sessions.slice(0, 2) };
const gone = (page: Page): Promise<void> =>
  page.getByText("unnamed").waitFor({ state: "detached" });

/** As after the end of a session, until somebody signs in. */
function signOut(): void {
  let isSignedIn = false;
  desk.site.views.clear();
  desk.site.answer = ({ method, path }) => {
    if (path === "/login") isSignedIn = true;
    return isSignedIn
      ? [200, path === "/api/sessions" && method === "GET" ? fewer : {}]
      : [401, { error: "unauthorized" }];
  };
}
async function signIn(page: Page): Promise<void> {
  await page.getByRole("dialog").locator('input[type="password"]').fill("right");
  await page.keyboard.press("Enter");
}

test("an answer that fails after the last event is asked for again, also when the clock was set back", async () => {
  await desk.look("/sessions", async (page) => {
    desk.site.views.delete("GET /api/sessions");
    desk.site.answer = () => [503, {}];
    desk.site.emit("signed-out", {});
    await page.getByText("Reconnecting…").waitFor();
    desk.site.views.set("GET /api/sessions", { sessions });
    await live(page);
    await page.evaluate(() => {
      const { now } = Date;
      Date.now = () => now() - 3_600_000;
    });
    desk.site.views.set("GET /api/sessions", fewer);
    desk.site.emit("signed-out", {});
    await gone(page);
  });
});

test("a stream that says nothing is given up: at the beginning, and when it falls silent", async () => {
  await desk.look("/sessions", async (page) => {
    await page.clock.install();
    await page.route("**/api/events*", () => undefined); // held back, as some proxies do
    await page.reload();
    await page.clock.runFor(8_100);
    await live(page);
    await page.unroute("**/api/events*");
    const before = desk.site.opened.length;
    await page.clock.runFor(2_100);
    await expect.poll(() => desk.site.opened.length).toBe(before + 1);
    await live(page);
    desk.site.views.set("GET /api/sessions", fewer);
    await page.clock.runFor(40_100);
    await gone(page);
  });
});

test("a replacement of the launcher token in another tab asks nobody while the new cookie is on its way", async () => {
  await desk.look("/sessions", async (page) => {
    signOut();
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000); // a second may be short
    desk.site.emit("ended", { reason: "rotated" });
    await expect.poll(() => desk.site.listening).toBe(0);
    await page.evaluate((login) => fetch(login, { method: "POST" }), `${desk.site.base}/login`);
    await page.clock.runFor(1_000);
    await gone(page);
    await page.clock.runFor(10);
    await live(page);
    expect(await page.getByRole("heading", { name: panel }).count()).toBe(0);
    // What ended the session before is no reason for the next end.
    signOut();
    desk.site.emit("signed-in", {});
    await page.clock.resume();
    await page.getByText("a restart of the launcher ends every session").waitFor();
  });
});

test.each([
  ["a sign-out", (page: Page) => page.getByRole("button", { name: "Sign out", exact: true })],
  [
    "a sign-out in the list",
    (page: Page) => page.getByRole("button", { name: /Sign out Firefox/ }),
  ],
])("%s of this page asks for no token", async (_, button) => {
  await desk.look("/sessions", async (page) => {
    desk.site.views.clear();
    desk.site.answer = ({ path }) => (/logout|sessions\//.test(path) ? [200, {}] : [401, {}]);
    const held = new Promise<() => Promise<void>>(
      (done) => void page.route(/logout|sessions\//, (route) => done(() => route.continue())),
    );
    await button(page).click();
    const answer = await held;
    desk.site.emit("ended", { reason: "sign-out" });
    await expect.poll(() => desk.site.listening).toBe(0);
    await answer();
    await page.waitForURL(/\/login$/);
    expect(
      desk.site.sent.filter(({ method, path }) => method === "GET" && path === "/api/sessions"),
    ).toEqual([]);
  });
});

test("who signs out and stays, to save what was typed, hears that the session has ended", async () => {
  await desk.look("/settings", async (page) => {
    await page.getByLabel("Ping interval").fill("15");
    desk.site.views.clear();
    desk.site.answer = ({ path }) => (path === "/logout" ? [200, {}] : [401, {}]);
    const asked = new Promise<string>((done) =>
      page.on("dialog", (dialog) => {
        done(dialog.type());
        void dialog.dismiss();
      }),
    );
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    expect(await asked).toBe("beforeunload");
    desk.site.emit("ended", { reason: "sign-out" });
    await page.getByRole("dialog", { name: panel }).waitFor();
    expect(await page.getByLabel("Ping interval").inputValue()).toBe("15");
  });
});

test("who does not sign in now is not asked again at once, and a later action brings the page back", async () => {
  desk.site.status = fresh;
  await desk.look("/overview-off", async (page) => {
    signOut();
    await page.route("**/api/status", (route) => route.fulfill({ status: 401, json: {} }));
    await page.getByRole("button", { name: "Turn the channel on" }).click();
    await page.getByRole("heading", { name: panel }).waitFor();
    await page.keyboard.press("Escape");
    await page
      .locator('[data-live="channel-said"]')
      .getByText("The service refused (401).")
      .waitFor();
    desk.site.emit("rate", {});
    await page.getByText("Signed out", { exact: true }).waitFor();
    await page.unroute("**/api/status");
    desk.site.status = running;
    await page.getByRole("button", { name: "Turn the channel on" }).click();
    await signIn(page);
    await page.getByText("The channel is on.").waitFor();
    await live(page);
  });
});

test("the page with the snippets notices the end of its session, too", async () => {
  await desk.look("/connect", async (page) => {
    signOut();
    desk.site.views.set("GET /api/auth/status", { authenticated: false }); // which is no refusal
    desk.site.emit("ended", { reason: "expired" });
    await page.getByText("Your session has run its time.").waitFor();
  });
});
