// Tests the sign-in, setup and sign-out forms in a browser.
import { describe, expect, test } from "vitest";
import { useDashboard } from "./dashboard-pages.ts";

const dashboard = useDashboard();
const withPage = dashboard.open;

/** Returns the fields of the form sent to `path`. */
function sentForm(path: string): Record<string, string> {
  expect(dashboard.site.sent.map((request) => `${request.method} ${request.path}`)).toContain(
    `POST ${path}`,
  );
  return Object.fromEntries(
    new URLSearchParams(dashboard.site.sent.find((request) => request.path === path)?.body),
  );
}

describe("Forms without JavaScript", () => {
  const plain = { javaScriptEnabled: false };

  test("submits the token and the next path", async () => {
    await withPage("/sign-in", plain, async (page) => {
      await page.fill("#token", "a token & more");
      await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
      expect(sentForm("/login")).toEqual({ token: "a token & more", next: "/?a=1&b=2" });
    });
  });

  test("submits a sign-in link with one button", async () => {
    await withPage("/sign-in-link", plain, async (page) => {
      await expect.poll(() => page.locator("input:visible").count()).toBe(0);
      await Promise.all([
        page.waitForNavigation(),
        page.getByRole("button", { name: "Sign in" }).click(),
      ]);
      expect(sentForm("/login")).toEqual({ token: "ott_abc" });
    });
  });

  test("keeps the generated token if Enter is pressed in the code field", async () => {
    await withPage("/setup-page", plain, async (page) => {
      await page.fill("#code", "the code");
      await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
      expect(sentForm("/setup")).toMatchObject({ code: "the code", keep: "true" });
    });
  });

  test("submits a custom token if it is selected", async () => {
    await withPage("/setup-page", plain, async (page) => {
      await expect.poll(() => page.isVisible("#token")).toBe(false);
      await page.fill("#code", "the code");
      await page.check("#own");
      await page.fill("#token", "correct horse");
      await page.fill("#confirm", "correct horse");
      await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
      const own = { token: "correct horse", confirm: "correct horse" };
      expect(sentForm("/setup")).toEqual({ code: "the code", keep: "false", ...own });
    });
  });

  test("asks for the code even with a setup cookie", async () => {
    await withPage("/setup-cookie", plain, async (page) => {
      await expect.poll(() => page.isVisible("#code")).toBe(true);
      await expect.poll(() => page.getByLabel("Your generated token").isVisible()).toBe(false);
    });
  });

  test("submits the CSRF value at sign-out", async () => {
    await withPage("/overview-on", plain, async (page) => {
      await Promise.all([
        page.waitForNavigation(),
        page.getByRole("button", { name: "Sign out" }).click(),
      ]);
      expect(sentForm("/logout")).toEqual({ csrf: "c5rf" });
    });
  });

  test("shows no scripted buttons and names the channel setting", async () => {
    await withPage("/overview-off", plain, async (page) => {
      const buttons = await page.getByRole("button").all();
      const names = buttons.map((button) => button.getAttribute("aria-label"));
      expect(await Promise.all(names)).toEqual(["Sign out"]);
      await expect.poll(() => page.textContent("noscript")).toContain("channels.pico.enabled");
    });
    await withPage("/clients", plain, async (page) => {
      await expect
        .poll(() => page.locator("pre:visible").first().textContent())
        .toContain("new WebSocket");
    });
  });
});

