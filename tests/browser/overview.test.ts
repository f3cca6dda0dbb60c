import { expect, test } from "vitest";
import { useDesk } from "./desk.ts";
import { fresh, program, running } from "./sample.ts";

const desk = useDesk();
const { look } = desk;

test("what changes on the server appears by itself, as text only", async () => {
  await look("/overview-on", async (page) => {
    desk.site.status = {
      ...running,
      channel: { ...running.channel!, connections: 17, perMinute: [0, 0, 0, 0, 0, 0, 0, 0, 0, 80] },
      signIns: [{ at: running.now, address: "<img src=x>", via: "form" }],
      warnings: [{ id: "w", text: "<b>weak token</b>", fix: "doorward token rotate" }],
    };
    desk.site.emit("rate", { at: running.now, in: 1, out: 1, connections: 17, queuedBytes: 0 });
    await page.locator('[data-live="connections"]').getByText("17").waitFor();
    expect(await page.textContent('[data-live="chart-top"]')).toBe("80");
    expect(await page.locator("rect").last().getAttribute("height")).toBe("60");
    expect(await page.textContent('[data-live="sign-ins"]')).toContain("<img src=x>");
    expect(await page.isVisible("text=<b>weak token</b>")).toBe(true);
  });
});

test("a client that is refused appears by itself, with what mends it, and how long it is blocked", async () => {
  const channel = { ...running.channel!, refusals: [] };
  desk.site.status = { ...running, channel };
  await look("/overview-on", async (page) => {
    const list = page.locator('[data-live="refused-clients"]');
    await list.waitFor({ state: "hidden" });
    const refusal = { at: running.now, times: 1, address: "10.0.0.7", via: "header" };
    const refuse = (more: object): void => {
      desk.site.status = {
        ...running,
        channel: { ...channel, refusals: [{ ...refusal, code: "", ...more }] },
      };
      desk.site.emit("refused", { at: running.now, code: "", address: "10.0.0.7" });
    };
    refuse({ code: "token_mismatch", times: 3 });
    await list.getByText("Authorization header · 10.0.0.7 · 3 times").waitFor();
    expect(await list.textContent()).toContain("Compare the client's token");
    refuse({ code: "rate_limited", until: running.now + 42_000 });
    await list.getByText(/^Blocked for \d+ s\.$/).waitFor();
    expect(await list.textContent()).toContain("doorward unblock 10.0.0.7");
    refuse({ code: "rate_limited", until: running.now + 1_000 });
    await list.getByText("It may try again.").waitFor();
    refuse({ code: "<b>new</b>", origin: "<i>x</i>" });
    await list.getByText("Refused: <b>new</b>").waitFor();
  });
});

test("the program's state, restarts and last lines are current, as text only", async () => {
  await look("/overview-program", async (page) => {
    expect(await page.textContent(".program .command")).toContain("python3 agent.py");
    const stderr = [{ at: running.now, text: "<img src=x> Traceback" }];
    desk.site.status = { ...fresh, program: { ...program, state: "waiting", restarts: 4, stderr } };
    desk.site.emit("program", { at: running.now, state: "waiting", restarts: 4 });
    await page.getByText("Starts again soon").waitFor();
    expect(await page.textContent('[data-live="program-facts"]')).toContain(
      "4, last end: exit code 1",
    );
    expect(await page.textContent('[data-live="program-said"]')).toBe("<img src=x> Traceback");
  });
});

test("a server that does not answer is said, and so is its return", async () => {
  desk.site.streams = false;
  await look("/overview-on", async (page) => {
    desk.site.status = undefined;
    await page.getByText("Reconnecting…").waitFor();
    desk.site.status = running;
    await page.getByText("Live", { exact: true }).waitFor();
  });
});

test("an ended session is asked for the token over the page, and what was asked is asked again", async () => {
  let isSignedIn = false;
  desk.site.answer = ({ path }) => {
    if (path === "/login") isSignedIn = true;
    const link = { url: "http://127.0.0.1/login?link=ott_x", expiresAt: "2026-04-14T09:35:00Z" };
    return isSignedIn ? [200, link] : [401, {}];
  };
  await look("/overview-on", async (page) => {
    await page.getByRole("button", { name: "Copy sign-in link" }).click();
    await page.getByLabel("Launcher token", { exact: true }).fill("the token");
    await page.keyboard.press("Enter");
    await page.getByText(/Works once, until \d.*the other browser is signed out too/).waitFor();
    expect(desk.site.sent.find(({ path }) => path === "/login")?.body).toBe(
      '{"token":"the token"}',
    );
  });
});

test("one click turns the channel on: with the etag last seen, and the card shows the address at once", async () => {
  desk.site.status = fresh;
  desk.site.answer = () => {
    desk.site.status = running;
    return [200, { etag: '"b2"', now: ["enabled"], afterRestart: [] }];
  };
  await look("/overview-off", async (page) => {
    await page.getByRole("button", { name: "Turn the channel on" }).click();
    await page.getByText("The channel is on.").waitFor();
    expect(desk.site.sent).toMatchObject([
      {
        method: "PUT",
        path: "/api/channels/pico",
        headers: { "if-match": '"a1"' },
        body: '{"enabled":true}',
      },
    ]);
    expect(await page.inputValue("#channel-url")).toBe(running.channel?.url);
    expect(await page.isVisible("pre >> text=PASTE_CHANNEL_TOKEN")).toBe(true);
  });
});

