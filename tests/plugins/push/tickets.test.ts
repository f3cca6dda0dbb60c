import { describe, expect, test } from "vitest";
import { channels } from "../../../plugins/channels/index.ts";
import { push } from "../../../plugins/push/index.ts";
import { records } from "../../../plugins/records/index.ts";
import {
  signIn,
  startDashboard,
  TOKEN,
  wrongToken,
  type DashboardServer,
} from "../../support/dashboard-server.ts";
import { startPushService } from "../../support/push-service.ts";
import { newHome, startPush, type PushHarness } from "../../support/push-harness.ts";

/** Asks a question, and returns the ticket of each notification about it. */
async function ask({ send, open, notified, service }: PushHarness, devices = 1) {
  const before = service.arrived.length;
  await send("delete", undefined, `s${before}`);
  await open(1);
  await notified(before + devices);
  return service.arrived.slice(before).map(({ d }) => d.ticket);
}

describe("ticket of a button", () => {
  test("answers once, without a sign-in, as the owner", async () => {
    await using harness = await startPush();
    await harness.turnOn(await harness.signIn());
    const [ticket] = await ask(harness);
    expect(await harness.press(ticket, "deny")).toEqual({
      http: 200,
      status: "settled",
      text: "Denied",
    });
    await expect
      .poll(() => harness.outcomes)
      .toMatchObject([
        {
          outcome: "answered",
          option: "deny",
          effect: "deny",
          via: "push",
          by: { id: "owner" },
        },
      ]);
    expect(await harness.press(ticket, "deny")).toMatchObject({ http: 403 });
  });

  test("counts a wrong value, option and second use as wrong tokens", async () => {
    await using harness = await startPush();
    const session = await harness.signIn();
    await harness.turnOn(session);
    await harness.turnOn(session);
    const [first, second] = await ask(harness, 2);
    const faults = () => harness.server.kernel.services.http.clientFaults()["push_ticket"] ?? 0;
    const wrong = first!.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
    for (const [ticket, option] of [
      ["", "deny"],
      ["a.b", "deny"],
      [wrong, "deny"],
      [first, "allow"],
      [first, "session"],
    ] as const)
      expect(await harness.press(ticket, option)).toMatchObject({ http: 403, status: "unknown" });
    expect(faults()).toBe(5);
    // A wrong option uses no ticket, and each device has its own.
    const pressed = await Promise.all([
      harness.press(first, "deny"),
      harness.press(first, "deny"),
      harness.press(second, "deny"),
    ]);
    expect(pressed.filter(({ status }) => status === "settled")).toHaveLength(1);
    expect(harness.outcomes.length).toBeLessThanOrEqual(1);
  });

  test("limits wrong values to ten a minute for each address", async () => {
    await using harness = await startPush();
    const codes: number[] = [];
    for (let at = 0; at < 12; at += 1) codes.push((await harness.press(`a.${at}`, "deny")).http);
    expect(codes).toEqual([...Array<number>(10).fill(403), 429, 429]);
  });

  test("refuses pages of another site", async () => {
    await using harness = await startPush();
    const { status } = await harness.server.post(
      "/push/answer",
      { ticket: "a.b", option: "deny" },
      { "sec-fetch-site": "cross-site" },
    );
    expect(status).toBe(403);
  });
});

