// Draws plans, diffs and terminal output of the example program in the chat.
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { expectAccessible } from "./axe.ts";
import { useChat, write } from "./chat-launcher.ts";

const shots = process.env["STEPS_SHOTS"];

async function shoot(page: Page, name: string): Promise<void> {
  if (shots !== undefined) await page.screenshot({ path: `${shots}/${name}.png` });
}

describe("Steps with details", () => {
  const chat = useChat("programs/steps.py");

  test("draw the plan, the change and the output, also after a reload", async () => {
    const page = await chat.open("steps");
    await page.emulateMedia({ reducedMotion: "reduce" });
    await page.setViewportSize({ width: 1280, height: 900 });
    await write(page, "Change it");
    await page.getByRole("article").getByText("The greeting is changed.").waitFor();
    for (let visit = 1; visit <= 2; visit++) {
      const plan = page.getByRole("region", { name: "Plan" });
      await plan.getByText("Done").nth(1).waitFor();
      await shoot(page, `plan-${visit}`);
      await expect.poll(() => plan.locator("li").count()).toBe(2);
      await page.locator(".steps > summary").click();
      for (const call of ["Change the greeting", "Run the tests"])
        await page.locator(".steps .items > details > summary", { hasText: call }).click();
      const diff = page.locator(".diff");
      await expect
        .poll(() => diff.locator(".added").allTextContents())
        .toEqual(["+     return 'good day'"]);
      await expect
        .poll(() => diff.locator(".removed").allTextContents())
        .toEqual(["-     return 'hello'"]);
      await diff.getByText("unchanged lines").waitFor();
      const terminal = page.getByRole("group", { name: "Terminal" });
      await expect.poll(() => terminal.textContent()).toBe("$ pytest\n1 passed in 0.01 s");
      await page.getByText("Exit code 0").waitFor();
      await expectAccessible(page);
      await shoot(page, `light-1280-${visit}`);
      if (visit === 1) await page.reload();
    }
    await page.emulateMedia({ colorScheme: "dark" });
    await page.setViewportSize({ width: 390, height: 844 });
    await shoot(page, "dark-390");
    await page.evaluate(() =>
      Promise.all(document.getAnimations().map(({ finished }) => finished)),
    );
    await expectAccessible(page);
    chat.assertFaultless();
    await page.close();
  });
});
