// Tests live updates and the sign-in dialog in a browser.
import { describe, expect, test } from "vitest";
import { useDashboard } from "../../browser/dashboard-pages.ts";
import { sessions } from "../../browser/sample-api.ts";

const dashboard = useDashboard();

describe("Page with live updates", () => {
  test("pauses after a fifth stream opens and resumes on request", async () => {
    await dashboard.openLive("/security", async (page) => {
      dashboard.site.emit("superseded", {});
      await page.getByText("Live updates paused").waitFor();
      await page.getByRole("button", { name: "Resume" }).click();
      await page.getByText("Live", { exact: true }).waitFor();
      expect(dashboard.site.opened).toHaveLength(2);
    });
  });

  test("resumes after the last received event when the page becomes visible", async () => {
    await dashboard.openLive("/security", async (page) => {
      dashboard.site.emit("state", { at: 1, state: "running" });
      await expect.poll(() => dashboard.site.opened.length).toBe(1);
      const setHidden = (hidden: boolean) =>
        page.evaluate((hidden) => {
          Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
          document.dispatchEvent(new Event("visibilitychange"));
        }, hidden);
      await setHidden(true);
      await setHidden(false);
      await expect.poll(() => dashboard.site.opened.at(-1)).toMatch(/^\?last=\d+$/);
    });
  });

  test("falls back to polling without an event stream", async () => {
    dashboard.site.streams = false;
    await dashboard.openLive("/security", async (page) => {
      dashboard.site.views.set("GET /api/sessions", { sessions: [] });
      await page.getByText("Firefox 140").waitFor({ state: "detached" });
    });
  });

  test("explains a remote sign-out, keeps input and resumes after sign-in", async () => {
    await dashboard.openLive("/clients/connections", async (page) => {
      const filter = page.getByLabel("Filter connections");
      await filter.fill("kitchen");
      dashboard.site.views.delete("GET /api/connections");
      let isSignedIn = false;
      dashboard.site.answer = ({ path, body }) => {
        const refused: [number, object] = [401, { error: "unauthorized" }];
        if (path !== "/login") return isSignedIn ? [200, { total: 0, connections: [] }] : refused;
        isSignedIn = body.includes("right");
        return isSignedIn ? [200, {}] : [401, { error: "invalid_token", message: "no" }];
      };
      dashboard.site.emit("ended", { reason: "revoked" });
      await page.getByText("signed out from another browser").waitFor();
      await page.getByLabel("Launcher token", { exact: true }).fill("wrong");
      await page.keyboard.press("Enter");
      await page.getByText("That is not the launcher token.").waitFor();
      await page.getByLabel("Launcher token", { exact: true }).fill("right");
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.getByText("No matching connections").waitFor();
      await expect.poll(() => filter.inputValue()).toBe("kitchen");
      await page.getByText("Live", { exact: true }).waitFor();
    });
  });

  test("keeps the page if the user declines to sign in", async () => {
    await dashboard.openLive("/security", async (page) => {
      dashboard.site.views.delete("GET /api/sessions");
      dashboard.site.answer = () => [401, {}];
      dashboard.site.emit("ended", { reason: "expired" });
      await page.getByText("Your session has expired.").waitFor();
      // At the second one, Chromium closes the dialog itself.
      for (let times = 0; times < 3; times++) await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Not now" }).click();
      await page.getByText("Signed out", { exact: true }).first().waitFor();
      await expect.poll(() => page.isVisible("text=Firefox 140")).toBe(true);
      await page.locator(".live").getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { name: "Your session has ended" }).waitFor();
    });
  });

  test("ignores errors older than a shown response", async () => {
    await dashboard.openLive("/security", async (page) => {
      const held: ((status: number, sessions: readonly object[]) => Promise<void>)[] = [];
      await page.route(
        "**/api/sessions",
        (route) =>
          void held.push((status, shown) => route.fulfill({ status, json: { sessions: shown } })),
      );
      const said = page.evaluate(
        () =>
          new Promise<string[]>((resolve) => {
            const feed = document.querySelector(".live")!;
            const texts: string[] = [];
            new MutationObserver(() => texts.push(feed.textContent)).observe(feed, {
              childList: true,
              characterData: true,
              subtree: true,
            });
            addEventListener("tell", () => resolve(texts));
          }),
      );
      const ask = async (event: string): Promise<void> => {
        const before = held.length;
        dashboard.site.emit(event, {});
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

  test("counts down the rate limit and allows generated tokens", async () => {
    const launcher = { name: "launcher", source: "config", managedByEnv: false, others: [] };
    dashboard.site.views.set("GET /api/tokens", { tokens: [launcher] });
    let retryAfterSeconds = 42;
    dashboard.site.answer = () => [
      429,
      { error: "rate_limited", message: "Too many wrong tokens.", retryAfterSeconds },
    ];
    await dashboard.openLive("/security", async (page) => {
      await page.getByRole("button", { name: "Replace the launcher token" }).click();
      await page.getByLabel("Current launcher token", { exact: true }).fill("wrong");
      await page.keyboard.press("Enter");
      await page.getByText(/Try again in \d+ s/).waitFor();
      const send = page.getByRole("button", { name: "Replace", exact: true });
      await expect.poll(() => send.isDisabled()).toBe(true);
      await page.getByLabel("Current launcher token", { exact: true }).fill("x".repeat(43));
      await expect.poll(() => send.isEnabled()).toBe(true);
      retryAfterSeconds = 1;
      await send.click();
      await page.getByText("Try again in 1 s.").waitFor();
      await page.getByText(/Try again in/).waitFor({ state: "detached" });
      await expect.poll(() => send.isEnabled()).toBe(true);
    });
  });

  test("allows sign-out with an outdated CSRF value", async () => {
    await dashboard.openLive("/security", async (page) => {
      await page.getByRole("button", { name: "Sign out", exact: true }).click();
      await page.waitForURL(/\/door\/login$/);
      expect(
        dashboard.site.sent.find(({ path }) => path === "/logout")?.headers["content-type"],
      ).toBeUndefined();
    });
  });
});
