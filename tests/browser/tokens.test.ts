// Tests the tokens page in a browser.
import { describe, expect, test } from "vitest";
import { useDashboard } from "./dashboard-pages.ts";
import { tokens } from "./sample-api.ts";

const dashboard = useDashboard();
const fresh = "new-" + "0123456789abcdef".repeat(4);

describe("Tokens page", () => {
  test("shows source, age, strength and conflicts of each token", async () => {
    await dashboard.openLive("/tokens", async (page) => {
      const pico = page.getByRole("region", { name: "Channel token" });
      await pico.getByText(".security.yml").first().waitFor();
      expect(await pico.textContent()).toMatch(
        /3 d ago.*It has fewer than 16 char.*config\.json contains a different value/s,
      );
      const remote = page.getByRole("region", { name: "Remote token" });
      expect(await remote.textContent()).toContain("SERVICE_CHANNELS_PICO_CLIENT_TOKEN");
      expect(await remote.getByRole("button").count()).toBe(0);
    });
  });

  test("shows plugin channel tokens with the command that changes them", async () => {
    const letters = { name: "letters", source: "security", managedByEnv: false, others: [] };
    dashboard.site.views.set("GET /api/tokens", { tokens: [tokens[0], letters] });
    await dashboard.openLive("/tokens", async (page) => {
      const card = page.getByRole("region", { name: "Token letters" });
      await card.getByText("doorward token set letters").waitFor();
      expect(await card.getByRole("button").count()).toBe(0);
    });
  });

  test("rotates a token and shows the new one once", async () => {
    dashboard.site.answer = ({ body }) =>
      body.includes("wrong")
        ? [403, { error: "invalid_token", message: "no" }]
        : [200, { which: "pico", token: fresh, source: "security" }];
    await dashboard.openLive("/tokens", async (page) => {
      await page.getByRole("button", { name: "Rotate the channel token" }).click();
      await page.getByLabel("Disconnect clients").selectOption({ label: "Over 10 minutes" });
      const current = page.getByRole("dialog").getByLabel("Launcher token", { exact: true });
      await current.fill("wrong");
      await page.keyboard.press("Enter");
      await page.getByText("That is not the launcher token.").waitFor();
      await current.fill("right");
      await page.keyboard.press("Enter");
      expect(
        await page.getByRole("dialog").getByLabel("Channel token", { exact: true }).inputValue(),
      ).toBe(fresh);
      expect(dashboard.bodies("/api/token/rotate").at(-1)).toEqual({
        which: "pico",
        current: "right",
        grace: 600,
      });
      await page.getByRole("button", { name: "Done" }).click();
      expect(await page.content()).not.toContain(fresh);
    });
  });

  test("checks a custom token before sending it", async () => {
    dashboard.site.answer = () => [200, { which: "launcher", token: fresh, source: "config" }];
    await dashboard.openLive("/tokens", async (page) => {
      await page.getByRole("button", { name: "Rotate the launcher token" }).click();
      await page.getByLabel("Use my own token").check();
      await page.getByLabel("New token").fill("short");
      await page.getByLabel("Current launcher token", { exact: true }).fill("right");
      await page.getByRole("button", { name: "Rotate", exact: true }).click();
      expect(dashboard.bodies("/api/token/rotate")).toEqual([]);
      await page.getByLabel("New token").fill(fresh);
      await page.getByRole("button", { name: "Rotate", exact: true }).click();
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
    await dashboard.openLive("/tokens", async (page) => {
      await page.getByRole("button", { name: "Rotate the launcher token" }).click();
      await page.getByLabel("Current launcher token", { exact: true }).fill("right");
      await page.keyboard.press("Enter");
      await page.getByText("The new token is active.").waitFor();
      await expect.poll(() => dashboard.site.opened.length).toBe(2);
      expect(await page.getByText("Sign in again").count()).toBe(0);
    });
  });

  test("shows a new token although the dialog was closed", async () => {
    await dashboard.openLive("/tokens", async (page) => {
      let answer = (): unknown => undefined;
      const isSent = new Promise<void>(
        (sent) =>
          void page.route("**/api/token/rotate", (route) => {
            answer = () =>
              route.fulfill({ json: { which: "launcher", token: fresh, source: "config" } });
            sent();
          }),
      );
      await page.getByRole("button", { name: "Rotate the launcher token" }).click();
      await page.getByLabel("Current launcher token", { exact: true }).fill("right");
      await page.keyboard.press("Enter");
      await isSent;
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await answer();
      await page.getByText("The new token is active.").waitFor();
    });
  });

  test("shows the channel token and removes it with the dialog", async () => {
    dashboard.site.answer = () => [200, { token: fresh }];
    await dashboard.openLive("/tokens", async (page) => {
      await page.getByRole("button", { name: "Show the channel token" }).click();
      await page.getByRole("dialog").getByLabel("Launcher token", { exact: true }).fill("right");
      await page.keyboard.press("Enter");
      await page.getByText("Anyone with this token can connect").waitFor();
      expect(dashboard.bodies("/api/token/reveal")).toEqual([{ which: "pico", current: "right" }]);
      await page.keyboard.press("Escape");
      await expect
        .poll(() => page.getByRole("dialog").getByLabel("Channel token", { exact: true }).count())
        .toBe(0);
    });
  });

  test("shows a rotation made elsewhere", async () => {
    await dashboard.openLive("/tokens", async (page) => {
      const held = { ...tokens[1]!, source: "env", managedByEnv: true, others: [] };
      dashboard.site.views.set("GET /api/tokens", { tokens: [held] });
      dashboard.site.emit("token", { at: 1, name: "pico", what: "rotated" });
      await page.getByText("set the environment variable and restart").waitFor();
    });
  });
});