describe("end of a sign-in", () => {
  /** Ways in which a sign-in ends; each returns when its request was answered. */
  const ways: Readonly<
    Record<string, (harness: PushHarness, session: { cookie: string }) => Promise<unknown>>
  > = {
    "sign-out": ({ server }, session) =>
      server.post("/logout", {}, { ...session, origin: server.origin }),
    "sign-out of other browsers": async ({ server, signIn }) => {
      const other = { ...(await signIn()), origin: server.origin };
      const response = await server.request("/api/sessions", {
        method: "DELETE",
        headers: { ...other, "content-type": "application/json" },
        body: JSON.stringify({ current: TOKEN }),
      });
      expect(response.status).toBe(200);
    },
    "a rotated launcher token": async ({ server }) => {
      const { tokenSecrets, tokens } = server.kernel.services;
      const { version } = tokens.info("launcher");
      await tokenSecrets.replace("launcher", { value: wrongToken(1), expect: version });
    },
  };

  test.each(Object.keys(ways))("ends device and ticket with %s", async (way) => {
    await using harness = await startPush();
    const session = await harness.signIn();
    await harness.turnOn(session);
    const [ticket] = await ask(harness);
    await ways[way]!(harness, session);
    expect(await harness.press(ticket, "deny")).toMatchObject({ http: 403 });
    const token = way.includes("rotated") ? wrongToken(1) : TOKEN;
    const { post } = harness.server;
    const cookie = (await post("/login", { token })).headers.getSetCookie()[0]!.split(";")[0]!;
    expect(await harness.devices({ cookie })).toEqual([]);
  });

  test("ends the ticket with the expiry, and keeps the device without buttons", async () => {
    await using harness = await startPush();
    const before = await harness.signIn();
    await harness.turnOn(before);
    const [ticket] = await ask(harness);
    const isSent = { lastAt: expect.any(Number) as number };
    await expect.poll(() => harness.devices(before)).toMatchObject([isSent]);
    for (let day = 0; day < 7; day += 1)
      for (let hour = 0; hour < 24; hour += 1) harness.server.clock.increment(3_600_000);
    expect(await harness.press(ticket, "deny")).toMatchObject({ http: 403 });
    const session = await harness.signIn();
    const kept = () => harness.devices(session);
    await expect.poll(kept).toMatchObject([{ hasButtons: false }]);
    const next = await ask(harness);
    expect(next.every((each) => each === undefined)).toBe(true);
  });

  test.each([
    [true, 1],
    [false, 0],
  ])("keeps a device over a restart if sign-ins are kept: %s", async (keepSignIns, count) => {
    const home = await newHome();
    const first = await startPush({ home, keepSignIns });
    await first.turnOn(await first.signIn());
    await first[Symbol.asyncDispose]();
    await using second = await startPush({ home, keepSignIns });
    const devices = await second.devices(await second.signIn());
    expect(devices).toHaveLength(count);
    if (count === 1) expect(devices[0]).toMatchObject({ hasButtons: true });
  });

  test("ends with the node in a deployment without settings", async () => {
    const home = await newHome();
    const start = () =>
      startDashboard({ before: [records({ home }), channels()], plugins: [push()] });
    const devicesOf = async (server: DashboardServer) => {
      const response = await server.get("/api/x/push/state", await signIn(server));
      return ((await response.json()) as { devices: readonly object[] }).devices;
    };
    {
      await using service = await startPushService();
      await using first = await start();
      const { keys } = service.subscribe();
      const subscription = { endpoint: "https://fcm.googleapis.com/a", keys };
      await first.post("/api/x/push/subscriptions", subscription, {
        ...(await signIn(first)),
        origin: first.origin,
      });
      expect(await devicesOf(first)).toHaveLength(1);
    }
    await using second = await start();
    expect(await devicesOf(second)).toEqual([]);
  });

  test.each([true, false])(
    "says after a restart that a question was lost, stored: %s",
    async (keeps) => {
      const options = { home: await newHome(), keepSignIns: true, keepsConversations: keeps };
      await using service = await startPushService();
      const first = await startPush({ ...options, service });
      await first.turnOn(await first.signIn());
      await ask(first);
      await first[Symbol.asyncDispose]();
      await using second = await startPush({ ...options, service });
      expect((await second.service.until(2)).notification.body).toBe("No longer open");
    },
  );

  test("passes the device on to the next sign-in of the browser", async () => {
    await using harness = await startPush();
    const subscription = harness.service.subscribe();
    const first = await harness.signIn();
    await harness.turnOn(first, subscription);
    const second = await harness.signIn();
    await harness.turnOn(second, subscription);
    const { server } = harness;
    await server.post("/logout", {}, { ...first, origin: server.origin });
    expect(await harness.devices(second)).toHaveLength(1);
  });
});
