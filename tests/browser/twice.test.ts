import type { Page, Route } from "playwright-core";
import { expect, test } from "vitest";
import { useDesk } from "./desk.ts";
import { sections } from "./sample-api.ts";

/* Answers that are slow, and people who do not wait for them. */

const desk = useDesk();
const secret = "0123456789abcdef".repeat(4);
const dot =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Holds requests to an address back until they are let go. */
async function hold(page: Page, address: string | RegExp): Promise<Route[]> {
  const held: Route[] = [];
  await page.route(address, (route) => void held.push(route));
  return held;
}
async function among(held: readonly Route[], many: number): Promise<void> {
  await expect.poll(() => held.length).toBe(many);
}
const token = (page: Page) => page.getByRole("dialog").locator('input[type="password"]');

test("a new token is shown though its answer took long and the dialog was closed meanwhile", async () => {
  desk.site.answer = () => [200, { which: "pico", token: secret, source: "security" }];
  await desk.look("/tokens", async (page) => {
    await page.evaluate(() => {
      const limits: { ms: number; controller: AbortController }[] = [];
      AbortSignal.timeout = (ms) => {
        const controller = new AbortController();
        limits.push({ ms, controller });
        return controller.signal;
      };
      addEventListener("late", () =>
        limits.forEach(({ ms, controller }) => ms <= 20_000 && controller.abort()),
      );
    });
    const held = await hold(page, "**/api/token/rotate");
    await page.getByRole("button", { name: "Replace the channel token" }).click();
    await token(page).fill("right");
    await page.keyboard.press("Enter");
    await among(held, 1);
    await page.evaluate(() => dispatchEvent(new Event("late")));
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await held[0]!.continue();
    await expect.poll(() => page.locator("#token-value").inputValue()).toBe(secret);
  });
});

test("a token that passes a limit is sent once, whatever counts down meanwhile", async () => {
  desk.site.answer = () => [
    429,
    { error: "rate_limited", message: "Too many.", retryAfterSeconds: 60 },
  ];
  await desk.look("/tokens", async (page) => {
    await page.getByRole("button", { name: "Replace the launcher token" }).click();
    await token(page).fill("wrong");
    await page.clock.install();
    await page.keyboard.press("Enter");
    await page.getByText(/Try again in \d+ s/).waitFor();
    await token(page).fill("x".repeat(43));
    const held = await hold(page, "**/api/token/rotate");
    await page.keyboard.press("Enter");
    await among(held, 1);
    await page.clock.runFor(1_000);
    await token(page).press("End");
    expect(await page.getByRole("button", { name: "Replace", exact: true }).isDisabled()).toBe(
      true,
    );
  });
});

test("setup that passes a limit is sent once, too", async () => {
  desk.site.answer = () => [
    429,
    { error: "rate_limited", message: "Too many.", retryAfterSeconds: 60 },
  ];
  await desk.open("/setup-page", {}, async (page) => {
    await page.fill("#code", "wrong");
    await page.clock.install();
    await page.getByRole("button", { name: "Finish setup" }).click();
    await page.getByText(/Try again in \d+ s/).waitFor();
    await page.fill("#code", "x".repeat(43));
    const held = await hold(page, "**/setup");
    await page.getByRole("button", { name: "Finish setup" }).click();
    await among(held, 1);
    await page.clock.runFor(1_000);
    expect(await page.getByRole("button", { name: "Finish setup" }).isDisabled()).toBe(true);
  });
});

test("a double click disconnects once, and says so", async () => {
  await desk.look("/connections", async (page) => {
    const held = await hold(page, "**/api/connections/c2");
    await page.getByRole("button", { name: "Disconnect garden" }).dblclick();
    await among(held, 1);
    await held[0]!.fulfill({ json: {} });
    await page.getByText("Disconnected garden.").waitFor();
    expect(held).toHaveLength(1);
  });
});

test("what is typed while settings are being saved is saved next, and is no conflict", async () => {
  const view = (value: object, etag: string, problem?: string): object => ({
    sections: [
      { ...sections[0]!, value: { ...(sections[0]!.value as object), ...value }, etag, problem },
    ],
  });
  await desk.look("/settings", async (page) => {
    desk.site.views.set("GET /api/settings", view({}, '"p1"', "read_timeout: expected a number"));
    desk.site.emit("settings", {});
    await page.getByText("An edit of the file was not taken").waitFor();
    desk.site.views.set("GET /api/settings", view({}, '"p1"'));
    desk.site.emit("settings", {});
    await page.getByText("An edit of the file was not taken").waitFor({ state: "hidden" });

    const held = await hold(page, "**/api/channels/pico");
    const save = page
      .getByRole("form", { name: "Pico channel" })
      .getByRole("button", { name: "Save" });
    await page.getByLabel("Ping interval").fill("15");
    await save.click();
    await among(held, 1);
    await page.getByLabel("Ping interval").fill("20");
    expect(await save.isDisabled()).toBe(true);
    desk.site.views.set("GET /api/settings", view({ ping_interval: 15 }, '"p2"'));
    await held[0]!.fulfill({ json: { etag: '"p2"', now: ["ping_interval"], afterRestart: [] } });
    await page.getByText("In effect now: Ping interval.").waitFor();
    expect(await page.getByText("meanwhile").filter({ visible: true }).count()).toBe(0);
    await save.click();
    await among(held, 2);
    expect([held[1]!.request().headers()["if-match"], held[1]!.request().postDataJSON()]).toEqual([
      '"p2"',
      { ping_interval: 20 },
    ]);
  });
});

test("a message waits for a picture that is still being read, and goes once", async () => {
  await desk.look("/chat#slow", async (page) => {
    await page.getByText("Connected", { exact: true }).waitFor();
    await page.evaluate(() => {
      const read = FileReader.prototype.readAsDataURL;
      FileReader.prototype.readAsDataURL = function (file) {
        addEventListener("read", () => read.call(this, file), { once: true });
      };
    });
    const file = { name: "dot.png", mimeType: "image/png", buffer: Buffer.from(dot, "base64") };
    await page.locator("[data-picture]").setInputFiles(file);
    await page.getByLabel("Message", { exact: true }).fill("look at this");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    await page.evaluate(() => dispatchEvent(new Event("read")));
    await page.getByText("echo: look at this", { exact: true }).waitFor();
    const sent = desk.site.channel.heard
      .filter(({ type }) => type === "message.send")
      .map(({ payload }) => payload);
    expect(sent.slice(-1)).toEqual([
      { content: "look at this", media: [`data:image/png;base64,${dot}`] },
    ]);
    expect(await page.locator(".message.mine").count()).toBe(1);
  });
});

test("checks run one at a time, whatever happens meanwhile", async () => {
  await desk.look("/doctor", async (page) => {
    let begun = 0;
    page.on("request", (request) => {
      begun += request.url().endsWith("/api/status") ? 1 : 0;
    });
    const held = await hold(page, "**/api/doctor");
    await page.reload();
    await among(held, 1);
    desk.site.emit("missed", { count: 1 });
    desk.site.emit("superseded", {});
    await page.getByText("Live updates paused").waitFor();
    expect(begun).toBe(1);
  });
});
