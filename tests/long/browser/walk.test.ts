// Tests the first setup and sign-in with a real launcher.
import { describe, afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import type { Browser, Page } from "playwright-core";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { finishSetup, startLauncher } from "../../e2e/launcher.ts";
import { tokenPlaceholder } from "../../../plugins/dashboard/shared/token-rules.ts";
import { hasBrowser, launchBrowser, skipWithoutBrowser } from "../../browser/browser.ts";

let browser: Browser;
/** Host name on the local network. Plain HTTP has no secure context, so no clipboard. */
const lan = "door.example";
beforeEach(skipWithoutBrowser);
beforeAll(async () => {
  if (!hasBrowser) return;
  browser = await launchBrowser([`--host-resolver-rules=MAP ${lan} 127.0.0.1`]);
});
afterAll(() => browser?.close());

/** Opens a page that records errors and policy violations. */
async function openPage(): Promise<{ page: Page; problems: string[] }> {
  const page = await (await browser.newContext()).newPage();
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => {
    if (/Content Security Policy|Refused to/.test(message.text())) problems.push(message.text());
  });
  return { page, problems };
}

describe("First visit", () => {
  it("opens the link, keeps the token and receives a reply", async () => {
    await using launcher = await startLauncher();
    const { page, problems } = await openPage();

    await page.goto(launcher.link.href);
    await page.getByRole("heading", { name: "Choose the token for this dashboard" }).waitFor();
    // Once the script runs, the cookie of the link replaces the code.
    await page.getByLabel("Generated token", { exact: true }).waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "Show generated token" }).click();
    const shown = page.getByLabel("Your generated token", { exact: true });
    await expect.poll(() => shown.inputValue()).toBe(launcher.token);
    await page.getByRole("button", { name: "Finish setup" }).click();

    // The button reacts once the script has run, which is before the page has loaded completely.
    await page.waitForURL("**/overview");
    await page.getByRole("button", { name: "Turn on channel" }).click();
    await page.getByText(`ws://${launcher.base.host}/pico`, { exact: true }).waitFor();
    await page.getByRole("link", { name: "Connect a client" }).click();

    const token = /token: ["']?([0-9a-f]{64})/.exec(
      await readFile(join(launcher.home, ".security.yml"), "utf8"),
    )![1]!;
    const snippet = await page.getByRole("group", { name: "Code, Browser" }).textContent();
    const answer = page.waitForEvent("console", (message) =>
      /message\.create/.test(message.text()),
    );
    // Runs the snippet on this origin, since the policy allows WebSockets only to the same origin.
    await page.evaluate(snippet!.replace(tokenPlaceholder, token));
    expect((await answer).text()).toContain("hello");

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(problems).toEqual([]);
  });

  it.each(["127.0.0.1", lan])("signs in and out without JavaScript, bundled: %s", async (name) => {
    await using launcher = await startLauncher({ env: { SERVICE_LAUNCHER_ALLOWED_HOSTS: lan } });
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();

    await page.goto(`http://${name}:${launcher.base.port}/setup`);
    await page.getByLabel("Generated token", { exact: true }).fill(launcher.token!);
    await page.getByLabel("A token of your own").check();
    await page.getByLabel("Your token", { exact: true }).fill("a-token-of-my-own-1");
    await page.getByLabel("Your token again", { exact: true }).fill("a-token-of-my-own-1");
    await page.getByRole("button", { name: "Finish setup" }).click();
    await page.locator("#main").getByRole("heading", { name: "Overview" }).waitFor();

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Launcher token", { exact: true }).fill("not the token");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("That is not the launcher token").waitFor();
    await page.getByLabel("Launcher token", { exact: true }).fill("a-token-of-my-own-1");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator("#main").getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await context.close();
  });

  it("works over plain HTTP on a local network", async () => {
    await using launcher = await startLauncher({ env: { SERVICE_LAUNCHER_ALLOWED_HOSTS: lan } });
    await finishSetup(launcher);
    const { page, problems } = await openPage();
    const at = (path: string): string => `http://${lan}:${launcher.base.port}${path}`;
    await page.goto(at("/login?next=%2Fclients"));
    await page.getByLabel("Launcher token", { exact: true }).fill(launcher.token!);
    await page.keyboard.press("Enter");
    await page.waitForURL("**/clients");
    await page.getByRole("button", { name: "Turn on", exact: true }).click();
    await page.getByText("The channel is on.", { exact: true }).waitFor();
    await expect.poll(() => page.evaluate(() => isSecureContext)).toBe(false);
    // The button shows the message only briefly.
    const copied = page.getByRole("button", { name: "Copied" }).waitFor();
    await Promise.all([copied, page.getByRole("button", { name: "Copy channel URL" }).click()]);
    await page.goto(at("/chat"));
    await page.getByText("Connected", { exact: true }).waitFor();
    await page.getByLabel("Message", { exact: true }).fill("over the air");
    await page.keyboard.press("Enter");
    await page.locator(".msg:not(.mine)").getByText("over the air").waitFor();
    expect(problems).toEqual([]);
  });
});
