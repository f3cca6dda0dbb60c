// Takes screenshots of the question of an agent in the chat, in both themes.
import { join } from "node:path";
import { chromium } from "playwright-core";

/**
 * Signs in, opens the conversation, and waits for the card.
 *
 * @param options.title - The beginning of the conversation's title.
 */
export async function takeScreenshots({ url, launcherToken, title, name, folder }) {
  const executablePath = process.env.TEST_BROWSER ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  try {
    const viewport = { width: 1100, height: 720 };
    const context = await browser.newContext({ viewport, locale: "en-GB" });
    const page = await context.newPage();
    await page.goto(url);
    await page.getByLabel("Launcher token", { exact: true }).fill(launcherToken);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL("**/chat**");
    await page.getByLabel("Conversations", { exact: true }).getByText(title).first().click();
    await page
      .getByRole("button", { name: /^(?:Allow|Yes|Always)/ })
      .first()
      .waitFor();
    await page.mouse.move(0, 0);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.screenshot({ path: join(folder, `agent-${name}-${colorScheme}.png`) });
    }
  } finally {
    await browser.close();
  }
}
