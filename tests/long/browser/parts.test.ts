// Tests the components and the frame of the console on a page with all of them.
import { build } from "esbuild";
import type { BrowserContextOptions, Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { expectAccessible } from "../../browser/axe.ts";
import { hasBrowser } from "../../browser/browser.ts";
import { useDashboard } from "../../browser/dashboard-pages.ts";

const dashboard = useDashboard();

beforeAll(async () => {
  if (!hasBrowser) return;
  const { outputFiles } = await build({
    entryPoints: ["tests/browser/gallery.tsx"],
    bundle: true,
    format: "esm",
    jsx: "automatic",
    jsxImportSource: "preact",
    write: false,
  });
  dashboard.site.scripts.set("console/overview.js", outputFiles[0]!.text);
});

interface GalleryOptions extends BrowserContextOptions {
  readonly open?: typeof dashboard.open;
}

const size = { width: 1280, height: 900 };

/** Opens the overview with the page of this test in its place, and waits for "Live". */
function openGallery(
  use: (page: Page) => Promise<void>,
  { open = dashboard.open, ...options }: GalleryOptions = {},
): Promise<void> {
  const { views } = dashboard.site;
  if (!views.has("GET /docs/search.json")) views.set("GET /docs/search.json", []);
  return open("/overview-on", { viewport: size, ...options }, async (page) => {
    await page.locator('.live[data-state="live"]').first().waitFor({ state: "attached" });
    await use(page);
  });
}

/** For tests that leave the page as they found it, apart from the parts that only they use. */
const continueGallery = (use: (page: Page) => Promise<void>): Promise<void> =>
  openGallery(use, { open: dashboard.keep });

const said = (page: Page) => page.locator("output");

describe("parts", () => {
  test("have no accessibility violations in both themes", async () => {
    await openGallery(
      async (page) => {
        for (const colorScheme of ["light", "dark"] as const) {
          await page.emulateMedia({ colorScheme });
          await expectAccessible(page);
        }
      },
      { reducedMotion: "reduce" },
    );
  });

  test("open a menu with the keyboard and return the focus", async () => {
    await continueGallery(async (page) => {
      const button = page.getByRole("button", { name: "Page menu" });
      await button.press("Enter");
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("End");
      await expect.poll(() => page.locator(":focus").textContent()).toBe("Delete…");
      await page.keyboard.press("Home");
      await page.keyboard.press("Enter");
      await expect.poll(() => said(page).textContent()).toBe("hello");
      await button.click();
      await page.keyboard.press("Escape");
      await expect
        .poll(() => button.evaluate((node) => node === document.activeElement))
        .toBe(true);
    });
  });

  test("start the focus of a dangerous question on Cancel", async () => {
    await continueGallery(async (page) => {
      await page.getByRole("button", { name: "Page menu" }).click();
      await page.getByRole("menuitem", { name: "Delete…" }).click();
      const dialog = page.getByRole("dialog", { name: "Delete it?" });
      await dialog.waitFor();
      await expect.poll(() => page.locator(":focus").textContent()).toBe("Cancel");
      await page.keyboard.press("Escape");
      await expect.poll(() => said(page).textContent()).toBe("kept");
      await page.getByRole("button", { name: "Page menu" }).click();
      await page.getByRole("menuitem", { name: "Delete…" }).click();
      await dialog.getByRole("button", { name: "Delete" }).click();
      await expect.poll(() => said(page).textContent()).toBe("deleted");
    });
  });

  test("send a token until it is accepted, and count down a limit", async () => {
    await continueGallery(async (page) => {
      dashboard.site.answer = ({ body }) =>
        body.includes("right-token-right-token")
          ? [200, {}]
          : body.includes("limit")
            ? [429, { error: "rate_limited", message: "Too many attempts.", retryAfterSeconds: 9 }]
            : [403, { error: "invalid_token", message: "no" }];
      await page.getByRole("button", { name: "Replace…" }).click();
      const dialog = page.getByRole("dialog", { name: "Replace the token?" });
      const field = dialog.getByLabel("Launcher token", { exact: true });
      await expect.poll(() => field.evaluate((node) => node === document.activeElement)).toBe(true);
      await field.press("Enter");
      await dialog.getByText("Enter the launcher token.").waitFor();
      await field.fill("wrong-token-wrong-token");
      await field.press("Enter");
      await dialog.getByText("That is not the launcher token.").waitFor();
      await field.fill("limit-token-limit-token");
      await field.press("Enter");
      await dialog.getByText(/Try again in \d s\./).waitFor();
      const button = dialog.getByRole("button", { name: "Replace", exact: true });
      await expect.poll(() => button.isDisabled()).toBe(true);
      await field.fill("right-token-right-token".padEnd(43, "x"));
      await button.click();
      await expect.poll(() => said(page).textContent()).toBe("replaced");
    });
  });

  test("choose in a segment with the arrow keys", async () => {
    await continueGallery(async (page) => {
      await page.getByRole("radio", { name: "Small" }).focus();
      await page.keyboard.press("ArrowRight");
      await expect.poll(() => page.locator(":focus").textContent()).toBe("Medium");
      await page.keyboard.press("ArrowLeft");
      await page.keyboard.press("ArrowLeft");
      await expect
        .poll(() => page.getByRole("radio", { name: "Large" }).getAttribute("aria-checked"))
        .toBe("true");
    });
  });

  test("copy without clipboard access", async () => {
    await continueGallery(async (page) => {
      await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: {} }));
      await page.getByRole("button", { name: "Copy plainly" }).click();
      await expect.poll(() => said(page).textContent()).toBe("true");
    });
  });

  test("highlight code and fold long code", async () => {
    await continueGallery(async (page) => {
      await page.locator(".hljs-keyword", { hasText: "def" }).waitFor();
      const code = page.locator("pre").nth(1);
      await expect.poll(async () => (await code.textContent())?.split("\n").length).toBe(400);
      await page.getByRole("button", { name: "Show all 502 lines" }).click();
      await expect.poll(async () => (await code.textContent())?.split("\n").length).toBe(502);
    });
  });

  test("draw a QR code as dark squares", async () => {
    await continueGallery(async (page) => {
      const path = page.getByRole("img", { name: "QR code with a sign-in link" }).locator("path");
      await expect.poll(async () => (await path.getAttribute("d"))?.length).toBeGreaterThan(1000);
      await expect.poll(() => path.getAttribute("d")).toMatch(/^M0,0h1v1h-1z/);
    });
  });

  test("show toasts, run their action and keep failures", async () => {
    await openGallery(async (page) => {
      await page.clock.install();
      await page.getByRole("button", { name: "Fail" }).click();
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByRole("button", { name: "Undo" }).click();
      await expect.poll(() => said(page).textContent()).toBe("undone");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.mouse.move(1, 1);
      await page.clock.runFor(9000);
      await expect.poll(() => page.locator(".toast").count()).toBe(1);
      await expect.poll(() => page.locator(".toast").textContent()).toContain("It failed");
    });
  });

  test("copy text and say so", async () => {
    await openGallery(
      async (page) => {
        await page.getByRole("button", { name: "Copy", exact: true }).first().click();
        await page.getByRole("button", { name: "Copied" }).waitFor();
        await expect
          .poll(() => page.evaluate(() => navigator.clipboard.readText()))
          .toBe("copied at 1");
      },
      { permissions: ["clipboard-read", "clipboard-write"] },
    );
  });
});

