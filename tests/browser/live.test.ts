import { expect, test } from "vitest";
import { useDesk } from "./desk.ts";
import { sessions } from "./sample-api.ts";

const desk = useDesk();
const signIn = /Sign in again/;

test("a fifth stream elsewhere pauses the page until its button is pressed", async () => {
  await desk.look("/sessions", async (page) => {
    desk.site.emit("superseded", {});
    await page.getByText("Live updates paused").waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByText("Live", { exact: true }).waitFor();
    expect(desk.site.opened).toHaveLength(2);
  });
});

test("a page that comes back into sight goes on after the last event it heard", async () => {
  await desk.look("/sessions", async (page) => {
    desk.site.emit("state", { at: 1, state: "running" });
    await expect.poll(() => desk.site.opened.length).toBe(1);
    const setHidden = (hidden: boolean) =>
      page.evaluate((hidden) => {
        Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
      }, hidden);
    await setHidden(true);
    await setHidden(false);
    await expect.poll(() => desk.site.opened.at(-1)).toMatch(/^\?last=\d+$/);
  });
});

test("without an event stream the page asks by itself", async () => {
  desk.site.streams = false;
  await desk.look("/sessions", async (page) => {
    desk.site.views.set("GET /api/sessions", { sessions: [] });
    await page.getByText("Firefox 140").waitFor({ state: "detached" });
  });
});

test("a session that was ended elsewhere says why, keeps what was typed and goes on after signing in", async () => {
  await desk.look("/connections", async (page) => {
    await page.fill("#filter", "kitchen");
    desk.site.views.delete("GET /api/connections");
    let isSignedIn = false;
    desk.site.answer = ({ path, body }) => {
      const refused: [number, object] = [401, { error: "unauthorized" }];
      if (path !== "/login") return isSignedIn ? [200, { total: 0, connections: [] }] : refused;
      isSignedIn = body.includes("right");
      return isSignedIn ? [200, {}] : [401, { error: "invalid_token", message: "no" }];
    };
    desk.site.emit("ended", { reason: "revoked" });
    await page.getByText("signed out from another browser").waitFor();
    await page.getByLabel("Launcher token", { exact: true }).fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByText("That is not the launcher token.").waitFor();
    await page.getByLabel("Launcher token", { exact: true }).fill("right");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: signIn }).waitFor({ state: "detached" });
    await page.getByText("No connection fits the filter.").waitFor();
    expect(await page.inputValue("#filter")).toBe("kitchen");
    await page.getByText("Live", { exact: true }).waitFor();
  });
});

test("whoever does not sign in now keeps the page, and can do so later", async () => {
  await desk.look("/sessions", async (page) => {
    desk.site.views.delete("GET /api/sessions");
    desk.site.answer = () => [401, {}];
    desk.site.emit("ended", { reason: "expired" });
    await page.getByText("Your session has run its time.").waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("Signed out", { exact: true }).waitFor();
    expect(await page.isVisible("text=Firefox 140")).toBe(true);
    await page.locator('[data-live="feed-resume"]').click();
    await page.getByRole("heading", { name: signIn }).waitFor();
  });
});

test("a refusal that comes after a later answer says nothing", async () => {
  await desk.look("/sessions", async (page) => {
    const held: ((status: number, sessions: readonly object[]) => Promise<void>)[] = [];
    await page.route(
      "**/api/sessions",
      (route) =>
        void held.push((status, shown) => route.fulfill({ status, json: { sessions: shown } })),
    );
    const said = page.evaluate(
      () =>
        new Promise<string[]>((resolve) => {
          const feed = document.querySelector("[data-live=feed]")!;
          const texts: string[] = [];
          new MutationObserver(() => texts.push(feed.textContent)).observe(feed, {
            childList: true,
          });
          addEventListener("tell", () => resolve(texts));
        }),
    );
    const ask = async (event: string): Promise<void> => {
      const before = held.length;
      desk.site.emit(event, {});
      await expect.poll(() => held.length).toBe(before + 1);
    };
    await ask("missed");
    await ask("signed-in");
    await held[1]!(200, []);
    await page.getByText("Firefox 140").waitFor({ state: "detached" });
    await held[0]!(503, []);
    await ask("missed");
    await held[2]!(200, sessions);
    await page.getByText("Firefox 140").waitFor();
    await page.evaluate(() => dispatchEvent(new Event("tell")));
    expect(await said).toEqual([]);
  });
});

test("too many wrong tokens count down in the panel, and a whole generated one passes", async () => {
  const launcher = { name: "launcher", source: "config", managedByEnv: false, others: [] };
  desk.site.views.set("GET /api/tokens", { tokens: [launcher] });
  let retryAfterSeconds = 42;
  desk.site.answer = () => [
    429,
    { error: "rate_limited", message: "Too many wrong tokens.", retryAfterSeconds },
  ];
  await desk.look("/tokens", async (page) => {
    await page.getByRole("button", { name: "Replace the launcher token" }).click();
    await page.getByLabel("Present launcher token", { exact: true }).fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByText(/Try again in \d+ s/).waitFor();
    const send = page.getByRole("button", { name: "Replace", exact: true });
    expect(await send.isDisabled()).toBe(true);
    await page.getByLabel("Present launcher token", { exact: true }).fill("x".repeat(43));
    expect(await send.isEnabled()).toBe(true);
    retryAfterSeconds = 1;
    await send.click();
    await page.getByText("You can try again now.").waitFor();
  });
});

test("signing out works after the session was renewed, when the page's hidden value is an old one", async () => {
  await desk.look("/sessions", async (page) => {
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.waitForURL(/\/door\/login$/);
    expect(
      desk.site.sent.find(({ path }) => path === "/logout")?.headers["content-type"],
    ).toBeUndefined();
  });
});
