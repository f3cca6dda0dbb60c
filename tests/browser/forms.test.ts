import { describe, expect, test } from "vitest";
import { useDesk } from "./desk.ts";

const desk = useDesk();
const withPage = desk.open;

/** The fields of the one form sent. */
function sentForm(path: string): Record<string, string> {
  expect(desk.site.sent.map((request) => `${request.method} ${request.path}`)).toContain(
    `POST ${path}`,
  );
  return Object.fromEntries(
    new URLSearchParams(desk.site.sent.find((request) => request.path === path)?.body),
  );
}

describe("without JavaScript", () => {
  const plain = { javaScriptEnabled: false };

  test("sign-in sends the token and where to go next", async () => {
    await withPage("/sign-in", plain, async (page) => {
      await page.fill("#token", "a token & more");
      await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
      expect(sentForm("/login")).toEqual({ token: "a token & more", next: "/?a=1&b=2" });
    });
  });

  test("a sign-in link is one button that sends its value", async () => {
    await withPage("/sign-in-link", plain, async (page) => {
      expect(await page.locator("input:visible").count()).toBe(0);
      await Promise.all([
        page.waitForNavigation(),
        page.getByRole("button", { name: "Sign in" }).click(),
      ]);
      expect(sentForm("/login")).toEqual({ token: "ott_abc" });
    });
  });

  test("setup keeps the generated token when Enter is pressed in the code field", async () => {
    await withPage("/setup-page", plain, async (page) => {
      await page.fill("#code", "the code");
      await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
      expect(sentForm("/setup")).toMatchObject({ code: "the code", keep: "true" });
    });
  });

  test("setup sends a token of one's own when that is chosen, on Enter too", async () => {
    await withPage("/setup-page", plain, async (page) => {
      expect(await page.isVisible("#token")).toBe(false);
      await page.fill("#code", "the code");
      await page.check("#own");
      await page.fill("#token", "correct horse");
      await page.fill("#confirm", "correct horse");
      await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
      const own = { token: "correct horse", confirm: "correct horse" };
      expect(sentForm("/setup")).toEqual({ code: "the code", keep: "false", ...own });
    });
  });

  test("setup shows the code field even with a setup cookie, which a plain form cannot use", async () => {
    await withPage("/setup-cookie", plain, async (page) =>
      expect(await page.isVisible("#code")).toBe(true),
    );
  });

  test("sign-out sends its hidden value", async () => {
    await withPage("/overview-on", plain, async (page) => {
      await Promise.all([
        page.waitForNavigation(),
        page.getByRole("button", { name: "Sign out" }).click(),
      ]);
      expect(sentForm("/logout")).toEqual({ csrf: "c5rf" });
    });
  });

  test("the overview reads well, offers no dead button, and says which setting turns the channel on", async () => {
    await withPage("/overview-off", plain, async (page) => {
      expect(await page.getByRole("button").allTextContents()).toEqual(["Sign out"]);
      expect(await page.textContent("noscript")).toContain("channels.pico.enabled");
    });
    await withPage("/overview-on", plain, async (page) => {
      await page.check('[value="python"]', { force: true });
      expect(await page.locator("pre:visible").allTextContents()).toEqual([
        expect.stringContaining("import asyncio"),
      ]);
    });
  });
});