describe("frame", () => {
  test("finds pages and conversations with the command palette", async () => {
    await openGallery(async (page) => {
      await page.keyboard.press("Control+k");
      const palette = page.getByRole("dialog", { name: "Search and commands" });
      const field = palette.getByRole("combobox");
      await field.fill("over");
      await palette.getByRole("option", { name: "Overview" }).waitFor();
      await palette.getByRole("group", { name: "Conversations" }).waitFor();
      await field.fill("no such thing anywhere");
      dashboard.site.views.set("GET /api/conversations", { conversations: [] });
      await palette.getByText("No results for “no such thing anywhere”").waitFor();
      await field.fill("dark theme");
      await page.keyboard.press("Enter");
      await expect.poll(() => page.getAttribute("html", "data-theme")).toBe("dark");
      await page.keyboard.press("Control+k");
      await palette.getByRole("group", { name: "Recent" }).getByText("dark theme").waitFor();
      await field.fill("doctor");
      await field.press("ArrowDown");
      await page.keyboard.press("Enter");
      await page.waitForURL("**/doctor");
    });
  });

  test("finds settings and headings with the command palette, then lists them first", async () => {
    const headings = [
      ["commands", "", "Commands", ""],
      ["commands", "exit-codes", "Exit codes", "How a program ends."],
      ["pico", "close-codes", "Close codes", "How a connection ends."],
    ];
    dashboard.site.views.set("GET /docs/search.json", headings);
    dashboard.site.views.set("GET /api/conversations", { conversations: [] });
    await openGallery(async (page) => {
      await page.keyboard.press("Control+k");
      const palette = page.getByRole("dialog", { name: "Search and commands" });
      const field = palette.getByRole("combobox");
      const chosen = () =>
        field.evaluate(
          (input) =>
            document.getElementById(input.getAttribute("aria-activedescendant") ?? "")?.textContent,
        );
      await field.fill("codes exit");
      await palette.getByRole("group", { name: "Documentation" }).getByText("Exit codes").waitFor();
      await expect.poll(() => chosen()).toBe("Exit codesCommands");
      await field.fill("ping_interval");
      const setting = palette.getByRole("group", { name: "Settings" }).getByRole("option");
      await setting.getByText("Ping interval", { exact: true }).waitFor();
      await expect.poll(() => chosen()).toBe("Ping intervalping_interval");
      await page.keyboard.press("Enter");
      await page.waitForURL("**/settings/channel#channels-pico-ping_interval");
      await page.locator("#channels-pico-ping_interval:focus").waitFor();
      await page.keyboard.press("Control+k");
      await palette.getByRole("group", { name: "Recent" }).getByText("Ping interval").waitFor();
      await expect.poll(() => chosen()).toBe("Ping interval");
    });
  });

  test("says that a search is incomplete without the service", async () => {
    await openGallery(async (page) => {
      await page.keyboard.press("Control+k");
      const palette = page.getByRole("dialog", { name: "Search and commands" });
      await page.route("**/api/conversations**", (route) => route.abort());
      await palette.getByRole("combobox").fill("doctor");
      await palette.getByText("Not everything could be searched").waitFor();
      await expect.poll(() => palette.getByRole("option").count()).toBe(1);
    });
  });

  test("opens pages and lists with keys, unless they are off", async () => {
    await openGallery(async (page) => {
      await page.keyboard.press("f");
      await expect.poll(() => said(page).textContent()).toBe("followed");
      await page.keyboard.press("/");
      await expect
        .poll(() => page.locator(":focus").getAttribute("aria-label"))
        .toBe("Filter parts");
      await page.keyboard.press("?");
      await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
      await page.locator(":focus").evaluate((field: HTMLElement) => field.blur());
      await page.keyboard.press("?");
      const sheet = page.getByRole("dialog", { name: "Keyboard shortcuts" });
      await sheet.getByRole("switch", { name: "Shortcuts with a single key" }).click();
      await page.keyboard.press("Escape");
      await sheet.waitFor({ state: "detached" });
      const theme = await page.getAttribute("html", "data-theme");
      await page.keyboard.press("t");
      await expect.poll(() => page.getAttribute("html", "data-theme")).toBe(theme);
      await page.keyboard.press("Control+k");
      await page.getByRole("dialog", { name: "Search and commands" }).waitFor();
    });
  });

  test("has no accessibility violations in its layers", async () => {
    await openGallery(
      async (page) => {
        for (const key of ["Control+k", "?"]) {
          await page.keyboard.press(key);
          await page.getByRole("dialog").waitFor();
          await expectAccessible(page);
          await page.keyboard.press("Escape");
          await page.getByRole("dialog").waitFor({ state: "detached" });
        }
        await page.setViewportSize({ width: 390, height: 800 });
        await page.getByRole("button", { name: "More", exact: true }).click();
        await page.getByRole("dialog", { name: "More" }).waitFor();
        await expectAccessible(page);
        await page.getByRole("radio", { name: "Dark" }).click();
        await expectAccessible(page);
        await expect.poll(() => page.evaluate(() => document.cookie)).toContain("theme=dark");
      },
      { reducedMotion: "reduce" },
    );
  });
});