test("a click that comes before the first status waits for it, also when a later question is still open", async () => {
  desk.site.status = undefined;
  desk.site.answer = () => {
    desk.site.status = running;
    return [200, { etag: '"b2"', now: ["enabled"], afterRestart: [] }];
  };
  await desk.open("/overview-off", {}, async (page) => {
    await page.getByText("Reconnecting…").waitFor();
    desk.site.status = fresh;
    const held: (() => unknown)[] = [];
    let isHeld = true;
    await page.route("**/api/status", (route) =>
      isHeld ? void held.push(() => route.continue()) : route.continue(),
    );
    await page.getByRole("button", { name: "Turn the channel on" }).click();
    await expect.poll(() => held.length).toBe(1);
    desk.site.emit("settings", {});
    await expect.poll(() => held.length).toBe(2);
    void held[0]!();
    await expect
      .poll(() => desk.site.sent.map((request) => request.headers["if-match"]))
      .toEqual(['"a1"']);
    isHeld = false;
    for (const go of held.slice(1)) await go();
    await page.getByText("The channel is on.").waitFor();
  });
});

test("a service that does not answer a click is named, and nothing was sent", async () => {
  desk.site.status = undefined;
  await desk.open("/overview-off", {}, async (page) => {
    await page.getByText("Reconnecting…").waitFor();
    await page.getByRole("button", { name: "Turn the channel on" }).click();
    await page
      .locator('[data-live="channel-said"]')
      .getByText("The service refused (503).")
      .waitFor();
    expect(desk.site.sent).toEqual([]);
  });
});

test("settings changed meanwhile are loaded and said, and nothing is overwritten", async () => {
  desk.site.status = fresh;
  desk.site.answer = () => {
    desk.site.status = { ...fresh, channel: { ...fresh.channel!, etag: '"c3"' } };
    return [412, { error: "etag_mismatch", message: "The file changed." }];
  };
  await look("/overview-off", async (page) => {
    const button = page.getByRole("button", { name: "Turn the channel on" });
    await button.click();
    await page.getByText("The settings had changed meanwhile.").waitFor();
    await button.click();
    await expect
      .poll(() => desk.site.sent.map((request) => request.headers["if-match"]))
      .toEqual(['"a1"', '"c3"']);
  });
});

test("turning the channel off asks first while clients are connected, and Escape keeps it on", async () => {
  await look("/overview-on", async (page) => {
    await page.getByRole("button", { name: "Turn off" }).click();
    await page.getByText("3 clients are disconnected.").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "hidden" });
    expect(desk.site.sent).toEqual([]);
    await page.getByRole("button", { name: "Turn off" }).click();
    await page.getByRole("button", { name: "Turn it off" }).click();
    await expect
      .poll(() => desk.site.sent.map((request) => request.body))
      .toEqual(['{"enabled":false}']);
  });
});

test("a click that turns the channel off before the first status asks too", async () => {
  desk.site.status = undefined;
  await desk.open("/overview-on", {}, async (page) => {
    await page.getByText("Reconnecting…").waitFor();
    desk.site.status = running;
    await page.getByRole("button", { name: "Turn off" }).click();
    await page.getByText("3 clients are disconnected.").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "hidden" });
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Turn off");
    expect(desk.site.sent).toEqual([]);
  });
});

test("copying works through the clipboard, and without it selects the text for the keyboard", async () => {
  const allowed = { permissions: ["clipboard-read", "clipboard-write"] };
  await look(
    "/overview-on",
    async (page) => {
      const button = page.getByRole("button", { name: "Copy snippet for Browser" });
      // It says so for a moment only.
      await Promise.all([page.getByText("Copied").waitFor(), button.click()]);
      expect(await page.evaluate(() => navigator.clipboard.readText())).toContain('"message.send"');
    },
    allowed,
  );
  await look("/overview-on", async (page) => {
    await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
    const button = page.getByRole("button", { name: "Copy address" });
    await Promise.all([page.getByText("Press Ctrl+C").waitFor(), button.click()]);
    expect(await page.evaluate(() => getSelection()?.toString())).toBe(running.channel?.url);
  });
});

test("a sign-in link is made, shown and copied, with the time it ends", async () => {
  desk.site.answer = () => [
    200,
    { url: "http://127.0.0.1/login?link=ott_x", expiresAt: "2026-04-14T09:35:00Z" },
  ];
  await look("/overview-on", async (page) => {
    await page.getByRole("button", { name: "Copy sign-in link" }).click();
    await page.getByText(/Works once, until \d.*the other browser is signed out too/).waitFor();
    expect(await page.inputValue("#sign-in-link")).toBe("http://127.0.0.1/login?link=ott_x");
    expect(desk.site.sent).toMatchObject([{ method: "POST", path: "/api/signin-links" }]);
  });
});
