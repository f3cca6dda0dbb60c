// Tests the security page in a browser.
import { describe, expect, test } from "vitest";
import { useDashboard } from "./dashboard-pages.ts";
import { running } from "./sample.ts";
import { sessions, tokens } from "./sample-api.ts";

const dashboard = useDashboard();
const fresh = "new-" + "0123456789abcdef".repeat(4);

describe("Security page", () => {
  test("shows source, age, strength and conflicts of each token", async () => {
    await dashboard.keepLive("/security", async (page) => {
      const pico = page.getByRole("group", { name: "Channel token" });
      await pico.getByText(".security.yml").first().waitFor();
      await expect
        .poll(() => pico.textContent())
        .toMatch(/3 d ago.*It has fewer than 16 char.*config\.json contains a different value/s);
      const remote = page.getByRole("group", { name: "Remote token" });
      await expect.poll(() => remote.textContent()).toContain("SERVICE_CHANNELS_PICO_CLIENT_TOKEN");
      await expect.poll(() => remote.getByRole("button").count()).toBe(0);
    });
  });

  test("replaces a token and shows the new one", async () => {
    dashboard.site.answer = ({ body }) =>
      body.includes("wrong")
        ? [403, { error: "invalid_token", message: "no" }]
        : [200, { which: "pico", token: fresh, source: "security" }];
    await dashboard.keepLive("/security", async (page) => {
      await page.getByRole("button", { name: "Replace the channel token" }).click();
      await page.getByLabel("Disconnect clients").selectOption({ label: "Over 10 minutes" });
      const current = page.getByRole("dialog").getByLabel("Launcher token", { exact: true });
      await current.fill("wrong");
      await page.keyboard.press("Enter");
      await page.getByText("That is not the launcher token.").waitFor();
      await current.fill("right");
      await page.keyboard.press("Enter");
      await expect
        .poll(() =>
          page.getByRole("dialog").getByLabel("Channel token", { exact: true }).inputValue(),
        )
        .toBe(fresh);
      expect(dashboard.bodies("/api/token/rotate").at(-1)).toEqual({
        which: "pico",
        current: "right",
        grace: 600,
      });
      await page.getByRole("button", { name: "Done" }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
      expect(await page.content()).not.toContain(fresh);
    });
  });

  test("shows the channel token and removes it with the dialog", async () => {
    dashboard.site.answer = () => [200, { token: fresh }];
    await dashboard.keepLive("/security", async (page) => {
      await page.getByRole("button", { name: "Show the channel token" }).click();
      await page.getByRole("dialog").getByLabel("Launcher token", { exact: true }).fill("right");
      await page.keyboard.press("Enter");
      await page.getByText(/^Hidden again in (60|59) s\.$/).waitFor();
      expect(dashboard.bodies("/api/token/reveal")).toEqual([{ which: "pico", current: "right" }]);
      await page.keyboard.press("Escape");
      await expect
        .poll(() => page.getByRole("dialog").getByLabel("Channel token", { exact: true }).count())
        .toBe(0);
    });
  });

  test("signs out one browser or all others", async () => {
    dashboard.site.answer = ({ path }) => [
      200,
      path === "/api/sessions" ? { ended: 2 } : { status: "ok" },
    ];
    await dashboard.keepLive("/security", async (page) => {
      const own = page.locator(".signin", { hasText: "This browser" });
      await expect
        .poll(() => own.textContent())
        .toMatch(
          /Firefox 140 on Linux.*127\.0\.0\.1Used .* · signed in 2 min ago · expires in \d d \d+ h/,
        );
      const dialog = page.getByRole("dialog");
      await page.getByRole("button", { name: "Sign out Safari 18 on iOS" }).click();
      await dialog.getByLabel("Launcher token", { exact: true }).fill("typed-again");
      await dialog.getByRole("button", { name: "Sign out" }).click();
      await page.getByText("Safari 18 on iOS signed out").waitFor();
      await page.getByRole("button", { name: "Sign out others" }).click();
      await dialog.getByRole("button", { name: "Cancel" }).click();
      await page.getByRole("button", { name: "Sign out others" }).click();
      await dialog.getByLabel("Launcher token", { exact: true }).fill("typed-again");
      await dialog.getByRole("button", { name: "Sign out 2 browsers" }).click();
      await page.getByText("2 browsers signed out").waitFor();
      expect(dashboard.site.sent.map(({ method, path }) => `${method} ${path}`)).toEqual([
        "DELETE /api/sessions/4e5f6071",
        "DELETE /api/sessions",
      ]);
      for (const { body } of dashboard.site.sent)
        expect(JSON.parse(body)).toEqual({ current: "typed-again" });
    });
  });

  test("lists failed attempts and unblocks an address with the launcher token", async () => {
    await dashboard.keepLive("/security", async (page) => {
      const attempts = page.locator(".attempt");
      await expect
        .poll(() => attempts.locator("b").allTextContents())
        .toEqual(["192.168.178.40", "2001:db8:85a3::8a2e:370:7335", "203.0.113.9", "127.0.0.1"]);
      await expect
        .poll(() => attempts.nth(0).textContent())
        .toMatch(/12 times.*Client, wrong token.*no quotes/);
      await expect
        .poll(() => attempts.nth(2).textContent())
        .toMatch(/4 times.*Sign-in, wrong token/);
      const link = page.getByRole("link", { name: "Show in activity" });
      // Both kinds of attempts are warnings, with different texts.
      await expect.poll(() => link.getAttribute("href")).toMatch(/\/activity\?q=level:warn$/);
      await page.getByRole("button", { name: "Unblock 2001:db8" }).click();
      await page.getByRole("dialog").getByLabel("Launcher token", { exact: true }).fill("right");
      await page.keyboard.press("Enter");
      await page.getByText("2001:db8:85a3::8a2e:370:7335 unblocked").waitFor();
      expect(dashboard.bodies("/api/unblock")).toEqual([
        { address: "2001:db8:85a3::8a2e:370:7335", current: "right" },
      ]);
    });
  });

  test("shows plugin channel tokens with the command that changes them", async () => {
    const letters = { name: "letters", source: "security", managedByEnv: false, others: [] };
    dashboard.site.views.set("GET /api/tokens", { tokens: [tokens[0], letters] });
    await dashboard.openLive("/security", async (page) => {
      const card = page.getByRole("group", { name: "Token letters" });
      await card.getByText("doorward token set letters").waitFor();
      await expect.poll(() => card.getByRole("button").allTextContents()).toEqual([""]);
    });
  });

  test("folds the tokens that are not in use into one line", async () => {
    const unused = ["openai", "metrics"].map((name) => ({
      ...{ name, source: "none" as const, managedByEnv: false, others: [] },
    }));
    dashboard.site.views.set("GET /api/tokens", { tokens: [tokens[0], ...unused] });
    await dashboard.openLive("/security", async (page) => {
      const line = page.locator("summary", { hasText: "Not in use:" });
      await expect.poll(() => line.textContent()).toMatch(/^Not in use: .+, .+Create$/);
      const cards = page.locator(".token");
      await expect.poll(() => cards.filter({ visible: true }).count()).toBe(1);
      await line.click();
      await expect.poll(() => cards.filter({ visible: true }).count()).toBe(3);
      await page.getByRole("button", { name: /^Create the OpenAI/ }).waitFor();
    });
  });

  test("checks a custom token before sending it", async () => {
    dashboard.site.answer = () => [200, { which: "launcher", token: fresh, source: "config" }];
    await dashboard.openLive("/security", async (page) => {
      await page.getByRole("button", { name: "Replace the launcher token" }).click();
      await page.getByLabel("Use my own token").check();
      await page.getByLabel("New token").fill("short");
      await page.getByLabel("Current launcher token", { exact: true }).fill("right");
      await page.getByRole("button", { name: "Replace", exact: true }).click();
      expect(dashboard.bodies("/api/token/rotate")).toEqual([]);
      await page.getByLabel("New token").fill(fresh);
      await page.getByRole("button", { name: "Replace", exact: true }).click();
      await page.getByText("The new token is active.").waitFor();
      expect(dashboard.bodies("/api/token/rotate")).toEqual([
        { which: "launcher", current: "right", token: fresh },
      ]);
    });
  });

  test("ignores the end of the sign-in that its rotation causes", async () => {
    dashboard.site.answer = () => {
      dashboard.site.emit("ended", { reason: "rotated" });
      return [200, { which: "launcher", token: fresh, source: "config" }];
    };
    await dashboard.openLive("/security", async (page) => {
      await page.getByRole("button", { name: "Replace the launcher token" }).click();
      await page.getByLabel("Current launcher token", { exact: true }).fill("right");
      await page.keyboard.press("Enter");
      await page.getByText("The new token is active.").waitFor();
      await expect.poll(() => dashboard.site.opened.length).toBe(2);
      await expect.poll(() => page.getByText("Your session has ended").count()).toBe(0);
    });
  });

  test("shows a new token although the dialog was closed", async () => {
    await dashboard.openLive("/security", async (page) => {
      let answer = (): unknown => undefined;
      const isSent = new Promise<void>(
        (sent) =>
          void page.route("**/api/token/rotate", (route) => {
            answer = () =>
              route.fulfill({ json: { which: "launcher", token: fresh, source: "config" } });
            sent();
          }),
      );
      await page.getByRole("button", { name: "Replace the launcher token" }).click();
      await page.getByLabel("Current launcher token", { exact: true }).fill("right");
      await page.keyboard.press("Enter");
      await isSent;
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await answer();
      await page.getByText("The new token is active.").waitFor();
    });
  });

  test("shows a token that was replaced elsewhere", async () => {
    await dashboard.openLive("/security", async (page) => {
      const held = { ...tokens[1]!, source: "env", managedByEnv: true, others: [] };
      dashboard.site.views.set("GET /api/tokens", { tokens: [held] });
      dashboard.site.emit("token", { at: 1, name: "pico", what: "rotated" });
      await page.getByText("Set by the environment variable SERVICE_CHANNELS_PICO_TOKEN").waitFor();
    });
  });

  test("hides a shown token after a minute", async () => {
    dashboard.site.answer = () => [200, { token: fresh }];
    await dashboard.openLive("/security", async (page) => {
      await page.clock.install();
      await page.getByRole("button", { name: "Show the channel token" }).click();
      await page.getByRole("dialog").getByLabel("Launcher token", { exact: true }).fill("right");
      await page.keyboard.press("Enter");
      await page.getByText("Hidden again in").waitFor();
      await page.clock.runFor(61_000);
      await page.getByRole("dialog").waitFor({ state: "detached" });
      expect(await page.content()).not.toContain(fresh);
    });
  });

  test("shows new sign-ins automatically", async () => {
    dashboard.site.views.set("GET /api/sessions", { sessions: sessions.slice(0, 1) });
    await dashboard.openLive("/security", async (page) => {
      const others = page.getByRole("button", { name: "Sign out others" });
      await expect.poll(() => others.isDisabled()).toBe(true);
      dashboard.site.views.set("GET /api/sessions", { sessions });
      dashboard.site.emit("signed-in", { at: 1, signIn: "4e5f6071", address: "::1", via: "form" });
      await page.getByText("Safari 18 on iOS").waitFor();
      await expect.poll(() => others.isDisabled()).toBe(false);
    });
  });

  const link = (host: string) => ({
    url: `http://${host}/door/login?link=ott_${"a".repeat(43)}`,
    expiresAt: new Date(running.now + 300_000).toISOString(),
  });

  test("makes a sign-in link with a QR code, and cancels it", async () => {
    dashboard.site.views.set("POST /api/signin-links", link("192.168.178.24:18800"));
    await dashboard.openLive("/security", async (page) => {
      await page.getByRole("button", { name: "Create a sign-in link" }).click();
      await page.locator(".qr path[d^=M]").waitFor();
      await expect
        .poll(() => page.locator(".phone-card [role=timer]").textContent())
        .toMatch(/^(5:00|4:5\d)$/);
      await page.getByRole("button", { name: "Cancel link" }).click();
      await page.getByRole("button", { name: "Create a sign-in link" }).waitFor();
      expect(dashboard.site.sent.map(({ method, path }) => `${method} ${path}`)).toEqual([
        "DELETE /api/signin-links",
      ]);
    });
  });

  test("says that other devices cannot open a loopback address", async () => {
    dashboard.site.views.set("POST /api/signin-links", link("127.0.0.1:18800"));
    await dashboard.openLive("/security", async (page) => {
      await page.getByRole("button", { name: "Create a sign-in link" }).click();
      await page.getByText("Other devices can't reach this address.").waitFor();
      await page.getByRole("link", { name: "http://192.168.178.24:18800" }).waitFor();
      await expect.poll(() => page.locator(".qr").count()).toBe(0);
      await page.getByRole("button", { name: "Copy link" }).waitFor();
    });
  });
});