describe("with JavaScript", () => {
  test("the token is shown and hidden by its button, and hidden before it is sent", async () => {
    await withPage("/sign-in", {}, async (page) => {
      await page.fill("#token", "secret");
      await page.click("[data-reveal]");
      expect(await page.getAttribute("#token", "type")).toBe("text");
      expect(await page.getAttribute("[data-reveal]", "aria-pressed")).toBe("true");
      await page.click("[data-reveal]");
      expect(await page.getAttribute("#token", "type")).toBe("password");
    });
  });

  test("a limited sign-in waits, lets a whole generated token through, and opens again by itself", async () => {
    await withPage("/sign-in-limited", {}, async (page) => {
      const button = page.getByRole("button", { name: "Sign in" });
      expect(await button.isDisabled()).toBe(true);
      expect(await page.textContent('[role="timer"]')).toMatch(/Try again in \d+ s\./);
      await page.fill("#token", "x".repeat(43));
      expect(await button.isEnabled()).toBe(true);
    });
    await withPage("/sign-in-soon", {}, async (page) => {
      await page.getByText("You can try again now.").waitFor();
      expect(await page.getByRole("button", { name: "Sign in" }).isEnabled()).toBe(true);
    });
  });

  test("setup with a cookie hides the code field and sends JSON with the true Origin", async () => {
    await withPage("/setup-cookie", {}, async (page) => {
      await page.locator("#code").waitFor({ state: "hidden" });
      const answered = page.waitForRequest("**/setup");
      await page.getByRole("button", { name: "Finish setup" }).click();
      await answered;
      await page.waitForURL(`${desk.site.origin}/`);
      const [request] = desk.site.sent;
      const { origin } = new URL(desk.site.origin);
      expect(request).toMatchObject({ method: "POST", path: "/setup", headers: { origin } });
      expect(JSON.parse(request?.body ?? "")).toEqual({ keep: true });
    });
  });

  test("setup with a cookie never shows the code field, also before its script has come", async () => {
    await withPage("/sign-in", {}, async (page) => {
      const held = new Promise<() => Promise<void>>(
        (done) => void page.route("**/setup.js", (route) => done(() => route.continue())),
      );
      await page.goto(`${desk.site.origin}/setup-cookie`, { waitUntil: "commit" });
      const script = await held;
      await page.getByText("The generated token", { exact: true }).waitFor();
      expect(await page.locator("#code").isVisible()).toBe(false);
      await script();
      await page.locator("html[data-ready]").waitFor();
      expect(await page.locator("#code").isVisible()).toBe(false);
    });
  });

  test("setup asks for the code after all when the cookie has run out", async () => {
    desk.site.answer = () => [
      401,
      { error: "invalid_code", message: "This setup code is not right." },
    ];
    await withPage("/setup-cookie", {}, async (page) => {
      await page.getByRole("button", { name: "Finish setup" }).click();
      await page.getByRole("alert").getByText("paste the generated token.").waitFor();
      expect(await page.evaluate(() => document.activeElement?.id)).toBe("code");
    });
  });

  test("setup checks the rules while a token is typed and sends none that breaks one", async () => {
    await withPage("/setup-page", {}, async (page) => {
      await page.fill("#code", "the code");
      await page.check("#own");
      const kept = () => page.locator(".rules .kept").count();
      const tries = {
        "": 0,
        ott_short: 2,
        aaaaaaaaaaaaaaaa: 3,
        "with some spaces in": 3,
        "correct-horse-battery": 4,
      };
      for (const [typed, rules] of Object.entries(tries)) {
        await page.fill("#token", typed);
        expect([typed, await kept()]).toEqual([typed, rules]);
      }
      await page.fill("#token", "short");
      await page.getByRole("button", { name: "Finish setup" }).click();
      expect(desk.site.sent).toEqual([]);
      // What is wrong with it must not hold back whoever keeps the generated one after all.
      await page.check('[name="keep"][value="true"]');
      expect(await page.locator("form[data-setup]:invalid").count()).toBe(0);
      await page.check("#own");
      await page.fill("#token", "correct-horse-battery");
      await page.fill("#confirm", "correct-horse-battery");
      await page.getByRole("button", { name: "Finish setup" }).click();
      await page.waitForURL(`${desk.site.origin}/`);
      const own = { token: "correct-horse-battery", confirm: "correct-horse-battery" };
      expect(JSON.parse(desk.site.sent[0]?.body ?? "")).toEqual({ code: "the code", ...own });
    });
  });
});