describe("Forms with JavaScript", () => {
  test("shows and hides the token and hides it before submitting", async () => {
    await withPage("/sign-in", {}, async (page) => {
      await page.fill("#token", "secret");
      await page.getByRole("button", { name: /launcher token$/ }).click();
      await expect.poll(() => page.getAttribute("#token", "type")).toBe("text");
      await expect.poll(() => page.getAttribute(".reveal", "aria-pressed")).toBe("true");
      await page.getByRole("button", { name: /launcher token$/ }).click();
      await expect.poll(() => page.getAttribute("#token", "type")).toBe("password");
    });
  });

  test("allows generated tokens during a rate limit, then re-enables itself", async () => {
    await withPage("/sign-in-limited", {}, async (page) => {
      const button = page.getByRole("button", { name: "Sign in" });
      await expect.poll(() => button.isDisabled()).toBe(true);
      await expect.poll(() => page.textContent('[role="timer"]')).toMatch(/Try again in \d+ s\./);
      await page.fill("#token", "x".repeat(43));
      await expect.poll(() => button.isEnabled()).toBe(true);
    });
    await withPage("/sign-in-soon", {}, async (page) => {
      await page.getByText("You can try again now.").waitFor();
      await expect.poll(() => page.getByRole("button", { name: "Sign in" }).isEnabled()).toBe(true);
    });
  });

  test("hides the code field with a setup cookie and sends JSON", async () => {
    await withPage("/setup-cookie", {}, async (page) => {
      await page.locator("#code").waitFor({ state: "hidden" });
      const answered = page.waitForRequest("**/setup");
      await page.getByRole("button", { name: "Finish setup" }).click();
      await answered;
      await page.waitForURL(`${dashboard.site.origin}/`);
      const [request] = dashboard.site.sent;
      const { origin } = new URL(dashboard.site.origin);
      expect(request).toMatchObject({ method: "POST", path: "/setup", headers: { origin } });
      expect(JSON.parse(request?.body ?? "")).toEqual({ keep: true });
    });
  });

  test("hides the code field before the script has loaded", async () => {
    await withPage("/sign-in", {}, async (page) => {
      const held = new Promise<() => Promise<void>>(
        (done) => void page.route("**/setup.js", (route) => done(() => route.continue())),
      );
      await page.goto(`${dashboard.site.origin}/setup-cookie`, { waitUntil: "commit" });
      const script = await held;
      await page.getByText("The generated token", { exact: true }).waitFor();
      await expect.poll(() => page.locator("#code").isVisible()).toBe(false);
      await script();
      await page.locator("html[data-ready]").waitFor();
      await expect.poll(() => page.locator("#code").isVisible()).toBe(false);
    });
  });

  test("fetches the generated token only when it is shown or copied", async () => {
    dashboard.site.views.set("POST /setup/token", { token: "generated-token-1" });
    await withPage("/setup-cookie", {}, async (page) => {
      const asked: string[] = [];
      page.on("request", (request) => {
        if (request.method() === "POST") asked.push(request.url());
      });
      expect(await page.content()).not.toContain("generated-token-1");
      await page.getByRole("button", { name: "Show generated token" }).click();
      const field = page.getByLabel("Your generated token");
      await expect.poll(() => field.inputValue()).toBe("generated-token-1");
      await expect.poll(() => field.getAttribute("type")).toBe("text");
      await page.getByRole("button", { name: "Hide generated token" }).click();
      await expect.poll(() => field.getAttribute("type")).toBe("password");
      await page.getByRole("button", { name: "Show generated token" }).click();
      expect(asked).toEqual([`${dashboard.site.origin}/setup/token`]);
      await page.check("#own");
      await expect.poll(() => field.isVisible()).toBe(false);
    });
  });

  test.each([
    ["with clipboard", true],
    ["without clipboard, as on plain HTTP", false],
  ])("copies the generated token: %s", async (_, hasClipboard) => {
    dashboard.site.views.set("POST /setup/token", { token: "generated-token-2" });
    const permissions = ["clipboard-read", "clipboard-write"];
    await withPage("/setup-cookie", { permissions }, async (page) => {
      if (!hasClipboard)
        await page.evaluate(() =>
          Object.defineProperty(navigator.clipboard, "writeText", { value: undefined }),
        );
      await page.getByRole("button", { name: "Copy", exact: true }).click();
      await page.getByRole("status").getByText("Copied", { exact: true }).waitFor();
      await expect
        .poll(() => page.evaluate(() => navigator.clipboard.readText()))
        .toBe("generated-token-2");
      await page.getByRole("button", { name: "Copy", exact: true }).waitFor();
      const token = page.getByLabel("Your generated token");
      const type = hasClipboard ? "password" : "text";
      await expect.poll(() => token.getAttribute("type")).toBe(type);
    });
  });

  test("asks for the code if the generated token cannot be shown", async () => {
    dashboard.site.answer = () => [401, { error: "invalid_code", message: "Wrong code." }];
    await withPage("/setup-cookie", {}, async (page) => {
      await page.getByRole("button", { name: "Show generated token" }).click();
      await page.getByRole("alert").getByText("The setup link has expired.").waitFor();
      await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("code");
      await expect.poll(() => page.getByLabel("Your generated token").isVisible()).toBe(false);
    });
  });

  test("opens the dashboard if the setup was finished elsewhere", async () => {
    dashboard.site.answer = () => [409, { error: "already_set_up", message: "Finished." }];
    await withPage("/setup-cookie", {}, async (page) => {
      await page.getByRole("button", { name: "Copy", exact: true }).click();
      await page.waitForURL(`${dashboard.site.origin}/`);
    });
  });

  test("asks for the code after the setup cookie expired", async () => {
    dashboard.site.answer = () => [
      401,
      { error: "invalid_code", message: "This setup code is not right." },
    ];
    await withPage("/setup-cookie", {}, async (page) => {
      await page.getByRole("button", { name: "Finish setup" }).click();
      await page.getByRole("alert").getByText("Paste the generated token.").waitFor();
      await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("code");
    });
  });

  test("checks token rules while the user types and blocks invalid tokens", async () => {
    await withPage("/setup-page", {}, async (page) => {
      await page.fill("#code", "the code");
      await page.check("#own");
      const kept = () => page.locator(".rules .met").count();
      const tries = {
        "": 0,
        ott_short: 2,
        aaaaaaaaaaaaaaaa: 3,
        "with some spaces in": 3,
        "correct-horse-battery": 4,
      };
      for (const [typed, rules] of Object.entries(tries)) {
        await page.fill("#token", typed);
        await expect.poll(async () => [typed, await kept()]).toEqual([typed, rules]);
      }
      await page.fill("#token", "short");
      await page.getByRole("button", { name: "Finish setup" }).click();
      expect(dashboard.site.sent).toEqual([]);
      // An invalid custom token must not block the form once the generated one is selected.
      await page.check('[name="keep"][value="true"]');
      await expect.poll(() => page.locator("form[data-setup]:invalid").count()).toBe(0);
      await page.check("#own");
      await page.fill("#token", "correct-horse-battery");
      await page.fill("#confirm", "correct-horse-battery");
      await page.getByRole("button", { name: "Finish setup" }).click();
      await page.waitForURL(`${dashboard.site.origin}/`);
      const own = { token: "correct-horse-battery", confirm: "correct-horse-battery" };
      expect(JSON.parse(dashboard.site.sent[0]?.body ?? "")).toEqual({ code: "the code", ...own });
    });
  });
});
