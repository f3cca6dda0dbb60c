// Tests the layers of the chat with forced colours.
import type { Locator } from "playwright-core";
import { describe, expect, test } from "vitest";
import { expectAccessible } from "../../browser/axe.ts";
import { useDashboard } from "../../browser/dashboard-pages.ts";

const dashboard = useDashboard();

/** axe reads the colours before the system replaces them. */
const skipped = ["color-contrast"];

/** Sides of an element with a visible border. Backgrounds do not show with forced colours. */
const borders = (element: Locator): Promise<number> =>
  element.evaluate((node) => {
    const style = getComputedStyle(node);
    const sides = ["top", "right", "bottom", "left"];
    return sides.filter(
      (side) =>
        style.getPropertyValue(`border-${side}-style`) === "solid" &&
        parseFloat(style.getPropertyValue(`border-${side}-width`)) >= 1,
    ).length;
  });

const outlineWidth = (element: Locator): Promise<number> =>
  element.evaluate((node) => parseFloat(getComputedStyle(node).outlineWidth));

describe.each(["light", "dark"] as const)("Chat with forced colours, %s", (colorScheme) => {
  const options = {
    colorScheme,
    forcedColors: "active",
    reducedMotion: "reduce",
    viewport: { width: 1280, height: 800 },
  } as const;

  test("shows the bounds of inspector, toast and sign-in dialog", async () => {
    await dashboard.openLive(
      "/chat/kitchen",
      async (page) => {
        const { site } = dashboard;
        site.channel.echoes = true;
        const composer = page.getByLabel("Message", { exact: true });
        await page.getByText("Connected", { exact: true }).waitFor();
        await composer.fill("hello");
        await composer.press("Enter");
        await page.getByText("Sent", { exact: true }).waitFor();

        const inspect = page.getByRole("button", { name: "Request inspector" });
        await inspect.press("Enter");
        const inspector = page.getByRole("complementary", { name: "Request inspector" });
        await inspector.getByRole("radio", { name: "Raw frames" }).click();
        await inspector.getByText("message.send", { exact: true }).click();
        await inspector.getByText('"hello"').waitFor();
        const close = inspector.getByRole("button", { name: "Close inspector" });
        await page.keyboard.press("Tab");
        await close.focus();
        await expect.poll(() => outlineWidth(close)).toBeGreaterThanOrEqual(2);
        await expectAccessible(page, skipped);
        await close.press("Enter");

        await page
          .getByRole("button", { name: /^Actions for / })
          .first()
          .press("Enter");
        await page.getByRole("menuitem", { name: "Delete…" }).press("Enter");
        await page.getByRole("button", { name: "Delete", exact: true }).press("Enter");
        const toast = page.locator(".toast");
        await toast.getByText("Conversation deleted").waitFor();
        await expect.poll(() => borders(toast)).toBe(4);
        const undo = toast.getByRole("button", { name: "Undo" });
        await undo.focus();
        await expect.poll(() => outlineWidth(undo)).toBeGreaterThanOrEqual(2);
        const [note, field] = await Promise.all([toast.boundingBox(), composer.boundingBox()]);
        expect(note!.y + note!.height).toBeLessThan(field!.y);
        await expectAccessible(page, skipped);
        await undo.press("Enter");

        site.views.clear();
        site.answer = () => [401, { error: "signed_out" }];
        site.emit("ended", { reason: "revoked" });
        const dialog = page.getByRole("dialog", { name: "Your session has ended" });
        await dialog.waitFor();
        await expect.poll(() => borders(dialog)).toBe(4);
        const token = dialog.getByLabel("Launcher token", { exact: true });
        await expect.poll(() => outlineWidth(token)).toBeGreaterThanOrEqual(2);
        await expectAccessible(page, skipped);
      },
      options,
    );
  });
});
