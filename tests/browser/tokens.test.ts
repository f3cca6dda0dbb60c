import { expect, test } from "vitest";
import { useDesk } from "./desk.ts";
import { tokens } from "./sample-api.ts";

const desk = useDesk();
const fresh = "new-" + "0123456789abcdef".repeat(4);

test("each token shows source, age, strength and what disagrees; the environment's cannot be replaced", async () => {
  await desk.look("/tokens", async (page) => {
    const pico = page.getByRole("region", { name: "Channel token" });
    await pico.getByText(".security.yml").first().waitFor();
    expect(await pico.textContent()).toMatch(
      /3 d ago.*It has fewer than 16 char.*config\.json holds another value/s,
    );
    const remote = page.getByRole("region", { name: "Remote token" });
    expect(await remote.textContent()).toContain("SERVICE_CHANNELS_PICO_CLIENT_TOKEN");
    expect(await remote.getByRole("button").count()).toBe(0);
  });
});

test("the token of a plugin's channel is shown too, with the command that changes it", async () => {
  const letters = { name: "letters", source: "security", managedByEnv: false, others: [] };
  desk.site.views.set("GET /api/tokens", { tokens: [tokens[0], letters] });
  await desk.look("/tokens", async (page) => {
    const card = page.getByRole("region", { name: "Token letters" });
    await card.getByText("doorward token set letters").waitFor();
    expect(await card.getByRole("button").count()).toBe(0);
  });
});

test("a token is replaced with the launcher token, and the new one is shown once", async () => {
  desk.site.answer = ({ body }) =>
    body.includes("wrong")
      ? [403, { error: "invalid_token", message: "no" }]
      : [200, { which: "pico", token: fresh, source: "security" }];
  await desk.look("/tokens", async (page) => {
    await page.getByRole("button", { name: "Replace the channel token" }).click();
    await page.getByLabel("Disconnect the clients").selectOption({ label: "Over 10 minutes" });
    const current = page.getByRole("dialog").getByLabel("Launcher token", { exact: true });
    await current.fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByText("That is not the launcher token.").waitFor();
    await current.fill("right");
    await page.keyboard.press("Enter");
    expect(
      await page.getByRole("dialog").getByLabel("Channel token", { exact: true }).inputValue(),
    ).toBe(fresh);
    expect(desk.bodies("/api/token/rotate").at(-1)).toEqual({
      which: "pico",
      current: "right",
      grace: 600,
    });
    await page.getByRole("button", { name: "Done" }).click();
    expect(await page.content()).not.toContain(fresh);
  });
});

test("a token of one's own is checked against the rules before it is sent", async () => {
  desk.site.answer = () => [200, { which: "launcher", token: fresh, source: "config" }];
  await desk.look("/tokens", async (page) => {
    await page.getByRole("button", { name: "Replace the launcher token" }).click();
    await page.getByLabel("Use a token of my own").check();
    await page.getByLabel("New token").fill("short");
    await page.getByLabel("Present launcher token", { exact: true }).fill("right");
    await page.getByRole("button", { name: "Replace", exact: true }).click();
    expect(desk.bodies("/api/token/rotate")).toEqual([]);
    await page.getByLabel("New token").fill(fresh);
    await page.getByRole("button", { name: "Replace", exact: true }).click();
    await page.getByText("The new token works from now on.").waitFor();
    expect(desk.bodies("/api/token/rotate")).toEqual([
      { which: "launcher", current: "right", token: fresh },
    ]);
  });
});

test("the end that a launcher rotation brings to this session is no news", async () => {
  desk.site.answer = () => {
    desk.site.emit("ended", { reason: "rotated" });
    return [200, { which: "launcher", token: fresh, source: "config" }];
  };
  await desk.look("/tokens", async (page) => {
    await page.getByRole("button", { name: "Replace the launcher token" }).click();
    await page.getByLabel("Present launcher token", { exact: true }).fill("right");
    await page.keyboard.press("Enter");
    await page.getByText("The new token works from now on.").waitFor();
    await expect.poll(() => desk.site.opened.length).toBe(2);
    expect(await page.getByText("Sign in again").count()).toBe(0);
  });
});

test("whoever closes the dialog before the answer still sees the token that was made", async () => {
  await desk.look("/tokens", async (page) => {
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
    await page.getByLabel("Present launcher token", { exact: true }).fill("right");
    await page.keyboard.press("Enter");
    await isSent;
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await answer();
    await page.getByText("The new token works from now on.").waitFor();
  });
});

test("the channel token is shown with the launcher token and leaves the page with its dialog", async () => {
  desk.site.answer = () => [200, { token: fresh }];
  await desk.look("/tokens", async (page) => {
    await page.getByRole("button", { name: "Show the channel token" }).click();
    await page.getByRole("dialog").getByLabel("Launcher token", { exact: true }).fill("right");
    await page.keyboard.press("Enter");
    await page.getByText("Who has it may connect").waitFor();
    expect(desk.bodies("/api/token/reveal")).toEqual([{ which: "pico", current: "right" }]);
    await page.keyboard.press("Escape");
    await expect
      .poll(() => page.getByRole("dialog").getByLabel("Channel token", { exact: true }).count())
      .toBe(0);
  });
});

test("a token replaced elsewhere is seen at once", async () => {
  await desk.look("/tokens", async (page) => {
    const held = { ...tokens[1]!, source: "env", managedByEnv: true, others: [] };
    desk.site.views.set("GET /api/tokens", { tokens: [held] });
    desk.site.emit("token", { at: 1, name: "pico", what: "rotated" });
    await page.getByText("Only the environment changes it").waitFor();
  });
});
